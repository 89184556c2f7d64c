package github

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue/config"
)

// Survey is everything that doctor reads about a repository and the App on it. A
// part that could not be read has its error beside it.
type Survey struct {
	Repository string // "owner/name"
	Branch     string
	Skew       time.Duration // GitHub's clock minus ours, to the second
	Skewed     error         // why that is not known

	App             AppFacts
	AppErr          error
	Hook            HookFacts
	HookErr         error
	Deliveries      []DeliveryFacts // the newest at most 100 of the App, newest first
	DeliveriesErr   error
	Installation    InstallationFacts
	InstallationErr error

	Repo          RepoFacts
	RepoErr       error
	Protection    forge.Protection
	ProtectionErr error
	Classic       *ClassicFacts // nil: none, or not readable
	ClassicErr    error
	Rules         []RuleFacts
	BuildRules    []RuleFacts // of a branch as builds have them
	RulesErr      error
	MergeQueue    bool // GitHub's own is on for the branch, by classic protection or rulesets
	MergeQueueErr error
	Stacks        int // of GitHub's own, with open pull requests and this branch as base; of the newest 100
	StacksErr     error

	Actions    ActionsFacts
	ActionsErr error

	Config       []byte
	ConfigErr    error
	Workflows    []WorkflowFile
	WorkflowsErr error

	Modules    []byte // .gitmodules; nil: there is none
	Attributes []byte // .gitattributes, of the top folder
	PartsErr   error  // one of the two could not be read
}

// AppFacts say how the App is registered.
type AppFacts struct {
	Slug        string            `json:"slug"`
	HTMLURL     string            `json:"html_url"`
	Permissions map[string]string `json:"permissions"`
	Events      []string          `json:"events"`
	Owner       account           `json:"owner"`
}

// HookFacts say where the App's webhooks go.
type HookFacts struct {
	URL         string      `json:"url"`
	ContentType string      `json:"content_type"`
	InsecureSSL json.Number `json:"insecure_ssl"`
	Secret      string      `json:"secret"` // asterisks, or empty where there is none
}

// DeliveryFacts are one attempt to deliver a webhook.
type DeliveryFacts struct {
	GUID       string    `json:"guid"`
	At         time.Time `json:"delivered_at"`
	Event      string    `json:"event"`
	Status     string    `json:"status"`
	StatusCode int       `json:"status_code"`
}

// InstallationFacts are one installation of the App.
type InstallationFacts struct {
	ID          int64             `json:"id"`
	HTMLURL     string            `json:"html_url"`
	Account     account           `json:"account"`
	Permissions map[string]string `json:"permissions"`
	Events      []string          `json:"events"`
	SuspendedAt *time.Time        `json:"suspended_at"`
	Selection   string            `json:"repository_selection"` // "all" or "selected"
}

// RepoFacts are a repository's settings.
type RepoFacts struct {
	ID            int64  `json:"id"`
	FullName      string `json:"full_name"`
	DefaultBranch string `json:"default_branch"`
	Archived      bool   `json:"archived"`
	Disabled      bool   `json:"disabled"`
	Private       bool   `json:"private"`
	PushedAt      string `json:"pushed_at"`
}

// ClassicFacts are the parts of classic branch protection that we use and that
// Protection does not tell.
type ClassicFacts struct {
	Checks     []RequiredCheck
	Signatures bool
	Linear     bool
	Strict     bool
}

// RequiredCheck is a check that a commit must have passed.
type RequiredCheck struct {
	Context string
	App     int64 // only reports of this App count; 0: anybody's
}

// RuleFacts are one rule of a ruleset.
type RuleFacts struct {
	Type    string
	Ruleset string
	Bypass  string // may the App bypass it: "yes", "no" or "unknown"
	Checks  []RequiredCheck
}

// ActionsFacts say whether GitHub Actions runs the branches that we push.
type ActionsFacts struct {
	Off     bool      // for the repository
	Refused *RunFacts // the newest run of a push of builds, if it ended before it had a job; nil: it did not
}

