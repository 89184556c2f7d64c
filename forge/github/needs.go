package github

// Need is a permission that the App asks for.
type Need struct {
	Name   string // GitHub's, as in a manifest
	Access string // "read" or "write"
	Why    string // what it is for, a sentence without its end
	// Without says what does not work where it is not granted; empty: nothing works.
	Without string
}

// EventNeed is a webhook that the App asks for.
type EventNeed struct {
	Name    string
	Why     string
	Without string // as in Need
}

// Needs returns the permissions that the App asks for, and no more. The manifest, the
// set-up page, doctor, tokens and app/docs/install.md are made from it or compared with
// it.
func Needs() []Need {
	return []Need{
		{"contents", "write", "reads the code and its configuration, pushes builds and what has landed", ""},
		{"pull_requests", "write", "reads pull requests and reviews, sets the base of stacked ones, closes what has landed, proposes reverts where the configuration says so", ""},
		{"issues", "write", "keeps one comment on each pull request, answers commands, sets labels", ""},
		{"checks", "write", "keeps the check \"submitqueue\", reads the results of CI", ""},
		{"metadata", "read", "sees the repositories and what people may do with them", ""},
		{"statuses", "read", "reads results of CI that are commit statuses", "CI that reports commit statuses is not seen, and no change can enter where the required checks of pull requests are waited for"},
		{"actions", "write", "stops workflow runs that are no longer needed, runs failed jobs again", "superseded workflow runs go on to their end, and failed jobs are not run again"},
		{"workflows", "write", "lands changes of .github/workflows, which GitHub refuses from an App otherwise", "changes of .github/workflows will be parked when they are pushed, and the others land"},
		{"administration", "read", "sees the classic protection of branches", "classic branch protection is not seen before it refuses a push, and pull requests wait where GitHub does not tell otherwise what it asks for"},
		{"members", "read", "sees who is in a team, where commands are given to teams or a team must approve", "teams in the configuration have no members, and pull requests wait where the approvals of a team must be counted"},
	}
}

// EventNeeds returns the webhooks that the App asks for. Those about its
// installations come to every App unasked.
func EventNeeds() []EventNeed {
	return []EventNeed{
		{"issue_comment", "commands in comments", ""},
		{"pull_request", "pushes, labels, drafts, and the end of pull requests", ""},
		{"push", "commits on the target branch", ""},
		{"pull_request_review", "approvals, and commands in reviews", "commands in reviews are not seen, approvals late"},
		{"pull_request_review_comment", "commands in comments on lines", "commands in comments on lines are not seen"},
		{"pull_request_review_thread", "conversations that are resolved", "resolved conversations are seen late"},
		{"check_run", "results of CI, and the buttons of the check", "results of CI are seen late, and buttons do nothing"},
		{"check_suite", "results of CI as a whole", "results of CI are seen late"},
		{"status", "results of CI that are commit statuses", "results of CI are seen late"},
		{"workflow_run", "the runs of workflows", "the end of workflow runs is seen late"},
		{"repository", "repositories that are renamed, moved or archived", "renamed and archived repositories are seen late"},
	}
}

// grants says whether the access that is there is enough.
func grants(have, want string) bool {
	return have == want || have == "admin" || have == "write" && want == "read"
}
