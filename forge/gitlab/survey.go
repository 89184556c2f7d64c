package gitlab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/xanzy/go-gitlab"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue/config"
)

// Survey is everything that doctor reads about a project, and about the account that
// serves it. A part that could not be read has its error beside it: forge.ErrNotFound or
// forge.ErrForbidden may be because of the tier.
type Survey struct {
	Site    string // address of the instance
	Project string // its full path: as it is by now, or as given if that is not known
	Given   string // as it was given
	Branch  string // the queue's; the project's own where none was named
	Prefix  string // of the refs that CI builds

	Version    string
	VersionErr error

	Account    AccountFacts
	AccountErr error
	Token      TokenFacts
	TokenErr   error
	Repo       ProjectFacts
	RepoErr    error
	Level      int // of access that the account has in the project: 30 developer, 40 maintainer, 50 owner
	LevelErr   error

	Tip       BranchFacts
	TipErr    error
	Guards    []GuardFacts
	GuardsErr error

	Hooks         []HookFacts // of the project, and of the groups above it where the account may see hooks
	HooksErr      error
	Deliveries    map[int][]DeliveryFacts // by hook, the newest first; only of hooks of the project
	DeliveriesErr error

	Approvals    *ApprovalFacts // nil: the tier has none, or they could not be read
	ApprovalsErr error
	Rulings      int // approval rules
	RulingsErr   error
	Push         *PushFacts // nil: there are none, or the tier has none
	PushErr      error

	Runners      []RunnerFacts
	RunnersErr   error
	Variables    []VariableFacts
	VariablesErr error
	Lint         LintFacts
	LintErr      error

	CI         []byte // its CI file; nil: it has none, or has it elsewhere
	Config     []byte
	ConfigErr  error
	Modules    []byte // .gitmodules; nil: there is none
	Attributes []byte // .gitattributes, of the top folder
	PartsErr   error  // one of the two could not be read
}

// AccountFacts describe the account of a token.
type AccountFacts struct {
	ID    int    `json:"id"`
	Name  string `json:"username"`
	Bot   bool   `json:"bot"`
	Admin bool   `json:"is_admin"`
}

// ProjectFacts are a project's settings.
type ProjectFacts struct {
	ID            int    `json:"id"`
	Path          string `json:"path_with_namespace"`
	WebURL        string `json:"web_url"`
	DefaultBranch string `json:"default_branch"`
	Archived      bool   `json:"archived"`
	Empty         bool   `json:"empty_repo"`
	MergeMethod   string `json:"merge_method"`  // "merge", "rebase_merge" or "ff"
	Squash        string `json:"squash_option"` // "never", "always", "default_on" or "default_off"
	MergeText     string `json:"merge_commit_template"`
	SquashText    string `json:"squash_commit_template"`
	MustSucceed   bool   `json:"only_allow_merge_if_pipeline_succeeds"`
	MustResolve   bool   `json:"only_allow_merge_if_all_discussions_are_resolved"`
	Trains        bool   `json:"merge_trains_enabled"`
	Builds        string `json:"builds_access_level"` // "disabled": it has no CI
	MergeRequests *bool  `json:"merge_requests_enabled"`
	VariablesFrom string `json:"ci_pipeline_variables_minimum_override_role"`
	CIPath        string `json:"ci_config_path"`
}

// BranchFacts say what we may do with a branch.
type BranchFacts struct {
	Protected bool `json:"protected"`
	CanPush   bool `json:"can_push"`
}

// ApprovalFacts say how a project counts approvals.
type ApprovalFacts struct {
	Required int  `json:"approvals_before_merge"`
	Reset    bool `json:"reset_approvals_on_push"`
}

// PushFacts are the rules of a project for each pushed commit.
type PushFacts struct {
	Message       string `json:"commit_message_regex"`
	MessageNot    string `json:"commit_message_negative_regex"`
	Branch        string `json:"branch_name_regex"`
	Author        string `json:"author_email_regex"`
	Files         string `json:"file_name_regex"`
	MembersOnly   bool   `json:"member_check"`
	CommitterOnly bool   `json:"commit_committer_check"`
	Signed        bool   `json:"reject_unsigned_commits"`
	SignedOff     bool   `json:"reject_non_dco_commits"`
}

// RunnerFacts are a runner that a project may use.
type RunnerFacts struct {
	Online bool `json:"online"`
	Paused bool `json:"paused"`
}

// VariableFacts are a variable of CI, without its value.
type VariableFacts struct {
	Key       string `json:"key"`
	Protected bool   `json:"protected"`
}

// LintFacts are GitLab's reading of the CI file of the default branch.
type LintFacts struct {
	Valid  bool     `json:"valid"`
	Errors []string `json:"errors"`
	Merged string   `json:"merged_yaml"`
	Jobs   []struct {
		Name string `json:"name"`
	} `json:"jobs"`
}

// Ready says whether there is a project to look at.
func (s Survey) Ready() bool { return s.TokenErr == nil && s.AccountErr == nil && s.RepoErr == nil }

