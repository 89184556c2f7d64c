package doctor

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/github"
	"github.com/submitqueue/submitqueue/forge/gitlab"
	"github.com/submitqueue/submitqueue/queue/config"
)

// GitLabFacts are all facts that are judged of a project on GitLab.
type GitLabFacts struct {
	gitlab.Survey
	Now     time.Time
	Public  string // URL under which GitLab should reach the server; empty: not known
	Unheard error  // why the webhook's address does not answer as the server does; nil: it does, or it was not asked
	Redis   Redis
}

// gitlabPage is the page that explains the subjects of GitLab. The subjects of both forges
// are explained where GitHub's are.
const gitlabPage = "troubleshoot#doctor-gitlab-"

// JudgeGitLab returns what was found of a project on GitLab, the worst first, by subject.
func JudgeGitLab(f GitLabFacts) []Finding {
	r := report{page: gitlabPage}
	if r.token(f) && r.project(f) {
		r.member(f)
		r.config(f.common())
		r.target(f)
		r.refs(f)
		r.webhook(f)
		r.sent(f)
		r.trains(f)
		r.method(f)
		r.approvals(f)
		r.pushrules(f)
		r.pipelines(f)
	}
	r.redis(f.common())
	return r.sorted(f.Public)
}

// common are the facts that are judged in the same way on all forges.
func (f GitLabFacts) common() Facts {
	return Facts{Survey: github.Survey{Repository: f.Project, Branch: f.Branch, Config: f.Config, ConfigErr: f.ConfigErr, Modules: f.Modules, Attributes: f.Attributes, PartsErr: f.PartsErr}, Redis: f.Redis}
}

// rules returns the configuration; ok is false where it cannot be read.
func (f GitLabFacts) rules() (c *config.Config, ok bool) {
	c, err := config.Parse(config.Path, f.Survey.Config)
	return c, err == nil && f.ConfigErr == nil
}

// byForge reports whether GitLab's CI runs a step.
func (f GitLabFacts) byForge() bool {
	c, ok := f.rules()
	return ok && slices.ContainsFunc(c.Steps, config.Step.ByForge)
}

// page is an address of the project's settings.
func (f GitLabFacts) page(path string) string {
	if f.Repo.WebURL == "" {
		return "Settings"
	}
	return strings.TrimSuffix(f.Repo.WebURL, "/") + "/-/settings/" + path
}

// setup is the command that repairs what it can.
func (f GitLabFacts) setup(flags string) string {
	return strings.TrimSpace("submitqueue setup gitlab " + f.Project + " " + flags)
}

const (
	expiryWarns  = 14 * 24 * time.Hour
	rotateAdvice = "submitqueue setup gitlab PROJECT --rotate-token gets another one of the same account and writes it to the token's file; restart the server then. A new token made by hand would be of a new account, to which the notes and rights of this one do not belong"
)

// token judges the token, and reports whether there is more to look at.
func (r *report) token(f GitLabFacts) bool {
	bad := len(r.list)
	switch {
	case errors.Is(f.AccountErr, forge.ErrForbidden):
		r.add(Blocks, "token", "GitLab does not take the token: "+f.AccountErr.Error(), "make one with the scope api, or rotate the one that has expired, and write it to the file of --gitlab-token-file")
		return false
	case f.AccountErr != nil:
		r.add(Blocks, "token", f.Site+" does not answer: "+f.AccountErr.Error(), "check the network and --gitlab-url, and run this again")
		return false
	case f.TokenErr != nil:
		r.unread("token", f.TokenErr)
	case !f.Token.Unknown:
		if !slices.Contains(f.Token.Scopes, "api") {
			r.add(Blocks, "token", fmt.Sprintf("the token has the scopes %s, and the queue writes notes, reads webhooks and pushes", strings.Join(f.Token.Scopes, ", ")), "make a token with the scope api")
		}
		for _, scope := range []string{"sudo", "admin_mode"} {
			if slices.Contains(f.Token.Scopes, scope) {
				r.add(Warns, "token", "the token has the scope "+scope+": a person who reads its file owns the instance", "make a token with the scope api alone")
			}
		}
		r.expiry(f)
	}
	if f.Account.Admin {
		r.add(Warns, "token", f.Account.Name+" is an administrator of the instance: a person who reads the token's file owns it", "make an account for the queue that is a maintainer of its projects, and nothing more")
	}
	if len(r.list) == bad {
		until := "it does not expire"
		switch at := f.Token.Ends(); {
		case f.Token.Unknown:
			until = "this version of GitLab does not say when it expires"
		case !at.IsZero():
			until = fmt.Sprintf("it expires on %s, in %s", at.Format(time.DateOnly), age(at.Sub(f.Now)))
		}
		r.fine("token", "of %s (%s); %s", f.Account.Name, kinds[f.Account.Kind()], until)
	}
	return true
}

var kinds = map[gitlab.TokenKind]string{
	gitlab.TokenProject: "an account that GitLab has made for a project's token",
	gitlab.TokenGroup:   "an account that GitLab has made for a group's token",
	gitlab.TokenUser:    "an account of its own",
}

func (r *report) expiry(f GitLabFacts) {
	at := f.Token.Ends()
	if at.IsZero() {
		return
	}
	switch left := at.Sub(f.Now); {
	case left <= 0:
		r.add(Blocks, "token", "the token has expired on "+at.Format(time.DateOnly), "rotate it on the page on which it was made, and write the new one to the file of --gitlab-token-file")
	case left < expiryWarns:
		r.add(Warns, "token", fmt.Sprintf("the token expires on %s, in %s, and nothing lands from then on", at.Format(time.DateOnly), age(left)), strings.Replace(rotateAdvice, "PROJECT", f.Project, 1))
	}
}

// project judges the project, and reports whether there is a branch to look at.
func (r *report) project(f GitLabFacts) bool {
	switch {
	case errors.Is(f.RepoErr, forge.ErrNotFound), errors.Is(f.RepoErr, forge.ErrForbidden):
		r.add(Blocks, "project", fmt.Sprintf("%s does not see %s", f.Account.Name, f.Given), "check the path, and make the account a maintainer of the project")
		return false
	case f.RepoErr != nil:
		r.add(Blocks, "project", "it cannot be read: "+f.RepoErr.Error(), "run this again")
		return false
	case f.Repo.Archived:
		r.add(Blocks, "project", f.Project+" is archived: nothing can be pushed", "unarchive it: "+strings.TrimSuffix(f.Repo.WebURL, "/")+"/edit")
		return false
	case f.Repo.Empty || f.Branch == "":
		r.add(Blocks, "project", f.Project+" has no commit, and so no branch to land on", "push one")
		return false
	}
	if !strings.EqualFold(f.Project, f.Given) {
		r.add(Warns, "project", f.Given+" is called "+f.Project+" now", "give the server the new path: --repo "+f.Project)
	}
	if f.Repo.MergeRequests != nil && !*f.Repo.MergeRequests {
		r.add(Blocks, "project", "merge requests are switched off", "switch them on: "+strings.TrimSuffix(f.Repo.WebURL, "/")+"/edit")
	}
	if errors.Is(f.TipErr, forge.ErrNotFound) {
		r.add(Blocks, "project", "there is no branch "+f.Branch, "push it, or name another one with --branch")
		return false
	}
	version := f.Version
	if f.VersionErr != nil || version == "" {
		version = "of an unknown version"
	}
	tier := "approval rules and push rules are of a higher tier, or may not be read"
	if f.RulingsErr == nil {
		tier = "a tier with approval rules"
	}
	r.fine("project", "%s, on GitLab %s; %s", f.Project, version, tier)
	return true
}
