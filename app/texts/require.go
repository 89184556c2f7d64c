package texts

import (
	"strconv"
	"strings"

	"github.com/submitqueue/submitqueue/queue"
)

// lacks says in a few words, which follow "Waiting: ", what a pull request does not
// meet. It quotes nothing.
func (w voice) lacks(r queue.Reason) string {
	if len(r.Unmet) == 0 {
		return w.title(r.Code)
	}
	text := w.lackShort(r.Unmet[0].Kind)
	if n := len(r.Unmet) - 1; n > 0 {
		text += ", and " + counted(n, "more thing", "more things")
	}
	return text
}

// requirementRow has the words for one requirement that a pull request does not meet.
type requirementRow struct {
	title string // in a few words; it quotes nothing. {noun}: see Words
	full  func(voice, queue.Requirement) string
}

// requirements has the words for each kind. The rules are in package queue (its
// requirement.go), and the forge's adapter says which of them are not met.
var requirements = map[queue.RequirementKind]requirementRow{
	queue.RequireReviews: {"approving reviews are missing", func(w voice, q queue.Requirement) string {
		if len(q.Names) < 2 {
			return "It needs an approving review. Ask for one."
		}
		return "It has " + w.count(q.Names[0]) + " of the " + w.count(q.Names[1]) + " approving reviews that are required. Ask for a review."
	}},
	queue.RequireCodeOwners: {"a code owner must approve", func(w voice, q queue.Requirement) string {
		return "A code owner of what it changes must approve it" + w.in(q.Names) + ". Ask the owners for a review."
	}},
	queue.RequireLastPush: {"the last push must be approved", func(voice, queue.Requirement) string {
		return "Its last push must be approved by somebody who did not push it. Ask for a review."
	}},
	queue.RequireTeam: {"a team's approval is missing", func(w voice, q queue.Requirement) string {
		if len(q.Names) < 2 {
			return "A team must approve what it changes. Ask the team for a review."
		}
		return "It has " + w.count(q.Names[0]) + " of the " + w.count(q.Names[1]) + " approvals by a team that a rule of the branch asks for" + w.in(q.Names[2:]) + ". Ask the team for a review."
	}},
	queue.RequireAttributed: {"one more approval is missing, for commits of no known account", func(w voice, _ queue.Requirement) string {
		return "A rule of the branch takes one more approving review where commits belong to no known account. Ask for one, or make the commits with an address of the account."
	}},
	queue.RequireJudged: {"a rule of the branch cannot be judged", func(w voice, q queue.Requirement) string {
		if len(q.Names) < 2 {
			return "A rule of the branch cannot be judged here. An administrator must look at the rules of the branch."
		}
		return "The branch has the rule " + w.code(q.Names[0]) + ", which cannot be judged here: " + w.unjudged(q.Names[1])
	}},
	queue.RequireNoChanges: {"a reviewer asked for changes", func(w voice, q queue.Requirement) string {
		return orSome(w.codes(q.Names), "A reviewer") + " asked for changes. Make them and ask for another review, or have that review dismissed."
	}},
	queue.RequireChecks: {"required checks have not passed yet", func(w voice, q queue.Requirement) string {
		return "Required checks have not passed yet" + w.in(q.Names) + ". One that never appears is not run for this commit: start it, or set " +
			w.command("queue.require_checks: enter") + "."
	}},
	queue.RequireChecksPassed: {"required checks have failed", func(w voice, q queue.Requirement) string {
		return "Required checks have failed" + w.in(q.Names) + ". Run them again if that was by chance; else push a fix, then " + w.again()
	}},
	queue.RequireResolved: {"conversations are not resolved", func(w voice, q queue.Requirement) string {
		if len(q.Names) == 0 {
			return "It has conversations that are not resolved. Resolve them."
		}
		return "Conversations that are not resolved: " + w.count(q.Names[0]) + w.at(q.Names[1:]) + ". Resolve them."
	}},
	queue.RequireNoLabel: {"a label blocks it", func(w voice, q queue.Requirement) string {
		return "It has a label that blocks it" + w.in(q.Names) + ". Take it off."
	}},
	queue.RequireReady: {"the {noun} is a draft", func(w voice, _ queue.Requirement) string {
		return w.fill("The {noun} is a draft. Mark it ready for review.")
	}},
	queue.RequireAdministrator: {"an administrator must approve this commit", func(w voice, q queue.Requirement) string {
		if q.Merged {
			return w.mergedOn(q) + ", it would change protected paths" + w.in(q.Names) + ", which it does not touch by itself: files were moved there. Before anything of it runs, an administrator of the repository must approve this very commit, or " +
				w.land() + "."
		}
		return "It changes protected paths" + w.in(q.Names) + ". Before anything of it runs, an administrator of the repository must approve this very commit, or " +
			w.land() + "."
	}},
	queue.RequireUpdate: {"its branch must be brought up to date, and an administrator must approve it", func(w voice, q queue.Requirement) string {
		return w.mergedOn(q) + ", it would bring into protected paths what it does not hold itself" + w.in(q.Names) + ": files were edited where it moves them away from, and whoever approves it does not see these edits. Merge or rebase its branch onto what has them; an administrator of the repository must approve the new commit, or " +
			w.land() + "."
	}},
	queue.RequireLanded: {"what it depends on has not landed", voice.dependency},
	queue.RequireRestack: {"GitHub has yet to restack it", func(w voice, q queue.Requirement) string {
		if len(q.Names) < 3 {
			of := "its stack"
			if len(q.Names) > 0 {
				of = "GitHub's stack " + w.count(q.Names[0])
			}
			return "Those below it in " + of + " have landed, and GitHub may be about to put it on top of them. It lands after that, or in a minute as it is."
		}
		return "It is in GitHub's stack " + w.count(q.Names[0]) + " and asks for the branch " + w.code(q.Names[1]) + ", " + w.fill("whose {noun} has landed or is closed") + ". Only GitHub can have it ask for " + w.code(q.Names[2]) +
			" instead, which it usually does by itself within a minute, and it lands then, in its place. If nothing happens, rebase the stack with " + w.command("gh stack sync") + " or the button “Rebase stack”; or take it apart with “Unstack”: then it lands as it is."
	}},
	queue.RequireMerge: {"it does not merge", func(w voice, q queue.Requirement) string {
		return "It does not merge with " + w.main() + " as that is now" + w.in(q.Names) + ". " + w.reconcile() + ", then " + w.again()
	}},
}

