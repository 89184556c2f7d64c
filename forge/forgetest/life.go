package forgetest

import (
	"crypto/rand"
	"crypto/rsa"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// life is what becomes of repositories and of the App's installation.
type life struct {
	suspended bool
	deleted   bool             // the App is
	access    map[int64]string // "removed": taken from the installation, by repository
	former    map[string]int64 // former full names in lower case → repository
}

// suspendedMessage is GitHub's, for tokens of a suspended installation.
const suspendedMessage = "This installation has been suspended"

// SuspendAll suspends the App's installation: its tokens are refused, and no more
// webhooks are sent but the one that says so.
func (s *Server) SuspendAll(login string) { s.setSuspended(login, true) }

// UnsuspendAll takes SuspendAll back.
func (s *Server) UnsuspendAll(login string) { s.setSuspended(login, false) }

func (s *Server) setSuspended(login string, yes bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.suspended = false // this one is sent in any case
	s.emitInstallation(login, "installation", map[bool]string{true: "suspend", false: "unsuspend"}[yes], nil)
	s.suspended = yes
	s.touch()
}

// RevokeKey takes the App's private key; AppKey is a new one.
func (s *Server) RevokeKey() error {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opts.Key = key
	s.touch()
	return nil
}

// DeleteApp deletes the App: its installations are gone, which is the last that it
// hears, and its credentials are nobody's.
func (s *Server) DeleteApp(login string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.emitInstallation(login, "installation", "deleted", obj{"repositories": []obj{}})
	s.deleted = true
	for id, t := range s.tokens {
		if t.permissions != nil {
			delete(s.tokens, id)
		}
	}
	s.touch()
}

// MakeApp registers another App in the place of a deleted one, and installs it.
func (s *Server) MakeApp(login string) error {
	if err := s.RevokeKey(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deleted = false
	s.emitInstallation(login, "installation", "created", obj{"repositories": []obj{}, "requester": nil})
	s.touch()
	return nil
}

// Messages of GitHub's to whoever says to be an App.
const (
	noIntegration = "Integration not found"
	noJWT         = "A JSON web token could not be decoded"
)

func (s *Server) emitInstallation(login, event, action string, more obj) {
	for _, r := range s.repos {
		in := s.installs[strings.ToLower(r.owner.login)]
		if in == nil {
			in = &installation{id: installationID, account: r.owner} // of everybody, whatever was taken from it
		}
		body := obj{"action": action, "installation": s.installationOf(in), "sender": s.mustUser(login).json()}
		for k, v := range more {
			body[k] = v
		}
		s.queueHook(event, body, 0)
		return
	}
}

// RemoveFromInstallation takes the repository from the App's installation.
func (r *Repository) RemoveFromInstallation(login string) { r.inInstallation(login, false) }

// AddToInstallation takes RemoveFromInstallation back.
func (r *Repository) AddToInstallation(login string) { r.inInstallation(login, true) }

func (r *Repository) inInstallation(login string, yes bool) {
	s := r.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.access == nil {
		s.access = map[int64]string{}
	}
	short := []obj{{"id": r.id, "node_id": "R_" + r.fullName(), "name": r.name, "full_name": r.fullName(), "private": r.private}}
	more := obj{"repository_selection": "selected", "requester": nil, "repositories_added": []obj{}, "repositories_removed": []obj{}}
	action := "added"
	if yes {
		delete(s.access, r.id)
		more["repositories_added"] = short
	} else {
		s.access[r.id], action = "removed", "removed"
		more["repositories_removed"] = short
	}
	s.emitInstallation(login, "installation_repositories", action, more)
	s.touch()
}

// Rename gives the repository another name, or another owner ("owner/name").
// The old name redirects until somebody takes it.
func (r *Repository) Rename(login, to string) error {
	owner, name, ok := strings.Cut(to, "/")
	if !ok {
		owner, name = r.owner.login, to
	}
	r.refs.Lock()
	defer r.refs.Unlock()
	s := r.s
	s.mu.Lock()
	defer s.mu.Unlock()
	key := strings.ToLower(owner + "/" + name)
	if s.repos[key] != nil {
		return fmt.Errorf("%s is taken", to)
	}
	dir := filepath.Join(s.opts.Dir, "moved", fmt.Sprint(r.id, "-", len(s.former)), name+".git")
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	if err := os.Rename(r.dir, dir); err != nil {
		return err
	}
	old, was := r.name, r.owner
	if s.former == nil {
		s.former = map[string]int64{}
	}
	s.former[strings.ToLower(r.fullName())] = r.id
	delete(s.repos, strings.ToLower(r.fullName()))
	for _, t := range s.tokens { // which are for ids
		if before := strings.ToLower(r.fullName()); t.repos[before] {
			delete(t.repos, before)
			t.repos[key] = true
		}
	}
	r.dir, r.name, r.owner = dir, name, s.addUser(owner)
	r.roles[strings.ToLower(owner)] = "admin"
	s.repos[key] = r
	action, changes := "renamed", obj{"repository": obj{"name": obj{"from": old}}}
	if was != r.owner {
		action, changes = "transferred", obj{"owner": obj{"from": obj{"user": was.json()}}}
	}
	r.emit(s.mustUser(login), "repository", obj{"action": action, "changes": changes})
	s.touch()
	return nil
}

// movedTo returns the repository that had a name, if nobody has it now. The
// caller holds s.mu.
func (s *Server) movedTo(owner, name string) *Repository {
	id := s.former[strings.ToLower(owner+"/"+name)]
	for _, r := range s.repos {
		if id != 0 && r.id == id {
			return r
		}
	}
	return nil
}

// redirect answers 301 as GitHub does: to the repository by its id.
func (s *Server) redirect(c *call, to *Repository) error {
	parts := strings.SplitN(strings.TrimPrefix(c.r.URL.EscapedPath(), "/api/v3"), "/", 5)
	rest := ""
	if len(parts) == 5 {
		rest = "/" + parts[4]
	}
	target := fmt.Sprintf("%s/api/v3/repos/%s%s", s.url, to.fullName(), rest)
	if c.r.Method == "GET" && rest == "" {
		target = fmt.Sprintf("%s/api/v3/repositories/%d", s.url, to.id)
	}
	if c.r.URL.RawQuery != "" {
		target += "?" + c.r.URL.RawQuery
	}
	c.next.Set("Location", target)
	return &problem{status: 301, message: "Moved Permanently"}
}

func getRepositoryByID(c *call) (any, error) {
	for _, r := range c.s.repos {
		if r.id == c.number("id") && c.s.may(c.who, r, "metadata:read") {
			return r.json(), nil
		}
	}
	return nil, notFound()
}

// DeleteRepository deletes the repository, such as a fork. Pull requests from it
// stay, without a repository for their head.
func (r *Repository) DeleteRepository() {
	s := r.s
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.repos, strings.ToLower(r.fullName()))
	s.touch()
}
