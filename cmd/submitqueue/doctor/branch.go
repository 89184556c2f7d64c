package doctor

import (
	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"

	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/github"
	"github.com/submitqueue/submitqueue/queue/config"
)

// repository judges the repository, and reports whether there is a branch to look at.
func (r *report) repository(f Facts) bool {
	switch {
	case errors.Is(f.RepoErr, forge.ErrNotFound), errors.Is(f.RepoErr, forge.ErrForbidden):
		r.add(Blocks, "repository", "the App's installation does not reach "+f.Repository, "choose the repository on the installation: "+f.Installation.HTMLURL)
		return false
	case f.RepoErr != nil:
		r.add(Blocks, "repository", "it cannot be read: "+f.RepoErr.Error(), "run this again")
		return false
	case f.Repo.Archived || f.Repo.Disabled:
		r.add(Blocks, "repository", f.Repository+" is archived or disabled: nothing can be pushed", "unarchive it in the repository's settings")
		return false
	}
	if !strings.EqualFold(f.Repo.FullName, f.Repository) {
		r.add(Warns, "repository", f.Repository+" is called "+f.Repo.FullName+" now", "give the server the new name")
	}
	if errors.Is(f.ProtectionErr, forge.ErrNotFound) {
		r.add(Blocks, "branch", "there is no branch "+f.Branch, "push it, or name another one with --branch")
		return false
	}
	if f.Branch != f.Repo.DefaultBranch {
		r.add(Warns, "branch", fmt.Sprintf("the queue's branch is %s, and the repository's default is %s: GitHub calls pull requests merged only when they are pushed to the default branch", f.Branch, f.Repo.DefaultBranch),
			"make "+f.Branch+" the default branch, or take pull requests that end as closed, with a note")
	}
	return true
}

func (r *report) config(f Facts) {
	switch {
	case errors.Is(f.ConfigErr, forge.ErrNotFound):
		r.add(Blocks, "config", fmt.Sprintf("%s has no %s, so the repository has no queue", f.Branch, config.Path), "in a clone: submitqueue init, then commit and push it to "+f.Branch)
		return
	case f.ConfigErr != nil:
		r.unread("config", f.ConfigErr)
		return
	}
	c, err := config.Parse(config.Path, f.Config)
	if err != nil {
		r.add(Blocks, "config", "the server refuses it: "+strings.Join(strings.Split(err.Error(), "\n"), "; "), "put it right; submitqueue validate checks it")
		return
	}
	note := ""
	if n := len(c.Analysis.Ignore); n > 0 {
		note = fmt.Sprintf("; a change to what %s of ignore %s runs no step: whether a step reads such a file, submitqueue audit inputs says in a clone",
			print.Counted(n, "glob"), map[bool]string{true: "names", false: "name"}[n == 1])
	}
	r.fine("config", "%s is valid: %s%s", config.Path, print.Counted(len(c.Steps), "step"), note)
	if f.PartsErr != nil {
		r.unread("checkout", f.PartsErr)
	}
	for _, line := range Unfetched(c, len(f.Modules) > 0, KeepsLFS(string(f.Attributes))) {
		says, fix, _ := strings.Cut(line, "; ")
		r.add(Warns, "checkout", says, fix)
	}
}

// stacks says what becomes of GitHub's native stacks where GitHub will not show a landed
// pull request as merged: it restacks only the pull requests above a merged one.
func (r *report) stacks(f Facts) {
	c, err := config.Parse(config.Path, f.Config)
	switch {
	case f.StacksErr != nil:
		r.unread("branch", f.StacksErr)
	case f.Stacks == 0 || err != nil:
	case c.Queue.Head == config.HeadLeave && !c.Queue.Method.Keeps():
		r.add(Warns, "branch", fmt.Sprintf("there are stacks of GitHub to land on %s (%d), and with head: leave GitHub shows none of their pull requests as merged: those above wait until their author restacks or unstacks them", f.Branch, f.Stacks),
			"set queue.head to move in "+config.Path+", or have changes land by merge")
	}
}

// method is how changes land, as far as the configuration can be read.
func method(f Facts) string {
	c, err := config.Parse(config.Path, f.Config)
	if err != nil {
		return "merge"
	}
	return fmt.Sprint(c.Queue.Method)
}

