package forgetest

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// installation is the App on the repositories of one account.
type installation struct {
	id        int64
	account   *user           // nil: of every account that has none of its own
	only      map[string]bool // names of repositories in lower case; nil: all
	suspended time.Time
}

// Install installs the App on an account, on the named repositories or on all,
// and returns the installation's id. Until the first call, or the first App made
// from a manifest, one installation covers every account.
func (s *Server) Install(owner string, repositories ...string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.addUser(owner)
	in := &installation{id: s.nextID(), account: u}
	for _, name := range repositories {
		if in.only == nil {
			in.only = map[string]bool{}
		}
		in.only[strings.ToLower(name)] = true
	}
	s.strict(u.login, in)
	s.installed(in, "installation", "created", nil)
	return in.id
}

// Uninstall takes the App off an account.
func (s *Server) Uninstall(owner string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in := s.mustInstallation(owner)
	s.installed(in, "installation", "deleted", nil)
	delete(s.installs, strings.ToLower(owner))
}

// Suspend suspends an account's installation, or ends that.
func (s *Server) Suspend(owner string, on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in := s.mustInstallation(owner)
	in.suspended = time.Time{}
	action := "unsuspend"
	if on {
		in.suspended, action = s.now(), "suspend"
	}
	s.installed(in, "installation", action, nil)
}

// AddToInstallation adds a repository to an installation on selected ones.
func (s *Server) AddToInstallation(owner, name string) { s.choose(owner, name, "added") }

// RemoveFromInstallation takes a repository off an installation on selected ones.
func (s *Server) RemoveFromInstallation(owner, name string) { s.choose(owner, name, "removed") }

func (s *Server) choose(owner, name, action string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in := s.mustInstallation(owner)
	if in.only == nil {
		panic("forgetest: the installation of " + owner + " is on all repositories")
	}
	in.only[strings.ToLower(name)] = action == "added"
	r := s.repos[strings.ToLower(owner+"/"+name)]
	if r == nil {
		panic("forgetest: there is no repository " + owner + "/" + name)
	}
	brief := []obj{{"id": r.id, "node_id": "R_" + r.fullName(), "name": r.name, "full_name": r.fullName(), "private": r.private}}
	s.installed(in, "installation_repositories", action, obj{"repositories_" + action: brief, "repository_selection": "selected"})
}

func (s *Server) mustInstallation(owner string) *installation {
	in := s.installs[strings.ToLower(owner)]
	if in == nil {
		panic("forgetest: the App is not installed on " + owner)
	}
	return in
}

// strict ends the one installation for everybody. The caller holds s.mu.
func (s *Server) strict(owner string, in *installation) {
	if s.installs == nil {
		s.installs = map[string]*installation{}
	}
	if in != nil {
		s.installs[strings.ToLower(owner)] = in
	}
	s.touch()
}

// installed sends a webhook about an installation. The caller holds s.mu.
func (s *Server) installed(in *installation, event, action string, more obj) {
	body := obj{"action": action, "installation": s.installationOf(in), "sender": in.account.json()}
	if event == "installation" {
		list := []obj{}
		for _, r := range s.reached(in) {
			list = append(list, obj{"id": r.id, "name": r.name, "full_name": r.fullName(), "private": r.private})
		}
		body["repositories"] = list
	}
	for k, v := range more {
		body[k] = v
	}
	s.queueHook(event, body, 0)
}

// installation returns the one that reaches the repository, or nil. The caller
// holds s.mu.
func (r *Repository) installation() *installation {
	if r.s.access[r.id] == "removed" {
		return nil
	}
	if r.s.installs == nil {
		return &installation{id: installationID, account: r.owner}
	}
	in := r.s.installs[strings.ToLower(r.owner.login)]
	if in == nil || in.only != nil && !in.only[strings.ToLower(r.name)] {
		return nil
	}
	return in
}

// installationByID returns an installation, or nil. The caller holds s.mu.
func (s *Server) installationByID(id int64) *installation {
	if s.installs == nil && id == installationID {
		return &installation{id: installationID}
	}
	for _, in := range s.installs {
		if in.id == id {
			return in
		}
	}
	return nil
}

