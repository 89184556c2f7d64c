package explain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
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

	Repo   []string `arg:"" optional:"" env:"SUBMITQUEUE_REPO" placeholder:"OWNER/REPO" help:"Repository on GitHub, or GROUP/NAME of a project on GitLab; several are looked at one after the other. With several forges FORGE:OWNER/REPO."`
	Forge  []string `enum:"github,gitlab,local" default:"github" env:"SUBMITQUEUE_FORGE" help:"Where they are: github or gitlab. Once per forge, as given to serve." placeholder:"FORGE"`
	Prefix string   `name:"ref-prefix" default:"submitqueue" env:"SUBMITQUEUE_REF_PREFIX" help:"First part of the names of the refs that GitLab's CI builds."`
	Branch string   `env:"SUBMITQUEUE_BRANCH" help:"Target branch (default: the repository's own)." placeholder:"NAME"`
	Public string   `name:"url" env:"SUBMITQUEUE_URL" help:"URL under which the forge reaches the server." placeholder:"URL"`
	Data   string   `default:"${data}" env:"SUBMITQUEUE_DATA" help:"Data folder of the server." type:"path"`
	Redis  string   `default:"auto" env:"REDIS_URL" help:"Redis of the server, as given to serve."`
	Trial  bool     `name:"trial-push" help:"Push branches without content and take them away again, to learn how many GitHub takes at once."`
	JSON   bool     `help:"Print JSON."`

	out io.Writer // nil: standard output
}

// doctorReport is what doctor prints as JSON.
type doctorReport struct {
	Repository string           `json:"repository"`
	Branch     string           `json:"branch"`
	Blocked    bool             `json:"blocked"`
	Findings   []doctor.Finding `json:"findings"`
}

// looked is a repository to look at, and its forge.
type looked struct{ forge, name string }

// repos returns the repositories to look at.
func (c *Doctor) repos() (out []looked, err error) {
	among := slices.Compact(slices.Sorted(slices.Values(c.Forge)))
	if slices.Contains(among, "local") {
		return nil, print.UsageError("doctor looks at GitHub and GitLab: a plain repository has no settings but its .submitqueue.yml, which submitqueue validate checks; say --forge github or --forge gitlab for another one")
	}
	for _, repo := range strings.FieldsFunc(strings.Join(c.Repo, ","), func(r rune) bool { return r == ',' }) { // the environment variable has all of them in one value
		of, name, said := strings.Cut(repo, ":")
		switch {
		case said && (of == "github" || of == "gitlab"):
			out = append(out, looked{of, name})
		case len(among) > 1:
			return nil, print.UsageError(fmt.Sprintf("%s does not say of which forge it is: write %s:%s", repo, among[0], repo))
		default:
			out = append(out, looked{among[0], repo})
		}
	}
	if len(out) == 0 && slices.Contains(among, "gitlab") {
		chosen, err := gitlabaccount.ReadChosen(c.Data)
		if err != nil {
			return nil, err
		}
		c.GitLab.URL = cmp.Or(c.GitLab.URL, chosen.URL)
		for _, path := range chosen.Projects {
			out = append(out, looked{"gitlab", path})
		}
	}
	if len(out) == 0 {
		return nil, print.UsageError("say which repository to look at: submitqueue doctor OWNER/REPO, or submitqueue doctor --forge gitlab GROUP/NAME")
	}
	return out, nil
}

// Run implements the command. Its exit status is 1 where something blocks, and where a
// repository could not be looked at.
func (c *Doctor) Run(ctx context.Context) error {
	if c.out == nil {
		c.out = os.Stdout
	}
	repos, err := c.repos()
	if err != nil {
		return err
	}
	var all []doctorReport
	var failed []error
	for i, r := range repos {
		if i > 0 && !c.JSON {
			fmt.Fprintln(c.out)
		}
		look := c.github
		if r.forge == "gitlab" {
			look = c.gitlab
		}
		report, err := look(ctx, r.name)
		if err != nil && len(repos) > 1 {
			err = fmt.Errorf("%s: %w", r.name, err)
		}
		if err == nil {
			report.Blocked = doctor.Blocked(report.Findings)
			all = append(all, report)
			err = c.show(report)
		}
		failed = append(failed, err)
	}
	if c.JSON && len(all) == 1 && len(repos) == 1 {
		failed = append(failed, print.JSON(c.out, all[0]))
	} else if c.JSON && len(repos) > 1 {
		failed = append(failed, print.JSON(c.out, all))
	}
	if err := errors.Join(failed...); err != nil {
		return err
	}
	if slices.ContainsFunc(all, func(r doctorReport) bool { return r.Blocked }) {
		return print.ExitCode(1)
	}
	return nil
}

// github looks at a repository on GitHub.
func (c *Doctor) github(ctx context.Context, repo string) (out doctorReport, err error) {
	owner, name, err := githubapp.OwnerAndName(repo)
	if err != nil {
		return out, err
	}
	a, err := c.Load(c.Data)
	if errors.Is(err, githubapp.ErrNone) {
		return out, fmt.Errorf("%w: start the server, submitqueue serve, which makes one on its set-up page; or give --app-id, --app-key and --webhook-secret", err)
	} else if err != nil {
		return out, err
	}
	f, err := github.New(github.Options{BaseURL: a.API, AppID: a.ID, PrivateKey: []byte(a.Key), Owner: owner, Name: name})
	if err != nil {
		return out, err
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
	return doctorReport{Repository: facts.Repository, Branch: facts.Branch, Findings: doctor.Judge(facts)}, ctx.Err()
}

// gitlab looks at a project on GitLab.
func (c *Doctor) gitlab(ctx context.Context, repo string) (out doctorReport, err error) {
	token, err := c.GitLab.ReadToken(c.Data)
	if err != nil {
		return out, err
	}
	f, err := gitlab.New(gitlab.Options{BaseURL: c.GitLab.Site(), Token: token, Project: gitlabaccount.ProjectPath(repo)})
	if err != nil {
		return out, print.UsageError(err.Error())
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	facts := doctor.GitLabFacts{Survey: f.Survey(ctx, c.Branch, c.Prefix), Now: time.Now(), Public: strings.TrimSuffix(c.Public, "/"), Redis: c.redis(ctx)}
	if c.Public != "" {
		facts.Unheard = unheard(ctx, facts.Public+gitlab.HookPath)
	}
	return doctorReport{Repository: facts.Project, Branch: facts.Branch, Findings: doctor.JudgeGitLab(facts)}, ctx.Err()
}

// show prints what was found, for people.
func (c *Doctor) show(r doctorReport) error {
	if c.JSON {
		return nil // JSON is printed for all repositories at the end
	}
	title := r.Repository
	if r.Branch != "" {
		title += ", branch " + r.Branch
	}
	return doctor.Write(c.out, title, r.Findings)
}

// trial pushes branches as builds do, under separate names.
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

// unheard sends the webhook's address a GET, which changes nothing: the server answers
// that it takes POST only.
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
