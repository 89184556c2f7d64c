package forgetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// manifest has the members that GitHub accepts to make an App, and no others.
type manifest struct {
	Name           string `json:"name"`
	URL            string `json:"url"`
	HookAttributes struct {
		URL    string `json:"url"`
		Active *bool  `json:"active"`
	} `json:"hook_attributes"`
	RedirectURL    string            `json:"redirect_url"`
	CallbackURLs   []string          `json:"callback_urls"`
	SetupURL       string            `json:"setup_url"`
	Description    string            `json:"description"`
	Public         bool              `json:"public"`
	Events         []string          `json:"default_events"`
	Permissions    map[string]string `json:"default_permissions"`
	OAuthOnInstall bool              `json:"request_oauth_on_install"`
	SetupOnUpdate  bool              `json:"setup_on_update"`
}

// pending is an App between the form and the exchange of its code.
type pending struct {
	manifest manifest
	owner    string // organization, or "" for the person logged in
	state    string
	made     time.Time
}

// manifestLife is how long GitHub keeps a code.
const manifestLife = time.Hour

// eventNeeds are the permissions that events need, any one of them. Source:
// GitHub's documentation of webhook events.
var eventNeeds = map[string][]string{
	"issue_comment": {"issues", "pull_requests"}, "pull_request": {"pull_requests"}, "push": {"contents"},
	"pull_request_review": {"pull_requests"}, "pull_request_review_comment": {"pull_requests"},
	"pull_request_review_thread": {"pull_requests"}, "check_run": {"checks"}, "check_suite": {"checks"},
	"status": {"statuses"}, "workflow_run": {"actions"}, "workflow_job": {"actions"}, "repository": {"metadata"},
}

// appPermissions are the permissions that this server knows, with the access levels
// that may be asked for.
var appPermissions = map[string][]string{
	"contents": {"read", "write"}, "pull_requests": {"read", "write"}, "issues": {"read", "write"},
	"checks": {"read", "write"}, "metadata": {"read"}, "statuses": {"read", "write"}, "actions": {"read", "write"},
	"workflows": {"write"}, "administration": {"read", "write"}, "members": {"read", "write"},
}

// judge says what is wrong with a manifest, or "".
func (m manifest) judge() string {
	for what, address := range map[string]string{"url": m.URL, "hook_attributes.url": m.HookAttributes.URL} {
		if u, err := url.Parse(address); err != nil || u.Host == "" {
			return what + " must be a valid URL"
		}
	}
	if len(m.Name) > 34 {
		return "Name is too long (maximum is 34 characters)"
	}
	for name, access := range m.Permissions {
		if !slices.Contains(appPermissions[name], access) {
			return fmt.Sprintf("Default permission records resource %s: %s is not included in the list", name, access)
		}
	}
	for _, e := range m.Events {
		needs, ok := eventNeeds[e]
		if !ok || !slices.ContainsFunc(needs, func(n string) bool { return m.Permissions[n] != "" }) {
			return "Default events unsupported: " + e
		}
	}
	return ""
}

// manifestPages are the pages on which a person makes an App from a manifest: every
// visitor counts as logged in.
func (s *App) manifestPages(mux *http.ServeMux) {
	mux.HandleFunc("POST /settings/apps/new", func(w http.ResponseWriter, r *http.Request) { s.newApp(w, r, "") })
	mux.HandleFunc("POST /organizations/{org}/settings/apps/new", func(w http.ResponseWriter, r *http.Request) {
		s.newApp(w, r, r.PathValue("org"))
	})
	mux.HandleFunc("POST /settings/apps/manifest", s.createApp)
}

var newAppPage = template.Must(template.New("").Parse(`<!doctype html><title>New GitHub App</title>
<form method="post" action="/settings/apps/manifest"><input type="hidden" name="code" value="{{.Code}}">
<p>{{.Name}}</p><button id="create">Create GitHub App{{with .Owner}} for {{.}}{{end}}</button></form>`))

