package forgetest

import (
	"crypto/rand"
	"crypto/rsa"
)

// GitHub's messages to a client that claims to be an App.
const (
	noIntegration = "Integration not found"
	noJWT         = "A JSON web token could not be decoded"
)

// RevokeKey revokes the App's private key; AppKey then returns a new one.
func (s *App) RevokeKey() error {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	s.server.opts.Key = key
	s.server.touch()
	return nil
}

// DeleteApp deletes the App, which is installed on an account. The webhook about
// its installation is the last that it gets, and its credentials are no longer
// valid.
func (s *App) DeleteApp(account string) {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	in, u := s.mustInstallation(account)
	s.installed(in, u, "installation", "deleted", nil)
	s.deleted = true
	for id, t := range s.server.tokens {
		if t.permissions != nil {
			delete(s.server.tokens, id)
		}
	}
}

// MakeApp registers another App in the place of a deleted one, and installs it.
func (s *App) MakeApp(account string) error {
	if err := s.RevokeKey(); err != nil {
		return err
	}
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	s.deleted = false
	in, u := s.mustInstallation(account)
	s.installed(in, u, "installation", "created", nil)
	return nil
}