// RunFacts are a run of a workflow.
type RunFacts struct {
	Path       string `json:"path"`
	Branch     string `json:"head_branch"`
	URL        string `json:"html_url"`
	Event      string `json:"event"`
	Status     string `json:"status"`
	Conclusion string `json:"conclusion"`
	ID         int64  `json:"id"`
}

// WorkflowFile is a workflow on the target branch.
type WorkflowFile struct {
	Path string
	Data []byte
}

// BuildBranch is the prefix of the branches of builds.
const BuildBranch = "submitqueue/"

// maxWorkflows bounds how many workflow files a survey reads.
const maxWorkflows = 100

// surveyor reads the parts of a Survey.
type surveyor struct{ *Forge }

// Survey reads all parts of a Survey. An empty branch is the repository's default
// one.
func (f *Forge) Survey(ctx context.Context, branch string) Survey {
	return surveyor{f}.survey(ctx, branch)
}

func (f surveyor) survey(ctx context.Context, branch string) Survey {
	s := Survey{Repository: f.o.Owner + "/" + f.o.Name, Branch: branch}
	s.Skew, s.Skewed = f.skew(ctx)
	asApp := func(path string, into any) error { return f.readAsApp(ctx, path, into) }
	s.AppErr = asApp("app", &s.App)
	if s.AppErr != nil {
		return s // without the App there is nothing to see
	}
	s.HookErr = asApp("app/hook/config", &s.Hook)
	s.DeliveriesErr = asApp("app/hook/deliveries?per_page=100", &s.Deliveries)
	s.InstallationErr = asApp(fmt.Sprintf("repos/%s/%s/installation", f.o.Owner, f.o.Name), &s.Installation)
	if s.InstallationErr != nil || s.Installation.SuspendedAt != nil {
		return s
	}
	s.RepoErr = f.read(ctx, "", &s.Repo)
	if s.RepoErr != nil {
		return s
	}
	if s.Branch == "" {
		s.Branch = s.Repo.DefaultBranch
	}
	s.Protection, s.ProtectionErr = f.Protection(ctx, s.Branch)
	s.Classic, s.ClassicErr = f.classicFacts(ctx, s.Branch)
	s.Rules, s.RulesErr = f.ruleFacts(ctx, s.Branch)
	if s.RulesErr == nil {
		s.BuildRules, s.RulesErr = f.ruleFacts(ctx, BuildBranch+s.Branch+"/doctor")
	}
	s.MergeQueue, s.MergeQueueErr = f.mergeQueue(ctx, s.Branch)
	s.Stacks, s.StacksErr = f.stacks(ctx, s.Branch)
	s.Actions, s.ActionsErr = f.actions(ctx)
	s.Config, s.ConfigErr = f.file(ctx, config.Path, s.Branch)
	s.Workflows, s.WorkflowsErr = f.workflows(ctx, s.Branch)
	for path, into := range map[string]*[]byte{".gitmodules": &s.Modules, ".gitattributes": &s.Attributes} {
		data, err := f.file(ctx, path, s.Branch)
		if *into = data; err != nil && !errors.Is(err, forge.ErrNotFound) {
			s.PartsErr = err
		}
	}
	return s
}

// skew compares clocks by the Date of an answer that needs no credentials.
func (f surveyor) skew(ctx context.Context) (time.Duration, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, f.base.String()+"meta", nil)
	if err != nil {
		return 0, err
	}
	sent := time.Now()
	resp, err := (&http.Client{Transport: f.o.Shared.http, Timeout: f.o.Timeout}).Do(req)
	if err != nil {
		return 0, failure(ctx, "reach GitHub", err)
	}
	resp.Body.Close()
	took := time.Since(sent)
	theirs, err := http.ParseTime(resp.Header.Get("Date"))
	if err != nil {
		return 0, errors.New("github: an answer without a date")
	}
	return theirs.Sub(sent.Add(took / 2)).Round(time.Second), nil
}

