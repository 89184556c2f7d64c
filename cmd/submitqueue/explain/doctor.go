package explain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/cmd/submitqueue/doctor"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/githubapp"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/gitlabaccount"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"
	"github.com/submitqueue/submitqueue/forge/github"
	"github.com/submitqueue/submitqueue/forge/gitlab"
	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue/redisstore"
)

// Doctor looks for what is wrong with a repository's set-up.
type Doctor struct {
	githubapp.Flags
	GitLab gitlabaccount.Flags `embed:"" prefix:"gitlab-"`

	Repo   string `arg:"" placeholder:"OWNER/REPO" help:"Repository on GitHub, or GROUP/NAME of a project on GitLab."`
	Forge  string `enum:"github,gitlab" default:"github" env:"SUBMITQUEUE_FORGE" help:"Where it is: github or gitlab."`
	Prefix string `name:"ref-prefix" default:"submitqueue" env:"SUBMITQUEUE_REF_PREFIX" help:"First part of the names of the refs that GitLab's CI builds."`
	Branch string `env:"SUBMITQUEUE_BRANCH" help:"Target branch (default: the repository's own)." placeholder:"NAME"`
	Public string `name:"url" env:"SUBMITQUEUE_URL" help:"URL under which the forge reaches the server." placeholder:"URL"`
	Data   string `default:"${data}" env:"SUBMITQUEUE_DATA" help:"Data folder of the server." type:"path"`
	Redis  string `default:"auto" env:"REDIS_URL" help:"Redis of the server, as given to serve."`
	Trial  bool   `name:"trial-push" help:"Push branches without content and take them away again, to learn how many GitHub takes at once."`
	JSON   bool   `help:"Print JSON."`

	out io.Writer // nil: standard output
}

// doctorReport is what doctor prints as JSON.
type doctorReport struct {
	Repository string           `json:"repository"`
	Branch     string           `json:"branch"`
	Blocked    bool             `json:"blocked"`
	Findings   []doctor.Finding `json:"findings"`
}

// Run implements the command. Its exit status is 1 where something blocks.
func (c *Doctor) Run(ctx context.Context) error {
	if c.out == nil {
		c.out = os.Stdout
	}
	if c.Forge == "gitlab" {
		return c.gitlab(ctx)
	}
	owner, name, err := githubapp.OwnerAndName(c.Repo)
	if err != nil {
		return err
	}
	a, err := c.Load(c.Data)
	if errors.Is(err, githubapp.ErrNone) {
		return fmt.Errorf("%w: start the server, submitqueue serve, which makes one on its set-up page; or give --app-id, --app-key and --webhook-secret", err)
	} else if err != nil {
		return err
	}
	f, err := github.New(github.Options{BaseURL: a.API, AppID: a.ID, PrivateKey: []byte(a.Key), Owner: owner, Name: name})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	facts := doctor.Facts{Survey: f.Survey(ctx, c.Branch), Now: time.Now(), Public: c.Public, Redis: c.redis(ctx)}
	if facts.HookErr == nil && facts.Hook.URL != "" {
		facts.Unheard = unheard(ctx, facts.Hook.URL)
	}
	if c.Trial && facts.RepoErr == nil && facts.InstallationErr == nil && facts.AppErr == nil {
		facts.Trial = trial(ctx, f, facts.Branch)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return c.report(doctorReport{Repository: facts.Repository, Branch: facts.Branch, Findings: doctor.Judge(facts)})
}

// gitlab looks at a project on GitLab.
func (c *Doctor) gitlab(ctx context.Context) error {
	token, err := c.GitLab.ReadToken(c.Data)
	if err != nil {
		return err
	}
	f, err := gitlab.New(gitlab.Options{BaseURL: c.GitLab.Site(), Token: token, Project: gitlabaccount.ProjectPath(c.Repo)})
	if err != nil {
		return print.UsageError(err.Error())
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	facts := doctor.GitLabFacts{Survey: f.Survey(ctx, c.Branch, c.Prefix), Now: time.Now(), Public: strings.TrimSuffix(c.Public, "/"), Redis: c.redis(ctx)}
	if c.Public != "" {
		facts.Unheard = unheard(ctx, facts.Public+gitlab.HookPath)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return c.report(doctorReport{Repository: facts.Project, Branch: facts.Branch, Findings: doctor.JudgeGitLab(facts)})
}

// report prints what was found.
func (c *Doctor) report(out doctorReport) (err error) {
	out.Blocked = doctor.Blocked(out.Findings)
	if c.JSON {
		err = print.JSON(c.out, out)
	} else {
		title := out.Repository
		if out.Branch != "" {
			title += ", branch " + out.Branch
		}
		err = doctor.Write(c.out, title, out.Findings)
	}
	if err == nil && out.Blocked {
		return print.ExitCode(1)
	}
	return err
}

// trial pushes branches as builds have them, under names of their own.
func trial(ctx context.Context, f *github.Forge, branch string) *doctor.Trial {
	t := &doctor.Trial{Refs: mirror.TrialRefs}
	remote, err := f.Remote(ctx)
	if err != nil {
		t.Err = err
		return t
	}
	t.Most, t.Err = mirror.TrialPush(ctx, remote, fmt.Sprintf("%s%s/trial-%d/", github.BuildBranch, branch, time.Now().UnixMilli()))
	return t
}

// redis asks the Redis that the server would use, without starting one.
func (c *Doctor) redis(ctx context.Context) doctor.Redis {
	if c.Redis == "" || c.Redis == "auto" {
		for _, program := range []string{"redis-server", "valkey-server"} {
			if _, err := exec.LookPath(program); err == nil {
				return doctor.Redis{Asked: true, Kind: "the private " + program}
			}
		}
		return doctor.Redis{Asked: true, Memory: true}
	}
	s, closeStore, kind, err := redisstore.Auto(ctx, redisstore.AutoOptions{URL: c.Redis})
	if err != nil {
		return doctor.Redis{Asked: true, Err: err}
	}
	defer closeStore()
	return doctor.Redis{Asked: true, Kind: kind, Warns: s.Durability(ctx)}
}

// unheard asks the webhook's address in a way that changes nothing: the server
// takes POST only, and says so.
func unheard(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusMethodNotAllowed {
		return fmt.Errorf("it answers %s", resp.Status)
	}
	return nil
}
