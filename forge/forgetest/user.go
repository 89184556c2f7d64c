package forgetest

import (
	"fmt"
	"strings"
)

type user struct {
	id    int64
	login string
	kind  string // "User" or "Bot"
	site  string // address of the server
}

func (u *user) json() obj {
	return obj{
		"login": u.login, "id": u.id, "node_id": fmt.Sprintf("U_%d", u.id),
		"avatar_url": "", "gravatar_id": "", "type": u.kind, "site_admin": false,
	}.with(u.urls())
}

// AddUser makes a user, with no permission on any repository beyond what
// everybody has. Adding one twice changes nothing.
func (s *Server) AddUser(login string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.addUser(login)
}

func (s *Server) addUser(login string) *user {
	if u := s.users[strings.ToLower(login)]; u != nil {
		return u
	}
	u := &user{id: s.nextID(), login: login, kind: "User", site: s.url}
	s.users[strings.ToLower(login)] = u
	return u
}

// appUser returns the user under which another App acts.
func (s *Server) appUser(slug string) *user {
	u := s.addUser(slug + "[bot]")
	u.kind = "Bot"
	return u
}

func (s *Server) mustUser(login string) *user {
	u := s.users[strings.ToLower(login)]
	if u == nil {
		panic("forgetest: no user " + login)
	}
	return u
}

// SetPermission makes a user if needed, and gives the user a role on the
// repository: "none", "read", "triage", "write", "maintain" or "admin".
func (r *Repository) SetPermission(login, role string) {
	if level(role) < 0 {
		panic("forgetest: no role " + role)
	}
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	r.s.addUser(login)
	r.roles[strings.ToLower(login)] = role
}

// SetPrivate makes the repository readable for its collaborators only.
func (r *Repository) SetPrivate() {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	r.private = true
}

// role returns the role of a user: everybody may read a public repository.
func (r *rules) role(u *user) string {
	if role, ok := r.repo.roles[strings.ToLower(u.login)]; ok {
		return role
	}
	if r.repo.private {
		return "none"
	}
	return "read"
}

func level(role string) int {
	for i, name := range []string{"none", "read", "triage", "write", "maintain", "admin"} {
		if name == role {
			return i
		}
	}
	return -1
}
