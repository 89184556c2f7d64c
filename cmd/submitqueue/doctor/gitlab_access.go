package doctor

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/gitlab"
)

// Levels of access at GitLab.
const (
	developer  = 30
	maintainer = 40
)

func levelName(level int) string {
	for _, l := range []struct {
		from int
		name string
	}{{50, "owner"}, {maintainer, "maintainer"}, {developer, "developer"}, {20, "reporter"}, {10, "guest"}} {
		if level >= l.from {
			return l.name
		}
	}
	return "no member"
}

func (r *report) member(f GitLabFacts) {
	members := strings.TrimSuffix(f.Repo.WebURL, "/") + "/-/project_members"
	switch {
	case f.LevelErr != nil:
		r.unread("member", f.LevelErr)
	case f.Account.Admin && f.Level < maintainer:
		r.fine("member", "%s is an administrator", f.Account.Name)
	case f.Level < developer:
		r.add(Blocks, "member", fmt.Sprintf("%s is %s in the project, and may push nothing", f.Account.Name, levelName(f.Level)), "make it a maintainer: "+members)
	case f.Level < maintainer:
		r.add(Warns, "member", fmt.Sprintf("%s is a developer: it can neither look at the webhook nor delete its branches where they are protected, and whether webhooks fail is not known", f.Account.Name), "make it a maintainer: "+members)
	default:
		r.fine("member", "%s is %s", f.Account.Name, levelName(f.Level))
	}
}

// target judges whether the account may push to the branch that changes land on. The
// permission to merge is not enough, since the queue pushes its own merges.
func (r *report) target(f GitLabFacts) {
	page := f.page("repository") + " (Protected branches)"
	switch {
	case f.TipErr != nil:
		r.unread("branch", f.TipErr)
		return
	case !f.Tip.CanPush:
		r.add(Blocks, "branch", fmt.Sprintf("%s may not push to %s%s; to be allowed to merge is not enough, since the queue pushes what it has merged and tested", f.Account.Name, f.Branch, f.letsPush()),
			"put the account, or its role, under \"Allowed to push and merge\": "+page)
	}
	for _, g := range f.Guards {
		if g.Owners && g.Covers(f.Branch) {
			r.add(Warns, "branch", fmt.Sprintf("code owners must approve what %s takes (%s), which GitLab may ask of the queue's pushes, too", f.Branch, g.Name), "where a push is refused for it, switch \"Code owner approval\" off and ask for them in the queue's configuration: "+page)
		}
	}
	if f.Tip.CanPush {
		r.fine("branch", "%s may push to %s", f.Account.Name, f.Branch)
	}
}

// letsPush names the holders of the right to push to the queue's branch.
func (f GitLabFacts) letsPush() string {
	var who []string
	for _, g := range f.Guards {
		if !g.Covers(f.Branch) {
			continue
		}
		for _, w := range g.Push {
			switch {
			case w.User == 0 && w.Group == 0 && w.Key == 0 && w.Level == 0:
				who = append(who, "no one")
			case w.User == 0 && w.Group == 0 && w.Key == 0:
				who = append(who, levelName(w.Level)+"s")
			case w.Says != "":
				who = append(who, w.Says)
			}
		}
	}
	if len(who) == 0 {
		return ""
	}
	return " (" + strings.Join(who, ", ") + " may)"
}

// refs looks at the branches that builds are pushed to: a pattern may protect them, or they
// may need protection.
func (r *report) refs(f GitLabFacts) {
	if !f.byForge() {
		return // nothing is pushed there
	}
	page := f.page("repository") + " (Protected branches)"
	if f.GuardsErr != nil {
		r.unread("refs", f.GuardsErr)
		return
	}
	bad := len(r.list)
	protected := true
	for _, ref := range Refs(f.Prefix) {
		var by []gitlab.GuardFacts
		for _, g := range f.Guards {
			if g.Covers(ref + "x") {
				by = append(by, g)
			}
		}
		if len(by) == 0 {
			protected = protected && ref != f.Prefix+"/"
			continue
		}
		if !slices.ContainsFunc(by, func(g gitlab.GuardFacts) bool { return g.Lets(f.Account.ID, f.Level) }) {
			r.add(Blocks, "refs", fmt.Sprintf("the pattern %q protects the branches of builds, %s*, and %s may not push there", by[0].Name, ref, f.Account.Name), "let the account push to what the pattern names, or name the branches that are meant: "+page)
			continue
		}
		if ref == f.Prefix+"/" {
			r.add(Warns, "refs", fmt.Sprintf("the pattern %q protects the branches of builds, %s*: their pipelines get protected variables and runners, whatever a merge request changes in its CI file, and GitLab lets nobody delete them by git", by[0].Name, ref),
				"name only branches that are meant, unless builds need those variables; delete the old ones by hand under Code > Branches")
		}
	}
	var hidden []string
	for _, v := range f.Variables {
		if v.Protected {
			hidden = append(hidden, v.Key)
		}
	}
	if len(hidden) > 0 && !protected && f.VariablesErr == nil {
		slices.Sort(hidden)
		r.add(Warns, "refs", fmt.Sprintf("pipelines of builds do not get the protected variables (%s): the branches %s/* are not protected", strings.Join(hidden[:min(len(hidden), 5)], ", "), f.Prefix),
			"where a job of a build needs one, take \"Protect variable\" off it, or protect the branches, which gives what merge requests change in the CI file those variables as well: "+f.setup("--protect-refs"))
	}
	if f.VariablesErr != nil && !errors.Is(f.VariablesErr, forge.ErrForbidden) {
		r.unread("refs", f.VariablesErr)
	}
	if len(r.list) == bad {
		r.fine("refs", "the branches of builds, %s/*, can be pushed", f.Prefix)
	}
}

// Refs returns the beginnings of the names of the branches that a server with this prefix
// pushes for builds.
func Refs(prefix string) []string { return []string{prefix + "/", prefix + "-targets/"} }
