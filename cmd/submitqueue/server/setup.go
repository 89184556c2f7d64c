package server

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/app/web"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/githubapp"
	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/github"
)

// setup is the page on which the operator of the server makes its GitHub App, by GitHub's
// manifest flow:
//
//	GET  /setup?token=T   the token of the console opens a session of this browser, and
//	                      signs it in to the other pages
//	GET  /setup           the form
//	POST /setup/start     checks it, and hands the manifest to GitHub with a state
//	GET  /setup/made      GitHub sends the person back with the state and a code
//
// The code becomes the App's credentials, once. Then the token is worth nothing, and
// all of these addresses are gone except the last page.
type setup struct {
	door
	o setupOptions

	done   bool
	states map[string]setupState
	made   *web.SetupMade // for the session that has made the App, which may load it again for a while
	madeAt time.Time
}

type setupOptions struct {
	Public string // URL under which people reach the server; "": the one they used
	File   string // where credentials are kept
	Site   string // address of the GitHub; "": github.com
	Show   bool   // credentials are shown, not kept, unless the form says otherwise
	// Made is called with the App; the server works as that App from then on.
	Made func(githubapp.File) error
	Log  *slog.Logger
	Now  func() time.Time
	Wire http.RoundTripper // to GitHub; nil: the usual one
}

// setupState is the part of a form that is kept while the person is at GitHub.
type setupState struct {
	api  string
	site string
	show bool
	at   time.Time
}

// Bounds of a set-up.
const (
	setupLife   = time.Hour // as long as GitHub's code
	setupStates = 20        // forms under way at one time
	setupCookie = "submitqueue_setup"
)

func newSetup(o setupOptions) *setup {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &setup{door: newDoor(o.Public, o.Log), o: o, states: map[string]setupState{}}
}

// ServeHTTP implements http.Handler.
func (s *setup) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Cache-Control", "no-store")
	r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
	path := strings.TrimSuffix(r.URL.Path, "/")
	in := s.inside(r)
	switch {
	case path == "/setup/made" && in && s.made != nil && s.o.Now().Sub(s.madeAt) <= setupLife:
		s.page(w, http.StatusOK, func(b io.Writer) error { return s.pages.SetupMade(b, *s.made) })
	case s.done:
		s.problem(w, http.StatusNotFound, "There is no such page. This server has its App.")
	case path != "/setup" && path != "/setup/start" && path != "/setup/made":
		s.problem(w, http.StatusNotFound, "There is no such page. Begin at /setup.")
	case path == "/setup" && r.Method == http.MethodGet && r.URL.Query().Has("token"):
		if s.enter(w, r) {
			clear(s.states)
		}
	case !in:
		s.problem(w, http.StatusForbidden, "This page is for whoever has started the server: open the link that it has printed on its console, in this browser.")
	case path == "/setup" && r.Method == http.MethodGet:
		s.show(w, http.StatusOK, s.first(r))
	case path == "/setup/start" && r.Method == http.MethodPost:
		s.start(w, r)
	case path == "/setup/made" && r.Method == http.MethodGet:
		s.finish(w, r)
	default:
		s.problem(w, http.StatusMethodNotAllowed, "This address does not take "+r.Method+" requests. Begin at /setup.")
	}
}

func (s *setup) first(r *http.Request) web.SetupForm {
	f := web.SetupForm{Site: "https://github.com", Server: strings.TrimSuffix(s.o.Public, "/"), Show: s.o.Show}
	if s.o.Site != "" {
		f.Site = s.o.Site
	}
	if f.Server == "" {
		f.Server = s.origin(r)
	}
	return f
}

// show renders the form.
func (s *setup) show(w http.ResponseWriter, status int, f web.SetupForm) {
	f.Form, f.File, f.Loopback = s.form, s.o.File, loopback(f.Server)
	for _, n := range github.Needs() {
		f.Permissions = append(f.Permissions, web.SetupPermission{Name: n.Name, Access: n.Access, Why: n.Why})
	}
	for _, n := range github.EventNeeds() {
		f.Events = append(f.Events, web.SetupPermission{Name: n.Name, Why: n.Why})
	}
	s.policy(w, "'self'")
	s.page(w, status, func(b io.Writer) error { return s.pages.SetupForm(b, f) })
}

// isAddress reports whether a text is a URL that people and GitHub can use as a server's
// address.
func isAddress(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https") && u.RawQuery == "" && u.Fragment == "" && u.User == nil
}

func loopback(address string) bool {
	u, err := url.Parse(address)
	return err == nil && (u.Hostname() == "localhost" || net.ParseIP(u.Hostname()).IsLoopback())
}