// Survey reads the project and the account. An empty branch is the project's default one;
// prefix is the prefix of the refs that CI builds.
func (f *Forge) Survey(ctx context.Context, branch, prefix string) Survey {
	f.mu.Lock()
	s := Survey{Site: f.base.String(), Given: f.path, Project: f.path, Branch: branch, Prefix: prefix, Deliveries: map[int][]DeliveryFacts{}}
	f.mu.Unlock()
	s.Account, s.AccountErr = readOne[AccountFacts](ctx, f, "read which account the token is of", "user", nil)
	if s.AccountErr != nil {
		s.TokenErr = s.AccountErr
		return s
	}
	s.Token, s.TokenErr = f.TokenFacts(ctx)
	version, err := readOne[struct{ Version string }](ctx, f, "read the version of GitLab", "version", nil)
	s.Version, s.VersionErr = version.Version, err
	s.Repo, s.RepoErr = readOne[ProjectFacts](ctx, f, "find the project", "projects/"+gitlab.PathEscape(s.Given), nil)
	if s.RepoErr != nil {
		return s
	}
	s.Project, s.Branch = s.Repo.Path, cmp.Or(branch, s.Repo.DefaultBranch)
	f.mu.Lock()
	f.id, f.path = s.Repo.ID, s.Repo.Path
	f.mu.Unlock()
	f.surveyAccess(ctx, &s)
	f.surveyHooks(ctx, &s)
	f.surveyRules(ctx, &s)
	f.surveyCI(ctx, &s)
	f.surveyFiles(ctx, &s)
	return s
}

// at is an address below the project.
func (s *Survey) at(path string) string { return "projects/" + strconv.Itoa(s.Repo.ID) + "/" + path }

func (f *Forge) surveyAccess(ctx context.Context, s *Survey) {
	member, err := readOne[struct {
		Level int    `json:"access_level"`
		State string `json:"state"`
	}](ctx, f, "read the role of the token's account", s.at(fmt.Sprint("members/all/", s.Account.ID)), nil)
	s.Level, s.LevelErr = member.Level, err
	if errors.Is(err, forge.ErrNotFound) { // no member: an administrator
		s.Level, s.LevelErr = 0, nil
	}
	if member.State != "" && member.State != "active" {
		s.Level = 0
	}
	s.Tip, s.TipErr = readOne[BranchFacts](ctx, f, "read how branch "+s.Branch+" is protected", s.at("repository/branches/"+gitlab.PathEscape(s.Branch)), nil)
	s.Guards, s.GuardsErr = readAll[GuardFacts](ctx, f, "list the protected branches", s.at("protected_branches"))
}

func (f *Forge) surveyRules(ctx context.Context, s *Survey) {
	if a, err := readOne[*ApprovalFacts](ctx, f, "read how approvals count", s.at("approvals"), nil); err != nil {
		s.ApprovalsErr = err
	} else {
		s.Approvals = a
	}
	rules, err := readAll[struct{}](ctx, f, "list the approval rules", s.at("approval_rules"))
	s.Rulings, s.RulingsErr = len(rules), err
	s.Push, s.PushErr = readOne[*PushFacts](ctx, f, "read the push rules", s.at("push_rule"), nil)
}

func (f *Forge) surveyCI(ctx context.Context, s *Survey) {
	s.Runners, s.RunnersErr = readAll[RunnerFacts](ctx, f, "list the runners", s.at("runners"))
	s.Variables, s.VariablesErr = readAll[VariableFacts](ctx, f, "list which variables are protected", s.at("variables"))
	s.Lint, s.LintErr = readOne[LintFacts](ctx, f, "read what GitLab makes of the CI file", s.at("ci/lint"), url.Values{"include_jobs": {"true"}})
}

func (f *Forge) surveyFiles(ctx context.Context, s *Survey) {
	s.Config, s.ConfigErr = f.file(ctx, s, config.Path)
	if name := ciFile(s.Repo.CIPath); name != "" && s.LintErr == nil {
		s.CI, _ = f.file(ctx, s, name) // GitLab's own reading leaves its header out
	}
	for name, into := range map[string]*[]byte{".gitmodules": &s.Modules, ".gitattributes": &s.Attributes} {
		data, err := f.file(ctx, s, name)
		if err != nil && !errors.Is(err, forge.ErrNotFound) {
			s.PartsErr = err
		}
		*into = data
	}
}

// file reads a file at the tip of the queue's branch.
func (f *Forge) file(ctx context.Context, s *Survey, name string) ([]byte, error) {
	o := &gitlab.GetRawFileOptions{Ref: &s.Branch}
	data, _, err := f.client.RepositoryFiles.GetRawFile(s.Repo.ID, name, o, gitlab.WithContext(ctx))
	return data, failure(ctx, "read "+name, err)
}

// readOne reads an address for which the library has no type, or an incomplete one.
func readOne[T any](ctx context.Context, f *Forge, doing, path string, query url.Values) (out T, err error) {
	err = f.ask(ctx, doing, http.MethodGet, path+encoded(query), nil, &out)
	return out, err
}

// mostPages bounds the lists of a survey.
const mostPages = 20

// readAll reads a list of as many as mostPages pages.
func readAll[T any](ctx context.Context, f *Forge, doing, path string) (list []T, err error) {
	for page := 1; page <= mostPages; page++ {
		some, err := readOne[[]T](ctx, f, doing, path, url.Values{"per_page": {strconv.Itoa(hundred)}, "page": {strconv.Itoa(page)}})
		if err != nil {
			return nil, err
		}
		if list = append(list, some...); len(some) < hundred {
			break
		}
	}
	return list, nil
}

func encoded(query url.Values) string {
	if len(query) == 0 {
		return ""
	}
	return "?" + query.Encode()
}

// ask makes one request of the REST interface. It sends the request once only.
func (f *Forge) ask(ctx context.Context, doing, method, path string, body, out any) error {
	path, query, _ := strings.Cut(path, "?")
	with := []gitlab.RequestOptionFunc{gitlab.WithContext(ctx)}
	req, err := f.client.NewRequest(method, path, body, with)
	if err != nil {
		return fmt.Errorf("gitlab: %s: %w", doing, err)
	}
	if query != "" {
		req.URL.RawQuery = query
	}
	_, err = f.client.Do(req, out)
	return failure(ctx, doing, err)
}

// stamped is a moment that may be left out.
func stamped(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}
