package setup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/cmd/submitqueue/doctor"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/gitlabaccount"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"
	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/gitlab"
)

// Command is `submitqueue setup`.
type Command struct {
	GitLab GitLab `cmd:"" name:"gitlab" help:"Make the webhook of a project or a group on GitLab, and check the token. Doing it again mends what is wrong and changes nothing else."`
}

// GitLab is `submitqueue setup gitlab`.
type GitLab struct {
	gitlabaccount.Flags `embed:"" prefix:"gitlab-"`

	Target    string `arg:"" name:"project" placeholder:"PROJECT|GROUP" help:"Full path of a project, or of a group, all of whose projects with a .submitqueue.yml are meant."`
	Public    string `name:"url" env:"SUBMITQUEUE_URL" help:"URL under which GitLab reaches the server." placeholder:"URL"`
	Branch    string `env:"SUBMITQUEUE_BRANCH" help:"Target branch (default: the project's own)." placeholder:"NAME"`
	RefPrefix string `name:"ref-prefix" default:"submitqueue" env:"SUBMITQUEUE_REF_PREFIX" help:"First part of the names of the refs that the forge's CI builds."`
	Data      string `default:"${data}" env:"SUBMITQUEUE_DATA" help:"Data folder of the server, where the secret is kept." type:"path"`
	DryRun    bool   `name:"dry-run" help:"Say what would be done, and do nothing."`
	Replace   bool   `help:"Lead the webhook of another server here, in place of making a second one."`
	Protect   bool   `name:"protect-refs" help:"Protect the branches of builds, so that their pipelines get protected variables and runners. Jobs that a merge request adds to its CI file get them, too."`
	Rotate    bool   `name:"rotate-token" help:"Get another token of the same account in place of this one, write it to the token's file, and do nothing else."`
	Days      int    `name:"token-days" default:"364" help:"Days after which the rotated token expires."`

	// Out takes the output. Nil: standard output.
	Out io.Writer `kong:"-"`
	// Kept is called once the webhook's secret is in its file, before a webhook is sent as
	// a test. Nil: it is not called.
	Kept func() error `kong:"-"`
	// Found gets the projects that were set up and in which nothing keeps changes from
	// landing. Where it is set, the server runs already, so the text leaves out how to
	// start it.
	Found *[]string `kong:"-"`

	now func() time.Time // nil: the machine's clock
}

// step is one thing to do.
type step struct {
	says string // the thing that is done, e.g. "the webhook ..."
	verb string // "made", "mended", "tested"
	do   func(context.Context) error
}