func (r *report) branch(f Facts) {
	bad := len(r.list)
	switch {
	case f.ProtectionErr != nil:
		r.unread("branch", f.ProtectionErr)
	case !f.Protection.MayPush:
		r.add(Blocks, "branch", fmt.Sprintf("the App may not push to %s: %s", f.Branch, f.Protection.Rule), bypassFix(f))
	case f.Protection.Rule != "":
		r.add(Warns, "branch", f.Protection.Rule, "give the App administration: read, or see for yourself that it may push to "+f.Branch)
	}
	if f.ClassicErr != nil && !errors.Is(f.ClassicErr, forge.ErrForbidden) {
		r.unread("branch", f.ClassicErr)
	}
	if f.RulesErr != nil {
		r.unread("branch", f.RulesErr)
	}
	switch {
	case errors.Is(f.MergeQueueErr, forge.ErrForbidden):
		r.add(Warns, "branch", fmt.Sprintf("whether GitHub's own merge queue is on for %s may not be read, unless a ruleset says so", f.Branch),
			"give the App merge_queues: read in "+appSettings(f)+"/permissions and accept it on the installation, or see for yourself that \"Require merge queue\" is off: Settings > Branches")
	case f.MergeQueueErr != nil:
		r.unread("branch", f.MergeQueueErr)
	}
	r.stacks(f)
	rules := slices.Clone(f.Rules)
	if f.MergeQueue && !slices.ContainsFunc(rules, func(rule github.RuleFacts) bool { return rule.Type == "merge_queue" }) {
		rules = append(rules, github.RuleFacts{Type: "merge_queue"})
	}
	if c := f.Classic; c != nil {
		if c.Signatures {
			rules = append(rules, github.RuleFacts{Type: "required_signatures"})
		}
		if c.Linear {
			rules = append(rules, github.RuleFacts{Type: "required_linear_history"})
		}
	}
	for _, rule := range rules {
		r.rule(f, rule)
	}
	r.builds(f)
	if len(r.list) == bad {
		r.fine("branch", "the App may push to %s", f.Branch)
	}
}

func bypassFix(f Facts) string {
	if len(f.Rules) > 0 && f.Classic == nil {
		return fmt.Sprintf("put the App %s on the bypass list of the ruleset: Settings > Rules > Rulesets > Bypass list, \"Always allow\"", f.App.Slug)
	}
	return fmt.Sprintf("in the protection of %s, allow the App %s to push and to bypass required pull requests: Settings > Branches", f.Branch, f.App.Slug)
}

// unmet are rules with demands on the pushed commit that the queue may not meet. The
// rules that refuse all pushes are in Protection.
var unmet = map[string]string{
	"required_deployments":        "deployments must have succeeded on a commit before it is pushed, and the queue deploys nothing",
	"workflows":                   "a workflow of the organization must have passed in a pull request, and the queue pushes commits",
	"code_scanning":               "code scanning must have passed on a commit before it is pushed: let it run on push to " + github.BuildBranch + "**",
	"code_quality":                "code quality must have passed on a commit before it is pushed: let it run on push to " + github.BuildBranch + "**",
	"license_compliance_scanning": "the licenses of new dependencies must be allowed before a commit is pushed, and the queue looks at none",
	"commit_message_pattern":      "messages of commits must have a form, those of the queue's merges too",
	"commit_author_email_pattern": "authors' addresses must have a form, that of the App too",
	"committer_email_pattern":     "committers' addresses must have a form, that of the App too",
}

// unjudged judges a rule that the queue cannot judge. Where the App may bypass it,
// every pull request waits; else GitHub judges the pushed commits.
func (r *report) unjudged(rule github.RuleFacts) {
	const apart = "put the rule into a ruleset of its own, without the App on its bypass list, so that GitHub judges what is pushed, or take it off the branch"
	why, ok := unmet[rule.Type]
	switch {
	case rule.Bypass == "yes":
		r.add(Blocks, "branch", fmt.Sprintf("every pull request waits for the rule %s, which the queue cannot judge and the App may bypass", rule.Type), apart)
	case rule.Bypass == "unknown":
		r.add(Blocks, "branch", fmt.Sprintf("every pull request waits for the rule %s, which the queue cannot judge: whether the App may bypass it could not be read", rule.Type), apart)
	case ok:
		r.add(Warns, "branch", why, "meet it on what is pushed, or take the rule off the branch; once the App may bypass it, pull requests wait, since the queue cannot judge it")
	default:
		r.add(Warns, "branch", fmt.Sprintf("the queue does not know rules of type %s: GitHub judges what is pushed by it", rule.Type), "see that commits of the queue meet it, or take a newer version of this program")
	}
}

