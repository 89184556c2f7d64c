package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/app/web"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/gitlabaccount"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"
	connect "github.com/submitqueue/submitqueue/cmd/submitqueue/setup"
	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/gitlab"
)

// gitlabSetup is the page on which the operator of the server connects it to projects on
// GitLab, where flags name none:
//
//	GET  /setup?token=T   the token of the console opens a session of this browser
//	GET  /setup           the form: instance, project or group, token, the server's address
//	POST /setup/gitlab    does what `submitqueue setup gitlab` does, and shows what it says
//
// The token is kept in its file as soon as GitLab takes it, and shown to nobody. Once a
// project is served, the page is gone.
type gitlabSetup struct {
	door
	c        *Serve
	receiver *lateReceiver

	stack *Stack // nil: the server does not run yet
	done  bool
}

// openGitLabSetup serves the set-up page in place of queues.
func openGitLabSetup(c *Serve, o *Options) late {
	s := &gitlabSetup{door: newDoor(o.Public, o.Log), c: c, receiver: &lateReceiver{}}
	o.receive("gitlab", s.receiver)
	o.mount("/setup", s)
	return late{start: s.start, signsIn: true}
}

// start is called with the server once that runs.
func (s *gitlabSetup) start(stack *Stack) error {
	s.mu.Lock()
	s.stack = stack
	s.mu.Unlock()
	s.admits(stack.Server.Admit)
	s.invite(s.c.console(), stack.Base, "This server knows no project of GitLab yet. Connect it here, in a browser:", "it is connected")
	return nil
}

// ServeHTTP implements http.Handler.
func (s *gitlabSetup) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Cache-Control", "no-store")
	r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
	path := strings.TrimSuffix(r.URL.Path, "/")
	switch {
	case s.done:
		s.problem(w, http.StatusNotFound, "There is no such page. This server is connected to GitLab.")
	case path != "/setup" && path != "/setup/gitlab":
		s.problem(w, http.StatusNotFound, "There is no such page. Begin at /setup.")
	case path == "/setup" && r.Method == http.MethodGet && r.URL.Query().Has("token"):
		s.enter(w, r)
	case !s.inside(r):
		s.problem(w, http.StatusForbidden, "This page is for whoever has started the server: open the link that it has printed on its console, in this browser.")
	case path == "/setup" && r.Method == http.MethodGet:
		s.show(w, http.StatusOK, web.SetupLab{Site: s.c.GitLab.Site(), Target: strings.Join(s.c.Repo, " "), Server: s.address(r)})
	case path == "/setup/gitlab" && r.Method == http.MethodPost:
		s.connect(w, r)
	default:
		s.problem(w, http.StatusMethodNotAllowed, "This address does not take "+r.Method+" requests. Begin at /setup.")
	}
}

func (s *gitlabSetup) address(r *http.Request) string {
	if s.public != "" {
		return strings.TrimSuffix(s.public, "/")
	}
	return s.origin(r)
}

// show renders the form.
func (s *gitlabSetup) show(w http.ResponseWriter, status int, f web.SetupLab) {
	f.Form, f.File, f.Loopback = s.form, s.c.GitLab.TokenFile(s.c.Data), loopback(f.Server) && !loopback(f.Site)
	_, err := s.c.GitLab.ReadToken(s.c.Data)
	f.Kept = err == nil
	if f.Link = ""; isAddress(f.Site) {
		f.Link = strings.TrimSuffix(f.Site, "/") + "/-/user_settings/personal_access_tokens?" + url.Values{"name": {"SubmitQueue"}, "scopes": {"api"}}.Encode()
	}
	for _, n := range gitlab.HookNeeds() {
		f.Events = append(f.Events, web.SetupPermission{Name: n.Name, Why: n.Why})
	}
	s.policy(w, "'self'")
	s.page(w, status, func(b io.Writer) error { return s.pages.SetupLab(b, f) })
}

// connectLimit is how long GitLab may take for all requests together.
const connectLimit = 2 * time.Minute

