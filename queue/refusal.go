package queue

import (
	"slices"
	"strings"
)

// RefusalKind is what a refusal of a push is about, as far as its words tell.
type RefusalKind string

// The kinds of refusals.
const (
	RefusalUnknown RefusalKind = ""        // a rule, nobody knows about what: further pushes tell
	RefusalContent RefusalKind = "content" // something in the pushed commits
	RefusalBranch  RefusalKind = "branch"  // the branch takes no push of ours, with any content
	RefusalTrouble RefusalKind = "trouble" // no rule: the forge's own trouble, the same push goes through later
	RefusalStrange RefusalKind = "strange" // no word of a rule and none of trouble: the same push may go through later
)

// Rule reports whether a rule has refused a push, which somebody has to meet or lift.
func (k RefusalKind) Rule() bool { return k != RefusalTrouble && k != RefusalStrange }

// contentWords are words of refusals that are about the content of commits, in lower case: of
// GitHub (workflow files without the App's permission; GH001; push protection and other rules
// on files and messages under GH013) and of GitLab's push rules. GitHub puts names of files
// into some of them, so that they are looked for first: a file may be called like a refusal of
// the branch.
var contentWords = []string{
	"create or update workflow",
	"gh001:", "large files detected", "file size limit",
	"push cannot contain secrets", "push protection", "secret detected",
	"file path is restricted", "file paths", "file extension", "exceeds the maximum file size",
	"commit message does not follow", "contains the forbidden pattern", "committer email", "author email", "committer's email", "author's email",
	"is not a member of team", "is locked by", "is blacklisted", "is prohibited by the pattern",
}

// branchWords are words of refusals that are about the branch, in lower case.
// They have no part that somebody may have chosen.
var branchWords = []string{
	"you're not authorized to push to this branch", "changes must be made through a pull request",
	"required status check", "required status checks", "cannot force-push to this branch", "cannot update this protected ref",
	"permission to ", "write access to repository not granted", "repository was archived", "repository is archived",
	"you are not allowed to push code", "you are not allowed to push to protected branches", "not allowed to force push", "repository is read-only",
	"branch name does not follow", "archived project",
}

// ruleWords are words of refusals by any rule, in lower case: the words of GitHub's protected
// branches (GH006) and rulesets (GH013), with its codes.
var ruleWords = []string{
	"error: gh0", "protected branch", "repository rule violations", "refusing to allow",
}

// troubleWords are in answers of a forge that is in trouble, in lower case: of GitHub
// during its incidents, of git at its end, and of GitLab, where a hook asks a service.
var troubleWords = []string{
	"internal server error", "fatal error in commit_refs", "unpacker error", "early eof", "failed to report status",
	"internal api", "timed out", "timeout", "service unavailable", "bad gateway", "socketerror", "please try again",
	"read-only gitlab instance", "ref updates aborted by hook", "api is not accessible", "requested too many times", "due to load",
}

// troubleLines are whole lines of such answers, in lower case.
var troubleLines = []string{"failure", "failed", "error"}

// hookWords are in refusals by a hook of a server, or by git itself, in lower case.
var hookWords = []string{
	"hook declined", "gitlab:", "deny ", "denied", "denying", "not allowed", "prohibited", "currently checked out", "funny refname",
	"must not ", "must be ", "must have ", "cannot ",
}

// RefusalOf tells from the forge's words why a push was refused. The answer
// chooses what is tried next, and never what may land.
func RefusalOf(rule string) RefusalKind {
	rule = strings.ToLower(strings.TrimSpace(rule))
	holds := func(words []string) bool {
		for _, w := range words {
			if strings.Contains(rule, w) {
				return true
			}
		}
		return false
	}
	switch {
	case holds(contentWords):
		return RefusalContent
	case holds(branchWords):
		return RefusalBranch
	case holds(ruleWords):
		return RefusalUnknown
	case holds(troubleWords), slices.ContainsFunc(strings.Split(rule, "\n"), func(line string) bool { return slices.Contains(troubleLines, line) }):
		return RefusalTrouble
	case rule == "", holds(hookWords):
		return RefusalUnknown
	}
	return RefusalStrange
}

// Refused is what the forge has against landing a change: it has refused a push
// that held this change alone.
type Refused struct {
	Rule  string  `json:"rule"`           // in the forge's words; hostile text
	Times int     `json:"times"`          // such pushes
	Since Instant `json:"since"`          // the first of them
	At    Instant `json:"at"`             // the latest
	Back  Instant `json:"back,omitempty"` // when it came back into the order for another one
	Own   bool    `json:"own,omitempty"`  // it says nothing of the branch: it is about what the change holds, or the branch has taken others since the one before
}
