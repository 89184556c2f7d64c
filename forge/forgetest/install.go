package forgetest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// installation is the App on the repositories of one account.
type installation struct {
	id        int64
	account   *user           // nil: it covers every account
	only      map[string]bool // full names of repositories in lower case; nil: all
	suspended time.Time
}

// everyAccount is the key of the installation that covers every account.
const everyAccount = ""

// suspendedMessage is GitHub's, for a suspended installation and its tokens.
const suspendedMessage = "This installation has been suspended"

// Install installs the App on an account, on the named repositories or on all,
// and returns the installation's id. Until the first call, or the first App made
// from a manifest, one installation covers every account.
func (s *App) Install(owner string, repositories ...string) int64 {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	u := s.server.addUser(owner)
	in := &installation{id: s.server.nextID(), account: u}
	for _, name := range repositories {
		if in.only == nil {
			in.only = map[string]bool{}
		}
		in.only[strings.ToLower(owner+"/"+name)] = true
	}
	delete(s.installs, everyAccount)
	s.installs[strings.ToLower(owner)] = in
	s.installed(in, u, "installation", "created", nil)
	return in.id
}

// Uninstall takes the App off an account.
func (s *App) Uninstall(owner string) {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	in, u := s.mustInstallation(owner)
	s.installed(in, u, "installation", "deleted", nil)
	maps.DeleteFunc(s.installs, func(_ string, other *installation) bool { return other == in })
}

// Suspend suspends the installation of an account, or ends the suspension. While it
// is suspended, its tokens are refused, and no webhook is sent except the one that
// tells of the suspension.
func (s *App) Suspend(owner string, on bool) {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	in, u := s.mustInstallation(owner)
	in.suspended = time.Time{}
	action := "unsuspend"
	if on {
		in.suspended, action = s.server.now(), "suspend"
	}
	s.installed(in, u, "installation", action, nil)
}

// AddToInstallation adds a repository to an installation on selected ones.
func (s *App) AddToInstallation(owner, name string) { s.choose(owner, name, true) }

// RemoveFromInstallation takes a repository off an installation. An installation on
// all repositories is then on all other present repositories.
func (s *App) RemoveFromInstallation(owner, name string) { s.choose(owner, name, false) }

func (s *App) choose(owner, name string, yes bool) {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	in, u := s.mustInstallation(owner)
	r := s.server.repos[strings.ToLower(owner+"/"+name)]
	if r == nil {
		panic("forgetest: there is no repository " + owner + "/" + name)
	}
	if in.only == nil {
		only := map[string]bool{}
		for _, r := range s.reached(in) {
			only[r.key()] = true
		}
		in.only = only
	}
	in.only[r.key()] = yes
	added, removed, action := []obj{r.named()}, []obj{}, "added"
	if !yes {
		added, removed, action = removed, added, "removed"
	}
	s.installed(in, u, "installation_repositories", action, obj{
		"repositories_added": added, "repositories_removed": removed, "repository_selection": "selected", "requester": nil,
	})
}

// mustInstallation returns the installation that covers an account, and the
// account.
func (s *App) mustInstallation(owner string) (*installation, *user) {
	in := s.installationOn(owner)
	if in == nil {
		panic("forgetest: the App is not installed on " + owner)
	}
	return in, s.server.mustUser(owner)
}

// installationOn returns the installation that covers an account, or nil. The
// caller holds s.mu.
func (s *App) installationOn(owner string) *installation {
	return cmp.Or(s.installs[strings.ToLower(owner)], s.installs[everyAccount])
}

// installed sends a webhook about an installation on an account. The caller holds
// s.mu.
func (s *App) installed(in *installation, account *user, event, action string, more obj) {
	body := obj{"action": action, "installation": s.installationJSON(in, account), "sender": account.json()}
	if event == "installation" {
		list := []obj{}
		for _, r := range s.reached(in) {
			list = append(list, r.named())
		}
		body["repositories"] = list
	}
	s.server.queueHook(event, body.with(more), 0)
	s.server.touch()
}

