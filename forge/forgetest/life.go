package forgetest

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

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
	before := r.key()
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
	s.former[before] = r.id
	delete(s.repos, before)
	moves := func(names map[string]bool) { // permissions are granted on ids
		if names[before] {
			delete(names, before)
			names[key] = true
		}
	}
	for _, t := range s.tokens {
		moves(t.repos)
	}
	for _, in := range s.App.installs {
		moves(in.only)
	}
	r.dir, r.name, r.owner = dir, name, s.addUser(owner)
	r.roles[strings.ToLower(owner)] = "admin"
	s.repos[key] = r
	action, changes := "renamed", obj{"repository": obj{"name": obj{"from": old}}}
	if was != r.owner {
		action, changes = "transferred", obj{"owner": obj{"from": obj{"user": was.json()}}}
	}
	r.shapes.emit(s.mustUser(login), "repository", obj{"action": action, "changes": changes})
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

// redirect answers as GitHub does: with the same path below the repository's
// address by its id.
func (s *web) redirect(c *call, to *Repository) error {
	parts := strings.SplitN(strings.TrimPrefix(c.r.URL.EscapedPath(), "/api/v3/repos/"), "/", 3)
	target := fmt.Sprintf("%s/api/v3/repositories/%d", s.server.url, to.id)
	if len(parts) == 3 {
		target += "/" + parts[2]
	}
	if c.r.URL.RawQuery != "" {
		target += "?" + c.r.URL.RawQuery
	}
	c.next.Set("Location", target)
	return &problem{status: http.StatusMovedPermanently, message: "Moved Permanently", url: target}
}

// byName rewrites the address of a repository by its id into its address by name:
// GitHub serves the same at both, and its description has the latter.
func (s *Server) byName(req *http.Request) {
	rest, ok := strings.CutPrefix(req.URL.EscapedPath(), "/api/v3/repositories/")
	if !ok {
		return
	}
	id, rest, deeper := strings.Cut(rest, "/")
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.repos {
		if fmt.Sprint(r.id) != id {
			continue
		}
		raw := "/api/v3/repos/" + r.fullName()
		if deeper {
			raw += "/" + rest
		}
		if path, err := url.PathUnescape(raw); err == nil {
			req.URL.Path, req.URL.RawPath = path, raw
		}
		return
	}
}

// DeleteRepository deletes the repository, such as a fork. Pull requests from it
// stay, without a repository for their head.
func (r *Repository) DeleteRepository() {
	s := r.s
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.repos, r.key())
	s.touch()
}