// start checks the form and hands the manifest on.
func (s *setup) start(w http.ResponseWriter, r *http.Request) {
	f := web.SetupForm{Organization: strings.TrimSpace(r.PostFormValue("organization")), Site: r.PostFormValue("site"),
		Server: strings.TrimSuffix(strings.TrimSpace(r.PostFormValue("server")), "/"), Show: r.PostFormValue("keep") == "show", Public: r.PostFormValue("public") == "yes"}
	if !s.right(r) {
		f.Problem = "The form was out of date; look at it once more."
		s.show(w, http.StatusBadRequest, f)
		return
	}
	site, api, err := github.Site(f.Site)
	switch {
	case err != nil:
		f.Problem = "The address of GitHub is not one: " + err.Error() + "."
	case !isAddress(f.Server):
		f.Problem = "The address of this server is not one: write https://HOST."
	case strings.ContainsAny(f.Organization, "/?#% "):
		f.Problem = "The organization is called by its name in URLs, such as acme."
	}
	if f.Problem != "" {
		s.show(w, http.StatusBadRequest, f)
		return
	}
	name := "submitqueue-" + strings.ToLower(rand.Text()[:6])
	if f.Organization != "" {
		name = "submitqueue-" + f.Organization
	}
	manifest, err := github.Manifest(github.ManifestOptions{Name: name[:min(len(name), 34)], Server: f.Server, Back: s.origin(r) + "/setup/made", Public: f.Public})
	if err != nil {
		s.problem(w, http.StatusInternalServerError, "The manifest cannot be made: "+err.Error())
		return
	}
	now := s.o.Now()
	for old, st := range s.states {
		if now.Sub(st.at) > setupLife || len(s.states) >= setupStates {
			delete(s.states, old)
		}
	}
	state := rand.Text()
	s.states[state] = setupState{api: api, site: site, show: f.Show, at: now}
	s.policy(w, site)
	s.page(w, http.StatusOK, func(b io.Writer) error {
		return s.pages.SetupGo(b, web.SetupGo{Action: github.NewAppPage(site, f.Organization, state), Site: strings.TrimPrefix(strings.TrimPrefix(site, "https://"), "http://"), Manifest: string(manifest)})
	})
}

// finish exchanges the code with which GitHub has sent the person back.
func (s *setup) finish(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	st, ok := s.states[q.Get("state")]
	delete(s.states, q.Get("state"))
	again := s.first(r)
	if !ok || s.o.Now().Sub(st.at) > setupLife {
		again.Problem = "GitHub's answer belongs to no form of this browser, or to one that is more than an hour old. Begin again; an App that was made meanwhile can be deleted at GitHub."
		s.show(w, http.StatusBadRequest, again)
		return
	}
	again.Site, again.Show = st.site, st.show
	// GitHub gives the credentials once: they are kept even if the person leaves meanwhile.
	reg, err := github.Register(context.WithoutCancel(r.Context()), st.api, q.Get("code"), s.o.Wire)
	if err != nil {
		s.o.Log.Warn("the App's credentials cannot be had of GitHub", "error", err)
		if away := (*forge.Transient)(nil); errors.As(err, &away) {
			s.states[q.Get("state")] = st
			again.Problem = "GitHub does not answer (" + err.Error() + "). Load this page again: its code is good for an hour."
			s.show(w, http.StatusBadGateway, again)
			return
		}
		again.Problem = "GitHub does not give the App's credentials (" + err.Error() + "). Its codes are good once, for an hour. Begin again, and delete the App that was made at GitHub, if there is one."
		s.show(w, http.StatusBadGateway, again)
		return
	}
	a := githubapp.File{ID: reg.ID, Slug: reg.Slug, URL: reg.HTMLURL, ClientID: reg.ClientID, ClientSecret: reg.ClientSecret, WebhookSecret: reg.WebhookSecret, Key: reg.PEM}
	if st.api != "https://api.github.com/" {
		a.API = st.api
	}
	page := web.SetupMade{Name: reg.Slug, Install: strings.TrimSuffix(reg.HTMLURL, "/") + "/installations/new", File: s.o.File}
	if st.show {
		page.File = ""
	} else if err := a.Save(s.o.File); err != nil {
		s.o.Log.Error("the App's credentials cannot be kept; they are on the set-up page", "error", err)
		page.File, page.Problem = "", err.Error()
	}
	if page.File == "" {
		raw, err := json.MarshalIndent(a, "", "  ")
		if err != nil {
			s.problem(w, http.StatusInternalServerError, err.Error())
			return
		}
		page.Credentials = string(raw) + "\n"
	}
	// From here on the App is this server's: nobody else can use the set-up any more.
	s.done, s.made, s.madeAt, s.token = true, &page, s.o.Now(), rand.Text()
	s.o.Log.Info("the GitHub App is there", "app", reg.Slug, "id", reg.ID, "install", page.Install)
	if err := s.o.Made(a); err != nil {
		s.o.Log.Error("the server cannot work as the App; restart it", "error", err)
		page.Idle = err.Error()
	}
	http.Redirect(w, r, "/setup/made", http.StatusSeeOther) // without the code
}

// announce tells the person at the console where to go on.
func (s *setup) announce(w io.Writer, base string) {
	s.invite(w, base, "This server has no GitHub App yet. Make one here, in a browser:", "the App is made")
}