func (s *App) newApp(w http.ResponseWriter, r *http.Request, org string) {
	p := pending{owner: org, state: r.URL.Query().Get("state"), made: time.Now()}
	dec := json.NewDecoder(strings.NewReader(r.PostFormValue("manifest")))
	dec.DisallowUnknownFields()
	problem := ""
	if err := dec.Decode(&p.manifest); err != nil {
		problem = "Invalid GitHub App configuration: " + err.Error()
	} else {
		problem = p.manifest.judge()
	}
	if problem != "" {
		http.Error(w, problem, http.StatusUnprocessableEntity)
		return
	}
	s.server.mu.Lock()
	code := fmt.Sprintf("%x", s.server.nextID()) + "c0de"
	if s.manifests == nil {
		s.manifests = map[string]*pending{}
	}
	s.manifests[code] = &p
	s.server.mu.Unlock()
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	newAppPage.Execute(w, struct{ Code, Name, Owner string }{code, p.manifest.Name, org})
}

// createApp is the person's click: GitHub redirects to the address in the manifest.
func (s *App) createApp(w http.ResponseWriter, r *http.Request) {
	code := r.PostFormValue("code")
	s.server.mu.Lock()
	p := s.manifests[code]
	s.server.mu.Unlock()
	if p == nil {
		http.NotFound(w, r)
		return
	}
	to, err := url.Parse(p.manifest.RedirectURL)
	if err != nil || to.Host == "" {
		http.Error(w, "redirect_url", http.StatusUnprocessableEntity)
		return
	}
	q := to.Query()
	q.Set("code", code)
	if p.state != "" {
		q.Set("state", p.state)
	}
	to.RawQuery = q.Encode()
	http.Redirect(w, r, to.String(), http.StatusFound)
}

// ExpireManifests makes all unused codes too old.
func (s *App) ExpireManifests() {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	for _, p := range s.manifests {
		p.made = p.made.Add(-2 * manifestLife)
	}
}

// convertManifest makes the App: the one that this server knows, with the settings
// of the manifest. It is installed nowhere yet.
func convertManifest(c *call) (any, error) {
	code := c.r.PathValue("code")
	p := c.s.App.manifests[code]
	if p == nil || time.Since(p.made) > manifestLife {
		return nil, notFound()
	}
	delete(c.s.App.manifests, code)
	s, m := c.s, p.manifest
	secret := fmt.Sprintf("made-by-github-%d", s.nextID())
	s.opts.Permissions, s.App.appEvents, s.App.appOwner = maps.Clone(m.Permissions), slices.Clone(m.Events), p.owner
	s.hooks.url, s.hooks.secret = m.HookAttributes.URL, secret
	delete(s.App.installs, everyAccount)
	body := s.App.appJSON()
	maps.Copy(body, obj{
		"name": m.Name, "description": m.Description,
		"external_url": m.URL, "created_at": stamp(s.now()), "updated_at": stamp(s.now()),
		"client_id": "Iv1.8a61f9b3a7aba766", "client_secret": "client-" + secret, "webhook_secret": secret,
		"pem": string(bytes.TrimSpace(s.AppKey())) + "\n",
	})
	return answer{http.StatusCreated, body}, nil
}

// subscribed lists the events that the App is subscribed to. All events are sent
// all the same: doctor must find that an App lacks one.
func (s *App) subscribed() []string {
	if s.appEvents != nil {
		return s.appEvents
	}
	return []string{"push", "pull_request", "pull_request_review", "issue_comment", "check_run"}
}

// SetEvents changes the events that the App is subscribed to.
func (s *App) SetEvents(events ...string) {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	s.appEvents = events
}

func (s *App) appOwnerJSON() obj {
	owner := &user{id: 3004, login: "owner", kind: "User", site: s.server.url}
	if s.appOwner != "" {
		owner.login, owner.kind = s.appOwner, "Organization"
	}
	return owner.json()
}