// lackShort says in a few words what is not met. It quotes nothing.
func (w voice) lackShort(k queue.RequirementKind) string {
	row, ok := w.lacking[k]
	if !ok { // of a newer version
		return "it does not meet what is asked of it"
	}
	return w.fill(row.title)
}

// lack says what a pull request does not meet and what to do, in one line.
func (w voice) lack(q queue.Requirement) string {
	row, ok := w.lacking[q.Kind]
	if !ok {
		return "It does not meet what is asked of it" + w.in(q.Names) + "."
	}
	return row.full(w, q)
}

// unjudged says why a rule cannot be judged, and what to do.
func (w quote) unjudged(why string) string {
	const apart = "An administrator can put the rule into a ruleset of its own, without the App on its bypass list: then it is judged when the change is pushed."
	if need, ok := strings.CutPrefix(why, queue.UnjudgedPermission); ok {
		return "the App may not read what it takes. Give it the permission " + w.code(need) + ", and accept that on the installation."
	}
	switch why {
	case queue.UnjudgedBypass:
		return "whether the change meets it is not known, and the App may bypass it. " + apart
	case queue.UnjudgedBypassUnknown:
		return "whether the change meets it is not known, and whether the App may bypass it could not be read. " + apart
	case queue.UnjudgedOwners:
		return "the only owners of some files are addresses, of which no account is known. Name accounts or teams in CODEOWNERS."
	case queue.UnjudgedOwnersLine:
		return "CODEOWNERS has a line that cannot be read. Put it right, or take it out."
	case queue.UnjudgedFiles:
		return "the change has more files than can be listed. Split it."
	}
	return "this version does not know what it asks for. Take a newer version, or have an administrator take the rule off."
}

func (w quote) mergedOn(q queue.Requirement) string {
	if len(q.On) > 0 {
		return "Merged on top of " + w.refs(Strings(q.On))
	}
	return "Merged into " + w.main()
}

// count returns s where it is a number, and else s as code.
func (w quote) count(s string) string {
	if _, err := strconv.ParseUint(s, 10, 32); err != nil {
		return w.code(s)
	}
	return s
}

func (w quote) at(paths []string) string {
	if len(paths) == 0 {
		return ""
	}
	return ", at " + w.codes(paths)
}

// requirements says which requirements a pull request does not meet, one on each line;
// in plain text, all are on one line.
func (w voice) requirements(r queue.Reason) string {
	lines := make([]string, 0, len(r.Unmet)+1)
	if len(r.Unmet) == 0 {
		lines = append(lines, w.lack(queue.Requirement{}))
	}
	for _, q := range r.Unmet {
		lines = append(lines, w.lack(q))
	}
	const then = "It goes on by itself once that is done."
	if w.plain {
		return strings.Join(append(lines, then), " ")
	}
	for i := range lines {
		lines[i] = "- " + lines[i]
	}
	return strings.Join(lines, "\n") + "\n\n" + then
}
