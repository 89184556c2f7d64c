package queue

// How do I add a requirement? One kind here, and its row in package texts (require.go):
// a title and a line of what to do. A test there checks that each kind has such a row.
// The package that finds it unmet adds it to Inspected.Unmet:
//
//	the forge's adapter (Unmet)  reviews, code-owners, last-push, changes-requested,
//	                             team-reviews, unattributed, unjudged,
//	                             checks, checks-failed, conversations
//	app (perform_inspect_…)      label, merge, depends: what we know and the forge does not
//	speculation                  draft, administrator, update, restack: of what is in the queue
//
// Nothing else lists kinds: the core parks a change that does not meet one, of any kind.
// It asks again when it is Stirred, and from time to time. The forge's receiver says
// which webhooks stir it. At GitHub (its stir.go):
//
//	pull_request_review                reviews, code-owners, last-push, changes-requested, team-reviews, unattributed, administrator, update
//	check_run, check_suite, status     checks, checks-failed
//	pull_request_review_thread         conversations
//	pull_request edited                depends, where its description names others than before
//	labels, drafts, pushes             are events of their own: Labeled, Retargeted, HeadMoved
//
// For example, that commits are signed: RequireSignature = "signature", which the adapter
// finds in the answer that it reads anyway, and which a push makes true.

// RequirementKind says what is asked of a pull request.
type RequirementKind string

// The kinds of requirements. Names holds what each says.
const (
	RequireReviews       RequirementKind = "reviews"           // approving reviews; Names: how many there are, how many it takes
	RequireCodeOwners    RequirementKind = "code-owners"       // the approval of the owners of the paths that it changes; Names: some paths without an approval of their owners, where that is known
	RequireLastPush      RequirementKind = "last-push"         // an approval of the last push by somebody other than the pusher
	RequireTeam          RequirementKind = "team-reviews"      // approvals by members of a team; Names: how many there are, how many it takes, and some paths for which
	RequireAttributed    RequirementKind = "unattributed"      // one approval more than otherwise, as commits may be of no known account
	RequireJudged        RequirementKind = "unjudged"          // a rule that cannot be judged; Names: its name, and why (Unjudged…)
	RequireNoChanges     RequirementKind = "changes-requested" // Names: reviewers with a request for changes
	RequireChecks        RequirementKind = "checks"            // Names: required checks that have not ended or not appeared
	RequireChecksPassed  RequirementKind = "checks-failed"     // Names: required checks that have failed
	RequireResolved      RequirementKind = "conversations"     // Names: how many are open, and the paths of some
	RequireNoLabel       RequirementKind = "label"             // Names: labels that block
	RequireReady         RequirementKind = "draft"             // it is a draft
	RequireAdministrator RequirementKind = "administrator"     // an administrator's approval of this head; Names: protected paths
	RequireUpdate        RequirementKind = "update"            // a head that holds what its merge takes along into protected paths, approved by an administrator; Names: these paths
	RequireRestack       RequirementKind = "restack"           // that the forge has it ask for the queue's branch, as nobody else can; Names: the number of its stack, the branch that it asks for, the queue's; only the number: that has been done, and its head may yet move
	RequireMerge         RequirementKind = "merge"             // Names: paths that do not merge
	RequireLanded        RequirementKind = "depends"           // that the pull requests that its description depends on have landed; Names: a PullRef, how that stands (Depends…); with DependsCircle, the way to itself
)

// States of a pull request that a description depends on: the second name of
// RequireLanded.
const (
	DependsQueued    = "queued"    // it is in its queue
	DependsOpen      = "open"      // nobody has asked for it to land
	DependsLeft      = "left"      // it has left its queue without landing, and is open
	DependsClosed    = "closed"    // it was closed without landing
	DependsMissing   = "missing"   // there is no such pull request
	DependsElsewhere = "elsewhere" // its repository has no queue on this server, or is another account's
	DependsCircle    = "circle"    // it waits for this one
	DependsBlocks    = "blocks"    // the forge itself makes it wait for that one; with no PullRef: the forge does not tell for which
	DependsMany      = "many"      // there are more than MaxDepends; with no PullRef
)

// Why a rule cannot be judged: the second name of RequireJudged.
const (
	UnjudgedBypass        = "bypass"         // the forge would let our push past the rule
	UnjudgedBypassUnknown = "bypass-unknown" // we could not read whether the forge would let our push past the rule
	UnjudgedOwners        = "owners"         // owners of changed paths are named by addresses, of which no account is known
	UnjudgedOwnersLine    = "owners-line"    // the list of owners has a line of a form that is not known
	UnjudgedFiles         = "files"          // it changes more files than the forge lists
	UnjudgedNewer         = "newer"          // this version does not know what the rule asks for
	UnjudgedPermission    = "permission "    // followed by the one that is missing
)

// Requirement is something that is asked of a pull request and that it does not
// meet. Each may be met without a new commit, so the change waits for it;
// RequireUpdate is met so when the change that brought that content is rejected or
// reverted. The exception is RequireMerge, which is only named beside others.
type Requirement struct {
	Kind  RequirementKind `json:"kind"`
	Names []string        `json:"names,omitempty"` // hostile text

	Merged bool       `json:"merged,omitempty"` // RequireAdministrator: it does not change them itself; its merge does
	On     []ChangeID `json:"on,omitempty"`     // where it is merged on top of these
}

// Stirred says that something has happened that may meet a requirement of a
// pull request: a review, a conversation, a check.
type Stirred struct {
	Number int      `json:"number,omitempty"` // 0: any pull request that has Head
	Head   CommitID `json:"head,omitempty"`
}

func (Stirred) event() {}