func (r *report) rule(f Facts, rule github.RuleFacts) {
	if github.JudgingOf(rule.Type) == github.RuleRefused {
		r.unjudged(rule)
		return
	}
	if rule.Bypass == "yes" {
		return
	}
	fix := fmt.Sprintf("put the App %s on the bypass list of the ruleset: Settings > Rules > Rulesets", f.App.Slug)
	if rule.Ruleset == "" {
		fix = "use a ruleset for it, with the App on its bypass list, in place of the branch protection"
	}
	level := Blocks
	if rule.Bypass == "unknown" {
		level = Warns // as far as can be seen from here
	}
	switch rule.Type {
	case "required_signatures":
		r.add(level, "branch", f.Branch+" takes signed commits only", "give the server a key to sign with, or "+fix)
	case "required_linear_history":
		if m := method(f); m == "merge" || m == "semi-linear" {
			r.add(level, "branch", f.Branch+" must have a linear history, and changes land as merge commits", "set queue.method to squash, or "+fix)
		}
	case "merge_queue":
		r.add(level, "branch", "GitHub's own merge queue is on for "+f.Branch+": both would land changes, neither knowing of the other", "switch \"Require merge queue\" off in the ruleset, or in the branch's protection: Settings > Branches")
	default:
		if why, ok := unmet[rule.Type]; ok {
			r.add(Warns, "branch", why, fix)
		}
	}
}

// builds looks at the branches that builds are pushed to.
func (r *report) builds(f Facts) {
	var list []string
	for _, rule := range f.BuildRules {
		if rule.Bypass != "yes" && slices.Contains([]string{"creation", "update", "deletion", "non_fast_forward", "pull_request", "required_signatures", "required_status_checks", "branch_name_pattern"}, rule.Type) {
			list = append(list, rule.Type)
		}
	}
	if len(list) > 0 {
		slices.Sort(list)
		r.add(Warns, "branch", fmt.Sprintf("rulesets bind the branches of builds (%s**), too: %s", github.BuildBranch, strings.Join(slices.Compact(list), ", ")),
			"let the ruleset name its branches without "+github.BuildBranch+"**, or put the App on its bypass list; only CI of the forge needs these branches")
	}
}

// pushes says how many refs one push may have; only a trial push can find that out.
func (r *report) pushes(f Facts) {
	const setting = "Settings > General > Pushes, \"Limit how many branches and tags can be updated in a single push\""
	switch t := f.Trial; {
	case t == nil:
	case t.Err != nil:
		r.add(Warns, "pushes", "the trial push of branches failed: "+t.Err.Error(), "see the reason, and run this again; branches of builds are pushed in the same way")
	case t.Most > 0:
		r.add(Warns, "pushes", fmt.Sprintf("GitHub takes %s in one push: the refs go in parts, which takes longer", print.Counted(t.Most, "ref")), "raise it to 20 or more: "+setting)
	default:
		r.fine("pushes", "GitHub takes %s in one push", print.Counted(t.Refs, "ref"))
	}
}

// demandedCheck is a check that a pushed commit must have passed.
type demandedCheck struct {
	github.RequiredCheck
	classic bool // by branch protection, which no App can bypass
}

// requiredChecks returns the checks that a pushed commit must have passed, without
// those that the App may bypass.
func requiredChecks(f Facts) (list []demandedCheck) {
	if f.Classic != nil {
		for _, c := range f.Classic.Checks {
			list = append(list, demandedCheck{c, true})
		}
	}
	for _, rule := range f.Rules {
		if rule.Bypass != "yes" {
			for _, c := range rule.Checks {
				list = append(list, demandedCheck{c, false})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b demandedCheck) int { return strings.Compare(a.Context, b.Context) }) // where two have one name, the classic one stays
	return slices.CompactFunc(list, func(a, b demandedCheck) bool { return strings.EqualFold(a.Context, b.Context) })
}