// named returns a repository as events about installations name it.
func (r *Repository) named() obj {
	return obj{"id": r.id, "node_id": "R_" + r.fullName(), "name": r.name, "full_name": r.fullName(), "private": r.private}
}

// installation returns the installation that reaches the repository, or nil. The
// caller holds s.mu.
func (r *Repository) installation() *installation {
	in := r.s.App.installationOn(r.owner.login)
	if in == nil || in.only != nil && !in.only[r.key()] {
		return nil
	}
	return in
}

// installationByID returns an installation, or nil. The caller holds s.mu.
func (s *App) installationByID(id int64) *installation {
	for _, in := range s.installs {
		if in.id == id {
			return in
		}
	}
	return nil
}

// admitted refuses an installation that is suspended. The caller holds s.mu.
func (s *App) admitted(id int64) error {
	if in := s.installationByID(id); in != nil && !in.suspended.IsZero() {
		return refused(suspendedMessage)
	}
	return nil
}

// reached lists an installation's repositories by name. The caller holds s.mu.
func (s *App) reached(in *installation) []*Repository {
	var list []*Repository
	for _, r := range s.server.repos {
		if r.installation() == in {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(a, b *Repository) int { return strings.Compare(a.fullName(), b.fullName()) })
	return list
}

// installationJSON returns an installation on an account. If the account is not
// known and the installation covers every account, it names the bot's account.
func (s *App) installationJSON(in *installation, account *user) obj {
	account = cmp.Or(in.account, account, s.server.users[strings.ToLower(s.server.Bot())])
	body := obj{
		"id": in.id, "account": account.json(), "app_id": appID, "app_slug": s.server.opts.Slug, "target_id": account.id, "target_type": "Organization",
		"permissions": s.server.opts.Permissions, "events": s.subscribed(), "repository_selection": in.selection(),
		"access_tokens_url": fmt.Sprintf("%s/api/v3/app/installations/%d/access_tokens", s.server.url, in.id),
		"repositories_url":  s.server.url + "/api/v3/installation/repositories",
		"html_url":          fmt.Sprintf("%s/settings/installations/%d", s.server.url, in.id),
		"single_file_name":  nil, "suspended_by": nil, "suspended_at": nil, "created_at": founded, "updated_at": founded,
	}
	if !in.suspended.IsZero() {
		body["suspended_at"], body["suspended_by"] = stamp(in.suspended), account.json()
	}
	return body
}

func (in *installation) selection() string {
	if in.only != nil {
		return "selected"
	}
	return "all"
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
	all := slices.SortedFunc(maps.Values(c.s.App.installs), func(a, b *installation) int { return int(a.id - b.id) })
	list := []obj{}
	for _, in := range all {
		list = append(list, c.s.App.installationJSON(in, nil))
	}
	return paged(c, list), nil
}

func getInstallation(c *call) (any, error) {
	in := c.s.App.installationByID(c.number("id"))
	if in == nil {
		return nil, notFound()
	}
	return c.s.App.installationJSON(in, nil), nil
}

func listInstallationRepositories(c *call) (any, error) {
	if !c.who.installation() {
		return nil, refused("You must authenticate with an installation access token in order to list repositories for an installation.")
	}
	in := c.s.App.installationByID(c.who.token.install)
	if in == nil {
		return nil, notFound()
	}
	list := []obj{}
	for _, r := range c.s.App.reached(in) {
		if c.who.token.covers(r) {
			list = append(list, r.shapes.json())
		}
	}
	return obj{"total_count": len(list), "repository_selection": in.selection(), "repositories": paged(c, list)}, nil
}

// repositoryInstallation answers GET /repos/{owner}/{repo}/installation.
func repositoryInstallation(c *call) (any, error) {
	in := c.repo.installation()
	if in == nil {
		return nil, notFound()
	}
	return c.s.App.installationJSON(in, c.repo.owner), nil
}

// Grant says what an installation token may do.
type Grant struct {
	Installation int64
	Permissions  map[string]string
	Repositories []string // full names, in lower case; nil: all of the installation
}

// Grants lists the installation tokens that were made and not revoked.
func (s *App) Grants() []Grant {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	var list []Grant
	for _, t := range s.server.tokens {
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
