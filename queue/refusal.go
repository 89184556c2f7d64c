package queue

import "strings"

// RefusalKind is what a refusal of a push is about, as far as its words tell.
type RefusalKind string

// The kinds of refusals.
const (
	RefusalUnknown RefusalKind = ""        // the words are not known: further pushes tell
	RefusalContent RefusalKind = "content" // something in the pushed commits
	RefusalBranch  RefusalKind = "branch"  // the branch: it takes no push of ours, whatever is in it
)

// contentWords are in refusals of what is in commits, in lower case: of GitHub
// (workflow files without the App's permission; GH001; push protection and other
// rules on files and messages under GH013) and of GitLab's push rules. GitHub puts
// names of files into some of them, so that they are looked for first: a file may
// be called like a refusal of the branch.
var contentWords = []string{
	"create or update workflow",
	"gh001:", "large files detected", "file size limit",
	"push cannot contain secrets", "push protection", "secret detected",
	"file path is restricted", "file paths", "file extension", "exceeds the maximum file size",
	"commit message does not follow", "committer email", "author email", "is blacklisted", "is prohibited by the pattern",
}

// branchWords are in refusals of the branch, in lower case, with nothing in them
// that somebody may have chosen.
var branchWords = []string{
	"you're not authorized to push to this branch", "changes must be made through a pull request",
	"required status check", "required status checks", "cannot force-push to this branch", "cannot update this protected ref",
	"permission to ", "write access to repository not granted", "repository was archived", "repository is archived",
	"you are not allowed to push code", "you are not allowed to push to protected branches", "not allowed to force push", "repository is read-only",
}

// RefusalOf tells from the forge's words what a refused push was refused for. The
// answer chooses what is tried next, and never what may land.
func RefusalOf(rule string) RefusalKind {
	rule = strings.ToLower(rule)
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
	}
	return RefusalUnknown
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