// connect checks the form, and sets the projects up.
func (s *gitlabSetup) connect(w http.ResponseWriter, r *http.Request) {
	f := web.SetupLab{Site: strings.TrimSuffix(strings.TrimSpace(r.PostFormValue("site")), "/"), Target: strings.TrimSpace(r.PostFormValue("project")),
		Server: strings.TrimSuffix(strings.TrimSpace(r.PostFormValue("server")), "/")}
	token := strings.TrimSpace(r.PostFormValue("access"))
	kept, err := s.c.GitLab.ReadToken(s.c.Data)
	switch {
	case !s.right(r):
		f.Problem = "The form was out of date; look at it once more."
	case s.stack == nil:
		f.Problem = "The server has not started yet; try again in a moment."
	case !isAddress(f.Site):
		f.Problem = "The address of GitLab is not one: write https://HOST."
	case !isAddress(f.Server):
		f.Problem = "The address of this server is not one: write https://HOST."
	case f.Target == "":
		f.Problem = "Name a project, such as group/shop, or a group."
	case token == "" && err != nil:
		f.Problem = "Paste the token."
	}
	if f.Problem != "" {
		s.show(w, http.StatusBadRequest, f)
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), connectLimit) // it is done even if the person leaves meanwhile
	defer cancel()
	if token == "" {
		token = kept
	} else if f.Problem = s.keep(ctx, f.Site, token); f.Problem != "" {
		s.show(w, http.StatusBadGateway, f)
		return
	}
	var out bytes.Buffer
	var found []string
	flags := s.c.GitLab
	flags.URL = f.Site
	command := connect.GitLab{Flags: flags, Target: f.Target, Public: f.Server, Branch: s.c.Branch, RefPrefix: s.c.RefPrefix, Data: s.c.Data, Out: &out, Found: &found,
		Kept: func() error { return s.listen(ctx, flags, token) }}
	err = command.Run(ctx)
	f.Report = out.String()
	if code := print.ExitCode(0); errors.As(err, &code) {
		f.Problem = "Put right what FAILs below, and send the form again."
	} else if err != nil {
		f.Problem = err.Error()
	}
	if f.Problem != "" {
		s.show(w, http.StatusBadGateway, f)
		return
	}
	s.serve(ctx, w, f, flags, token, found)
}

// keep writes a token down if GitLab takes it; else it says why not.
func (s *gitlabSetup) keep(ctx context.Context, site, token string) (problem string) {
	g, err := gitlab.New(gitlab.Options{BaseURL: site, Token: token, Group: "-"})
	if err != nil {
		return err.Error()
	}
	if _, err := g.TokenFacts(ctx); err != nil {
		return "GitLab does not take the token: " + err.Error()
	}
	d, err := gitlabaccount.NewDraft(s.c.GitLab.TokenFile(s.c.Data))
	if err == nil {
		err = d.Keep(token)
	}
	if err != nil {
		return "The token cannot be kept: " + err.Error()
	}
	return ""
}

// listen has the receiver check webhooks by the secret that is kept.
func (s *gitlabSetup) listen(ctx context.Context, flags gitlabaccount.Flags, token string) error {
	secret, err := gitlabSecret(flags, s.c.Data)
	if err != nil {
		return err
	}
	g, err := gitlab.New(gitlab.Options{BaseURL: flags.Site(), Token: token, Group: "-"})
	if err != nil {
		return err
	}
	account, err := g.Account(ctx)
	if err != nil {
		return err
	}
	r, err := gitlab.NewReceiverOf(secret, account)
	if err == nil {
		s.receiver.set(r, func(forge.Delivery, []byte) {})
	}
	return err
}

// serve adds the projects' queues, and keeps the choice for the next start.
func (s *gitlabSetup) serve(ctx context.Context, w http.ResponseWriter, f web.SetupLab, flags gitlabaccount.Flags, token string, found []string) {
	s.c.GitLab.URL = flags.URL
	err := s.listen(ctx, flags, token)
	for _, path := range found {
		if err != nil {
			break
		}
		var q Queue
		if q, _, err = gitlabQueue(ctx, s.c, token, path, s.log); err == nil {
			_, err = s.stack.set.add(ctx, q)
		}
		if errors.Is(err, errServed) {
			err = nil
		}
	}
	if err != nil {
		f.Problem = fmt.Sprintf("GitLab is set up, and the server cannot serve it yet: %v", err)
		s.show(w, http.StatusBadGateway, f)
		return
	}
	made := web.SetupLabMade{Projects: found, Report: f.Report, File: s.c.GitLab.TokenFile(s.c.Data)}
	if err := (gitlabaccount.Chosen{URL: flags.URL, Projects: found}).Keep(s.c.Data); err != nil {
		s.log.Error("which projects are served cannot be kept; the next start needs --repo", "error", err)
		made.Problem = err.Error()
	}
	s.done, s.session = true, ""
	s.log.Info("connected to GitLab", "url", flags.URL, "projects", found)
	s.policy(w, "'self'")
	s.page(w, http.StatusOK, func(b io.Writer) error { return s.pages.SetupLabMade(b, made) })
}