// Run implements the command. Its exit status is 1 where something keeps changes from
// landing.
func (c *GitLab) Run(ctx context.Context) error {
	if c.Out == nil {
		c.Out = os.Stdout
	}
	if c.now == nil {
		c.now = time.Now
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	token, err := c.ReadToken(c.Data)
	if err != nil {
		return err
	}
	if c.Rotate {
		return c.rotate(ctx, token)
	}
	if c.Public = strings.TrimSuffix(c.Public, "/"); c.Public != "" && !isAddress(c.Public) {
		return print.UsageError(fmt.Sprintf("--url %q is not an address of the server: write https://HOST", c.Public))
	}
	path := gitlabaccount.ProjectPath(c.Target)
	var s gitlab.Survey
	if strings.Contains(path, "/") {
		f, err := gitlab.New(gitlab.Options{BaseURL: c.Site(), Token: token, Project: path})
		if err != nil {
			return print.UsageError(err.Error())
		}
		if s = f.Survey(ctx, c.Branch, c.RefPrefix); !errors.Is(s.RepoErr, forge.ErrNotFound) {
			return c.project(ctx, f, s)
		}
	}
	g, err := gitlab.New(gitlab.Options{BaseURL: c.Site(), Token: token, Group: path})
	if err != nil {
		return print.UsageError(err.Error())
	}
	list, err := g.Projects(ctx)
	if errors.Is(err, forge.ErrNotFound) {
		return fmt.Errorf("%s has neither a project nor a group %s that the token of %s sees: check the path, and make its account a member, as a maintainer", c.Site(), path, c.TokenFile(c.Data))
	}
	if err != nil {
		return err
	}
	facts, err := g.TokenFacts(ctx)
	if err == nil && !c.able(facts) {
		err = fmt.Errorf("the token of %s has the scopes %s: make one with the scope api", c.TokenFile(c.Data), strings.Join(facts.Scopes, ", "))
	}
	if err != nil {
		return err
	}
	return c.group(ctx, g, token, list)
}

// able reports whether a token may make things, as far as the instance tells.
func (c *GitLab) able(t gitlab.TokenFacts) bool {
	return t.Unknown || slices.Contains(t.Scopes, "api")
}

// project sets one project up.
func (c *GitLab) project(ctx context.Context, f *gitlab.Forge, s gitlab.Survey) error {
	if !s.Ready() || !c.able(s.Token) {
		return c.finish(ctx, []gitlab.Survey{s})
	}
	w := &work{c: c, f: f, at: gitlab.HookPlace{Project: s.Repo.ID}, of: s.Project}
	if err := w.plan(s.Hooks, s.HooksErr, s.Deliveries); err != nil {
		return err
	}
	if c.Protect {
		w.protect(s)
	}
	if err := w.carryOut(ctx); err != nil {
		return err
	}
	if len(w.steps) > 0 && !c.DryRun {
		s = f.Survey(ctx, c.Branch, c.RefPrefix)
	}
	return c.finish(ctx, []gitlab.Survey{s})
}

// group sets the projects of a group up: by one webhook of the group where its tier has
// them.
func (c *GitLab) group(ctx context.Context, g *gitlab.Forge, token string, list []gitlab.GroupProject) error {
	path := gitlabaccount.ProjectPath(c.Target)
	var queued []gitlab.GroupProject
	for _, p := range list {
		if p.Queued {
			queued = append(queued, p)
		}
	}
	fmt.Fprintf(c.Out, "%s: %s, %d with a .submitqueue.yml\n\n", path, print.Counted(len(list), "project"), len(queued))
	if len(queued) == 0 {
		return fmt.Errorf("no project of %s has a .submitqueue.yml on its default branch: in a clone of one, run submitqueue init, push the file, and run this again", path)
	}
	at := gitlab.HookPlace{Group: path}
	hooks, err := g.ListHooks(ctx, at)
	whole := err == nil
	if err != nil && !errors.Is(err, gitlab.ErrTier) {
		return err
	}
	if whole {
		w := &work{c: c, f: g, at: at, of: "the group " + path}
		if err := w.plan(hooks, nil, nil); err != nil {
			return err
		}
		if err := w.carryOut(ctx); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(c.Out, "the group's tier has no webhooks of groups, or the account is no owner of it: each project gets one\n")
	}
	var all []gitlab.Survey
	for _, p := range queued {
		f, err := gitlab.New(gitlab.Options{BaseURL: c.Site(), Token: token, Project: p.Path})
		if err != nil {
			return err
		}
		s := f.Survey(ctx, c.Branch, c.RefPrefix)
		w := &work{c: c, f: f, at: gitlab.HookPlace{Project: p.ID}, of: p.Path}
		if s.Ready() && !whole {
			if err := w.plan(s.Hooks, s.HooksErr, s.Deliveries); err != nil {
				return err
			}
		}
		if s.Ready() && c.Protect {
			w.protect(s)
		}
		if err := w.carryOut(ctx); err != nil {
			return err
		}
		if len(w.steps) > 0 && !c.DryRun {
			s = f.Survey(ctx, c.Branch, c.RefPrefix)
		}
		all = append(all, s)
	}
	return c.finish(ctx, all)
}

// finish says what is still wrong, and how to start the server.
func (c *GitLab) finish(ctx context.Context, all []gitlab.Survey) error {
	blocked := false
	var repos, names []string
	for _, s := range all {
		names = append(names, s.Project)
		f := doctor.GitLabFacts{Survey: s, Now: c.now(), Public: c.Public}
		list := doctor.JudgeGitLab(f)
		blocked = blocked || doctor.Blocked(list)
		repos = append(repos, "--repo "+s.Project)
		title := s.Project
		if s.Branch != "" {
			title += ", branch " + s.Branch
		}
		fmt.Fprintln(c.Out)
		if err := doctor.Write(c.Out, title, list); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if blocked {
		if c.Found != nil {
			return print.ExitCode(1)
		}
		fmt.Fprintf(c.Out, "\nPut right what FAILs, and run this again. submitqueue doctor --forge gitlab PROJECT shows the same at any time.\n")
		if c.DryRun {
			return nil
		}
		return print.ExitCode(1)
	}
	if c.Found != nil {
		*c.Found = names
		return nil
	}
	fmt.Fprintf(c.Out, "\nStart the server, or restart it:\n\n    %s\n", c.serve(repos))
	return nil
}

// serve is the command that starts the server with the flags of this command.
func (c *GitLab) serve(repos []string) string {
	words := []string{"submitqueue serve --forge gitlab"}
	if c.URL != "" {
		words = append(words, "--gitlab-url "+c.Site())
	}
	words = append(words, repos...)
	if c.Token != "" {
		words = append(words, "--gitlab-token-file "+c.Token)
	}
	if c.Secret != "" {
		words = append(words, "--gitlab-secret-file "+c.Secret)
	}
	if c.Public != "" {
		words = append(words, "--url "+c.Public)
	}
	return strings.Join(append(words, "--listen :8080"), " ")
}

// rotate exchanges the token.
func (c *GitLab) rotate(ctx context.Context, token string) error {
	if c.Days < 1 {
		return print.UsageError("--token-days is a number of days from 1 on")
	}
	f, err := gitlab.New(gitlab.Options{BaseURL: c.Site(), Token: token, Group: "-"})
	if err != nil {
		return print.UsageError(err.Error())
	}
	until, name := c.now().Add(time.Duration(c.Days)*24*time.Hour), c.TokenFile(c.Data)
	facts, err := f.TokenFacts(ctx)
	if err != nil {
		return err
	}
	if c.DryRun {
		_, err := fmt.Fprintf(c.Out, "would exchange the token %q, which expires on %s, for one that expires on %s, in %s\n", facts.Name, orNever(facts.Expires), until.Format(time.DateOnly), name)
		return err
	}
	draft, err := gitlabaccount.NewDraft(name)
	if err != nil {
		return fmt.Errorf("the token is as it was: a new one could not be written to %s: %w", name, err)
	}
	fresh, err := f.Rotate(context.WithoutCancel(ctx), until) // once GitLab has it, the old one is gone
	if err != nil {
		return errors.Join(fmt.Errorf("%w; where the answer was lost, the token may be gone: look at the account's tokens", err), draft.Drop())
	}
	if err := draft.Keep(fresh.Text); err != nil {
		return fmt.Errorf("GitLab has ended the old token, and the new one cannot be written to %s: rotate it on the page on which it was made, and write it there by hand: %w", name, err)
	}
	_, err = fmt.Fprintf(c.Out, "exchanged the token of %s: %s has one of the same account that expires on %s\n\nRestart the server: it goes on with the old token, which is over.\n", c.Site(), name, orNever(fresh.Expires))
	return err
}

func orNever(date string) string {
	if date == "" {
		return "no day"
	}
	return date
}

// isAddress reports whether a text is a URL that GitLab can use as a server's address.
func isAddress(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https") && u.RawQuery == "" && u.Fragment == "" && u.User == nil
}

// answers reports whether the server takes webhooks at an address: it answers a GET by
// saying that it takes POST only.
func answers(ctx context.Context, address string) bool {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return false
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	resp.Body.Close()
	return resp.StatusCode == http.StatusMethodNotAllowed
}
