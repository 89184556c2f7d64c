package doctor

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/gitlab"
	"github.com/submitqueue/submitqueue/queue/config"
)

// trains blocks a project with merge trains.
func (r *report) trains(f GitLabFacts) {
	if f.Repo.Trains {
		r.add(Blocks, "trains", "merge trains are on: each push of the queue to "+f.Branch+" makes GitLab begin its train anew, and what a train merges makes the queue test anew; neither would get on", "switch \"Enable merge trains\" off: "+f.page("merge_requests"))
	}
}

// templates says which parts of the project's templates for messages the queue leaves out.
func (r *report) templates(f GitLabFacts, own config.Messages) {
	for _, t := range []struct {
		name, text string
		own        config.Message
	}{{"merge commits", f.Repo.MergeText, own.Merge}, {"squash commits", f.Repo.SquashText, own.Squash}} {
		if gaps := gitlab.TemplateGaps(t.text); len(gaps) > 0 && t.own == (config.Message{}) {
			r.add(Warns, "method", fmt.Sprintf("the project's template for %s has %s, which the queue leaves out", t.name, strings.Join(gaps, ", ")),
				"take it out there ("+f.page("merge_requests")+"), or write the message in queue.messages of "+config.Path)
		}
	}
}

// method compares how GitLab would merge with how the queue does.
func (r *report) method(f GitLabFacts) {
	c, said, err := config.ParseSaid(config.Path, f.Survey.Config)
	if err != nil || f.ConfigErr != nil {
		return
	}
	r.templates(f, c.Queue.Messages)
	bad := len(r.list)
	if !said.Landing {
		r.fine("method", "changes land as the project's settings say (%s, squash %s), since %s says nothing of it", methods[f.Repo.MergeMethod], strings.ReplaceAll(f.Repo.Squash, "_", " "), config.Path)
		return
	}
	page := f.page("merge_requests")
	keeps := c.Queue.Method
	if keeps == "" {
		keeps = config.MethodMerge
	}
	set := func(method string) string {
		return "set queue.method: " + method + " in " + config.Path + ", or change it for merges by hand: " + page
	}
	switch {
	case f.Repo.MergeMethod == "ff" && keeps == config.MethodMerge:
		r.add(Warns, "method", "the project merges by fast-forward, without merge commits, and the queue lands by merge commits", set("squash or rebase"))
	case f.Repo.MergeMethod == "ff" && keeps == config.MethodSemiLinear:
		r.add(Warns, "method", "the project merges by fast-forward, without merge commits, and the queue makes one for each merge request", set("squash or rebase"))
	case f.Repo.MergeMethod == "rebase_merge" && keeps != config.MethodSemiLinear:
		r.add(Warns, "method", fmt.Sprintf("the project has a semi-linear history, with a merge commit for each merge request, and the queue lands by %s", keeps), set("semi-linear"))
	}
	switch squashes := keeps == config.MethodSquash; {
	case f.Repo.Squash == "always" && !squashes:
		r.add(Warns, "method", fmt.Sprintf("the project requires that merge requests are squashed, and the queue lands by %s", keeps), set("squash"))
	case f.Repo.Squash == "never" && squashes:
		r.add(Warns, "method", "the project does not allow that merge requests are squashed, and the queue does so", set("merge"))
	}
	if len(r.list) == bad {
		r.fine("method", "changes land by %s; the project's own merges: %s, squash %s", keeps, methods[f.Repo.MergeMethod], strings.ReplaceAll(f.Repo.Squash, "_", " "))
	}
}

var methods = map[string]string{"merge": "merge commit", "rebase_merge": "merge commit with semi-linear history", "ff": "fast-forward", "": "not told"}

func (r *report) approvals(f GitLabFacts) {
	absent := func(err error) bool { return errors.Is(err, forge.ErrNotFound) || errors.Is(err, forge.ErrForbidden) }
	switch {
	case f.ApprovalsErr != nil && !absent(f.ApprovalsErr):
		r.unread("approvals", f.ApprovalsErr)
	case f.RulingsErr != nil && !absent(f.RulingsErr):
		r.unread("approvals", f.RulingsErr)
	case f.RulingsErr != nil:
		r.fine("approvals", "this tier has no approval rules; the queue counts approvals since the newest push, as requirements in %s ask for them", config.Path)
	case f.Approvals != nil && !f.Approvals.Reset:
		r.fine("approvals", "%d rules; GitLab keeps approvals when somebody pushes, the queue counts those since the newest push", f.Rulings)
	default:
		r.fine("approvals", "%d rules; GitLab takes approvals back when somebody pushes", f.Rulings)
	}
}

// pushrules looks for demands of GitLab on each pushed commit that the queue's commits may not
// meet.
func (r *report) pushrules(f GitLabFacts) {
	p := f.Push
	if f.PushErr != nil && !errors.Is(f.PushErr, forge.ErrNotFound) && !errors.Is(f.PushErr, forge.ErrForbidden) {
		r.unread("pushrules", f.PushErr)
	}
	if p == nil {
		return
	}
	bad := len(r.list)
	page := f.page("repository") + " (Push rules)"
	if p.Branch != "" {
		if re, err := regexp.Compile(p.Branch); err == nil && f.byForge() {
			for _, ref := range Refs(f.Prefix) {
				if !re.MatchString(ref + f.Branch) {
					r.add(Blocks, "pushrules", fmt.Sprintf("names of branches must look like %s, and builds are pushed to %s*", p.Branch, ref), "let the rule take them, or choose another --ref-prefix: "+page)
				}
			}
		}
	}
	for _, rule := range []struct {
		on   bool
		says string
	}{
		{p.Message != "", "messages of commits must look like " + p.Message + ", those of the queue's merges too (queue.message in " + config.Path + ")"},
		{p.MessageNot != "", "messages of commits must not look like " + p.MessageNot + ", those of the queue's merges neither"},
		{p.Author != "", "addresses of authors must look like " + p.Author + ", that of the queue too"},
		{p.MembersOnly, "authors of commits must be members of the instance, the queue's address too"},
		{p.SignedOff, "commits must be signed off, those of the queue too"},
	} {
		if rule.on {
			r.add(Warns, "pushrules", rule.says, "see that the queue's commits meet it, or take it off: "+page)
		}
	}
	if p.CommitterOnly {
		r.add(Warns, "pushrules", "the committer's address of each pushed commit must be one of the account's own, and that of the queue's commits may be another", "give the server one of them with --commit-email, or take the rule off: "+page)
	}
	if p.Signed {
		r.add(Warns, "pushrules", "commits must be signed", "give the server a key to sign with (--sign-key), or take the rule off: "+page)
	}
	if len(r.list) == bad {
		r.fine("pushrules", "the queue's commits meet them")
	}
}