func (f surveyor) readAsApp(ctx context.Context, path string, into any) error {
	req, err := f.app.NewRequest(http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	if _, err = f.app.Do(ctx, req, into); err != nil {
		return failure(ctx, "read "+path, asApp(err))
	}
	return nil
}

// read reads an address below the repository's, or the repository itself.
func (f surveyor) read(ctx context.Context, path string, into any) error {
	req, err := f.client.NewRequest(http.MethodGet, strings.TrimSuffix(fmt.Sprintf("repos/%s/%s/%s", f.o.Owner, f.o.Name, path), "/"), nil)
	if err != nil {
		return err
	}
	if _, err = f.client.Do(ctx, req, into); err != nil {
		return failure(ctx, "read "+strings.TrimSuffix(f.o.Owner+"/"+f.o.Name+"/"+path, "/"), err)
	}
	return nil
}

func (f surveyor) classicFacts(ctx context.Context, branch string) (*ClassicFacts, error) {
	type enabled struct {
		Enabled bool `json:"enabled"`
	}
	var in struct {
		Checks *struct {
			Strict   bool     `json:"strict"`
			Contexts []string `json:"contexts"`
			Checks   []struct {
				Context string `json:"context"`
				App     *int64 `json:"app_id"`
			} `json:"checks"`
		} `json:"required_status_checks"`
		Signatures enabled `json:"required_signatures"`
		Linear     enabled `json:"required_linear_history"`
	}
	err := f.read(ctx, "branches/"+url.PathEscape(branch)+"/protection", &in)
	switch {
	case errors.Is(err, forge.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	}
	out := &ClassicFacts{Signatures: in.Signatures.Enabled, Linear: in.Linear.Enabled}
	if in.Checks == nil {
		return out, nil
	}
	out.Strict = in.Checks.Strict
	for _, c := range in.Checks.Checks {
		check := RequiredCheck{Context: c.Context}
		if c.App != nil && *c.App > 0 { // -1: anybody
			check.App = *c.App
		}
		out.Checks = append(out.Checks, check)
	}
	if len(in.Checks.Checks) == 0 { // servers before checks had Apps
		for _, c := range in.Checks.Contexts {
			out.Checks = append(out.Checks, RequiredCheck{Context: c})
		}
	}
	return out, nil
}

func (f surveyor) ruleFacts(ctx context.Context, branch string) ([]RuleFacts, error) {
	var all []RuleFacts
	may := map[string]string{}
	for page := 1; page != 0; {
		var list []struct {
			rule
			Parameters json.RawMessage `json:"parameters"`
		}
		resp, err := f.get(ctx, fmt.Sprintf("rules/branches/%s?per_page=100&page=%d", url.PathEscape(branch), page), &list)
		if err = failure(ctx, "read rules", err); errors.Is(err, forge.ErrNotFound) {
			return nil, nil // servers before rulesets
		} else if err != nil {
			return nil, err
		}
		for _, r := range list {
			id := r.Ruleset.String()
			if may[id] == "" {
				b, err := f.mayBypass(ctx, r.Ruleset)
				if err != nil {
					return nil, err
				}
				may[id] = map[bypass]string{bypassYes: "yes", bypassNo: "no", bypassUnknown: "unknown"}[b]
			}
			fact := RuleFacts{Type: r.Type, Ruleset: id, Bypass: may[id]}
			if r.Type == "required_status_checks" {
				fact.Checks = ruleChecks(r.Parameters)
			}
			all = append(all, fact)
		}
		page = resp.NextPage
	}
	return all, nil
}

func ruleChecks(parameters json.RawMessage) (list []RequiredCheck) {
	var in struct {
		Checks []struct {
			Context string `json:"context"`
			App     int64  `json:"integration_id"`
		} `json:"required_status_checks"`
	}
	if json.Unmarshal(parameters, &in) != nil {
		return nil // a newer form than this program knows
	}
	for _, c := range in.Checks {
		list = append(list, RequiredCheck{c.Context, c.App})
	}
	return list
}

// mergeQueue says whether GitHub's own merge queue is on for a branch. REST shows a
// merge queue of rulesets, but not of classic protection.
func (f surveyor) mergeQueue(ctx context.Context, branch string) (bool, error) {
	const query = `query MergeQueue($owner: String!, $name: String!, $branch: String!) {
  repository(owner: $owner, name: $name) { mergeQueue(branch: $branch) { id } }
}`
	var answer struct {
		Repository struct {
			Queue *struct{} `json:"mergeQueue"`
		} `json:"repository"`
	}
	err := f.graphQL(ctx, query, map[string]any{"owner": f.o.Owner, "name": f.o.Name, "branch": branch}, &answer)
	if err != nil && strings.Contains(err.Error(), "'mergeQueue' doesn't exist") {
		return false, nil // servers before merge queues
	}
	return answer.Repository.Queue != nil, failure(ctx, "look for GitHub's own merge queue", err)
}

// stacks counts GitHub's own stacks that are to land on a branch; a server before stacks
// has none.
func (f surveyor) stacks(ctx context.Context, branch string) (n int, err error) {
	var list []struct {
		Open bool `json:"open"`
		Base struct {
			Ref string `json:"ref"`
		} `json:"base"`
	}
	if err := f.read(ctx, "stacks?per_page=100", &list); err != nil && !errors.Is(err, forge.ErrNotFound) {
		return 0, err
	}
	for _, k := range list {
		if k.Open && k.Base.Ref == branch {
			n++
		}
	}
	return n, nil
}

// actions reads the repository's setting, and how the newest run of a build's branch
// that the App pushed has ended. A run that a policy refuses, or that has a wrong
// file, has no job.
func (f surveyor) actions(ctx context.Context) (out ActionsFacts, err error) {
	var permissions struct {
		Enabled bool `json:"enabled"`
	}
	if err := f.read(ctx, "actions/permissions", &permissions); err != nil && !errors.Is(err, forge.ErrNotFound) { // servers before Actions
		return out, err
	} else if err == nil {
		out.Off = !permissions.Enabled
	}
	bot, err := f.bot(ctx)
	if err != nil {
		return out, err
	}
	var list struct {
		Runs []RunFacts `json:"workflow_runs"`
	}
	if err := f.read(ctx, "actions/runs?event=push&per_page=20&actor="+url.QueryEscape(bot), &list); errors.Is(err, forge.ErrNotFound) {
		return out, nil
	} else if err != nil {
		return out, err
	}
	for _, run := range list.Runs {
		if !strings.HasPrefix(run.Branch, BuildBranch) || run.Status != "completed" {
			continue
		}
		if run.Conclusion == "startup_failure" {
			out.Refused = &run
		} else if run.Conclusion == "failure" {
			var jobs struct {
				Count int `json:"total_count"`
			}
			if err := f.read(ctx, fmt.Sprintf("actions/runs/%d/jobs?per_page=1", run.ID), &jobs); err != nil {
				return out, err
			}
			if jobs.Count == 0 {
				out.Refused = &run
			}
		}
		break
	}
	return out, nil
}

// file reads a file of a branch. ErrNotFound where there is none.
func (f surveyor) file(ctx context.Context, name, branch string) ([]byte, error) {
	var in struct {
		Content  string `json:"content"`
		Encoding string `json:"encoding"`
	}
	if err := f.read(ctx, "contents/"+name+"?ref="+url.QueryEscape(branch), &in); err != nil {
		return nil, err
	}
	if in.Encoding != "base64" {
		return nil, fmt.Errorf("github: %s has the encoding %q", name, in.Encoding)
	}
	return base64.StdEncoding.DecodeString(strings.ReplaceAll(in.Content, "\n", ""))
}

func (f surveyor) workflows(ctx context.Context, branch string) ([]WorkflowFile, error) {
	const folder = ".github/workflows"
	var list []struct {
		Type string `json:"type"`
		Name string `json:"name"`
	}
	err := f.read(ctx, "contents/"+folder+"?ref="+url.QueryEscape(branch), &list)
	switch {
	case errors.Is(err, forge.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	}
	var files []WorkflowFile
	for _, e := range list {
		if e.Type != "file" || !slices.Contains([]string{".yml", ".yaml"}, path.Ext(e.Name)) || len(files) == maxWorkflows {
			continue
		}
		data, err := f.file(ctx, folder+"/"+url.PathEscape(e.Name), branch)
		if err != nil {
			return nil, err
		}
		files = append(files, WorkflowFile{folder + "/" + e.Name, data})
	}
	return files, nil
}
