package access

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Bounds of sessions.
const (
	SessionLife = 30 * 24 * time.Hour
	sessionsOf  = 50 // of one token, or of the console; beyond that, the oldest is dropped
)

const sessionsFile = "sessions.json"

// Session is a browser that has signed in.
type Session struct {
	Hash    string    `json:"hash"`            // SHA-256 of the cookie's value
	Name    string    `json:"name"`            // name of its owner
	Token   string    `json:"token,omitempty"` // hash of the token that opened it; "": the link of a server's start opened it
	Made    time.Time `json:"made"`
	Expires time.Time `json:"expires"`
}

// sessions are the sessions of one server.
type sessions struct {
	path string // "": they are in memory only

	mu  sync.Mutex
	box sessionBox
}

type sessionBox struct {
	Version  int       `json:"version"`
	ID       string    `json:"id"` // distinguishes the cookies of several servers on one host
	Sessions []Session `json:"sessions"`
}

// openSessions reads the sessions of a data folder. An unreadable session counts as none: people
// sign in once more.
func openSessions(dir string) (*sessions, error) {
	s := &sessions{}
	var err error
	if dir != "" {
		s.path = filepath.Join(dir, sessionsFile)
		var raw []byte
		if raw, err = os.ReadFile(s.path); err == nil {
			err = json.Unmarshal(raw, &s.box)
		}
		if err == nil && s.box.Version != 1 || err != nil {
			s.box = sessionBox{}
		}
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	if s.box.ID == "" {
		s.box.ID = strings.ToLower(rand.Text()[:10])
	}
	s.box.Version = 1
	return s, err
}

func (s *sessions) id() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.box.ID
}

// open begins a session and returns the cookie's value. It also counts where it cannot be
// written down, as the error says; it then ends with the server.
func (s *sessions) open(n Session) (value string, err error) {
	value = rand.Text()
	n.Hash = hashOf(value)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.box.Sessions = slices.DeleteFunc(s.box.Sessions, func(o Session) bool { return !n.Made.Before(o.Expires) })
	same := func(o Session) bool { return o.Token == n.Token }
	for count(s.box.Sessions, same) >= sessionsOf {
		i := slices.IndexFunc(s.box.Sessions, same)
		s.box.Sessions = slices.Delete(s.box.Sessions, i, i+1)
	}
	s.box.Sessions = append(s.box.Sessions, n)
	return value, s.save()
}

// find returns the session of a cookie's value.
func (s *sessions) find(value string, now time.Time) (Session, bool) {
	hash := hashOf(value)
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.box.Sessions, func(o Session) bool { return o.Hash == hash })
	if i < 0 || !now.Before(s.box.Sessions[i].Expires) {
		return Session{}, false
	}
	return s.box.Sessions[i], true
}

// close ends the session of a cookie's value.
func (s *sessions) close(value string) error {
	hash := hashOf(value)
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.box.Sessions)
	s.box.Sessions = slices.DeleteFunc(s.box.Sessions, func(o Session) bool { return o.Hash == hash })
	if len(s.box.Sessions) == n {
		return nil
	}
	return s.save()
}

// save writes the sessions down; the caller holds mu.
func (s *sessions) save() error {
	if s.path == "" {
		return nil
	}
	return writeFile(s.path, s.box)
}

func count(list []Session, is func(Session) bool) (n int) {
	for _, s := range list {
		if is(s) {
			n++
		}
	}
	return n
}