// reached lists an installation's repositories by name. The caller holds s.mu.
func (s *Server) reached(in *installation) []*Repository {
	var list []*Repository
	for _, r := range s.repos {
		if i := r.installation(); i != nil && i.id == in.id {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(a, b *Repository) int { return strings.Compare(a.fullName(), b.fullName()) })
	return list
}

func (s *Server) installationOf(in *installation) obj {
	account := in.account
	if account == nil {
		account = s.users[strings.ToLower(s.Bot())]
	}
	body := s.installationJSON(account)
	body["id"] = in.id
	body["html_url"] = fmt.Sprintf("%s/settings/installations/%d", s.url, in.id)
	body["access_tokens_url"] = fmt.Sprintf("%s/api/v3/app/installations/%d/access_tokens", s.url, in.id)
	body["repository_selection"] = "all"
	if in.only != nil {
		body["repository_selection"] = "selected"
	}
	body["suspended_at"], body["suspended_by"] = nil, nil
	if !in.suspended.IsZero() {
		body["suspended_at"], body["suspended_by"] = stamp(in.suspended), account.json()
	} else if s.suspended {
		body["suspended_at"], body["suspended_by"] = stamp(s.now()), account.json()
	}
	return body
}

func installRoutes() []route {
	return []route{
		{pattern: "GET /meta", f: func(*call) (any, error) { return obj{"verifiable_password_authentication": false}, nil }},
		{pattern: "GET /app/hook/config", need: "app", f: getHookConfig},
		{pattern: "GET /app/installations", need: "app", f: listInstallations},
		{pattern: "GET /app/installations/{id}", need: "app", f: getInstallation},
		{pattern: "GET /installation/repositories", f: listInstallationRepositories},
		{pattern: "POST /app-manifests/{code}/conversions", f: convertManifest},
	}
}

func getHookConfig(c *call) (any, error) {
	body := obj{"content_type": "json", "insecure_ssl": "0", "url": c.s.hooks.url}
	if c.s.hooks.secret != "" {
		body["secret"] = "********"
	}
	return body, nil
}

func listInstallations(c *call) (any, error) {
	list := []obj{}
	if c.s.installs == nil {
		list = append(list, c.s.installationOf(&installation{id: installationID}))
	}
	var all []*installation
	for _, in := range c.s.installs {
		all = append(all, in)
	}
	slices.SortFunc(all, func(a, b *installation) int { return int(a.id - b.id) })
	for _, in := range all {
		list = append(list, c.s.installationOf(in))
	}
	return paged(c, list), nil
}

func getInstallation(c *call) (any, error) {
	in := c.s.installationByID(c.number("id"))
	if in == nil {
		return nil, notFound()
	}
	return c.s.installationOf(in), nil
}

func listInstallationRepositories(c *call) (any, error) {
	if !c.who.installation() {
		return nil, refused("You must authenticate with an installation access token in order to list repositories for an installation.")
	}
	list := []obj{}
	for _, r := range c.s.reached(&installation{id: c.who.token.install}) {
		if c.who.token.covers(r) {
			list = append(list, r.json())
		}
	}
	return obj{"total_count": len(list), "repository_selection": "all", "repositories": paged(c, list)}, nil
}

// repositoryInstallation answers GET /repos/{owner}/{repo}/installation.
func repositoryInstallation(c *call) (any, error) {
	in := c.repo.installation()
	if in == nil {
		return nil, notFound()
	}
	return c.s.installationOf(in), nil
}

// repositoryInstallationByID answers GET /repositories/{id}/installation.
func repositoryInstallationByID(c *call) (any, error) {
	for _, r := range c.s.repos {
		if in := r.installation(); r.id == c.number("id") && in != nil {
			return c.s.installationOf(in), nil
		}
	}
	return nil, notFound()
}

// admitInstallation refuses tokens for an installation that is suspended.
func admitInstallation(in *installation) error {
	if in == nil {
		return notFound()
	}
	if !in.suspended.IsZero() {
		return &problem{status: http.StatusForbidden, message: "This installation has been suspended"}
	}
	return nil
}

// Grant is what an installation token may do.
type Grant struct {
	Installation int64
	Permissions  map[string]string
	Repositories []string // full names, in lower case; nil: all of the installation
}

// Grants lists the installation tokens that were made and not revoked.
func (s *Server) Grants() []Grant {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []Grant
	for _, t := range s.tokens {
		if t.permissions == nil {
			continue
		}
		g := Grant{Installation: t.install, Permissions: maps.Clone(t.permissions)}
		for name, in := range t.repos {
			if in {
				g.Repositories = append(g.Repositories, name)
			}
		}
		slices.Sort(g.Repositories)
		list = append(list, g)
	}
	return list
}
