package gitlab

// Texts with which GitLab refuses a push. All of them come with the same prefix and the
// same reason: only the text says whether it is a rule.
const (
	TextProtected = "You are not allowed to push code to protected branches on this project."
	TextProject   = "You are not allowed to push code to this project."
	TextForce     = "You are not allowed to force push code to a protected branch on this project."
	TextCreate    = "You are not allowed to create protected branches on this project."
	TextDelete    = "You can only delete protected branches using the web interface."
	TextArchived  = "You can't push code to an archived project."
)

// Refusal is one of the refusals of a push that GitLab can give.
type Refusal struct {
	Name   string
	Text   string // after "GitLab: "; empty: Reason alone
	Reason string // of each ref; empty: "pre-receive hook declined"
	Rule   bool   // people have to do something; otherwise it may go away
	Race   bool   // the ref must be read: somebody may have moved it

	Applied bool // the refs have moved all the same
}

// Refusals returns the refusals that gitaly and GitLab's access checks are known to
// give.
func Refusals() []Refusal {
	rule := func(name, text string) Refusal { return Refusal{Name: name, Text: text, Rule: true} }
	wait := func(name, text string) Refusal { return Refusal{Name: name, Text: text} }
	return []Refusal{
		rule("protected branch", TextProtected),
		rule("no push to the project", TextProject),
		rule("force push", TextForce),
		rule("create protected", TextCreate),
		rule("merge into protected", "You are not allowed to merge code into protected branches on this project."),
		rule("delete protected", TextDelete),
		rule("archived", TextArchived),
		rule("commit message", "Commit message does not follow the pattern 'JIRA-\\d+'"),
		rule("forbidden pattern", "Commit message contains the forbidden pattern 'WIP'"),
		rule("author's mail", "Author's email 'a@example.org' does not follow the pattern '@corp'"),
		rule("committer's mail", "Committer's email 'a@example.org' does not follow the pattern '@corp'"),
		rule("branch name", "Branch name does not follow the pattern 'x/.*'"),
		rule("not a member", "Author 'a@example.org' is not a member of team"),
		rule("locked path", "The path 'a.txt' is locked by ann"),
		wait("read-only for a while", "The repository is temporarily read-only. Please try again later."),
		wait("read-only instance", "You can't push code to a read-only GitLab instance."),
		wait("timed out", "Push operation timed out\n\nTiming information for debugging purposes:\nRunning checks for ref: main"),
		wait("internal API", "Internal API unreachable"),
		wait("API", "API is not accessible"),
		wait("throttled", "This endpoint has been requested too many times. Try again later."),
		wait("load", "The git server, Gitaly, is currently unable to handle this request due to load."),
		{Name: "vote", Reason: "ref updates aborted by hook"},
		{Name: "hidden ref", Reason: "deny updating a hidden ref", Rule: true},
		{Name: "spurious lock", Reason: "cannot lock ref", Race: true},
		{Name: "exists", Reason: "reference already exists", Race: true},
	}
}

// pushRefusal is a planned refusal.
type pushRefusal struct {
	Refusal
	branch string
}

// RefusePush refuses the next push that moves a branch; with Applied, after the push was
// carried out.
func (p *Project) RefusePush(branch string, r Refusal) {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	p.refusals = append(p.refusals, pushRefusal{r, branch})
}

func (p *Project) plannedRefusal(moves []refMove) *pushRefusal {
	for i, r := range p.refusals {
		for _, m := range moves {
			if m.isBranch() && m.branch() == r.branch {
				p.refusals = append(p.refusals[:i:i], p.refusals[i+1:]...)
				return &r
			}
		}
	}
	return nil
}

func (r *pushRefusal) result(moves []refMove) pushResult {
	if r.Reason != "" {
		return refuseAll(moves, r.Reason, r.Text)
	}
	return declined(moves, r.Text)
}
