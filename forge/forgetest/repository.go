package forgetest

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
)

// Repository is a repository of a Server. Its methods do what people do there; its CI
// tests commits and reports checks.
type Repository struct {
	CI *CI // tests commits, and holds the results

	issues *issues // pull requests, comments and reviews
	store  *store  // git
	law    *rules  // permissions and requirements
	shapes *shapes // answers and webhooks

	s      *Server
	id     int64
	owner  *user
	name   string
	dir    string
	main   string // default branch
	parent *Repository

	merges Merges
	tidies bool // head branches are to be deleted once they are merged; guarded by s.mu

	refs  sync.Mutex // held while refs move; taken before s.mu
	files sync.Map   // the files of commits that somebody asked for: string → []string

	// Guarded by s.mu.
	private   bool
	roles     map[string]string
	renamed   map[string]string // branches: name before → after
	guards    map[string]Protection
	rulesetID int64
	screen    Screen
	refusals  []*planned // of pushes
	pushLimit int        // refs that may move in one push; 0: any number
	numbers   int
	pulls     map[int]*pull // issues too
	comments  []*comment    // in order of creation
	inlines   []*inline
	writes    []Write
	known     map[string]bool // commits that exist
	late      bool            // heads are recorded when ReleaseHeads says so
	unseen    []unseen        // heads that were pushed meanwhile, in order
	stacks    []*stack        // by number
	player    string          // the user that a person plays on the pages and with git; empty: nobody
	restacks  bool            // GitHub restacks the members above one that a push has merged
}

// Dir returns the folder of the bare repository. Branches that git pushes directly
// into it, not through the server, cause no webhooks and move no pull request.
func (r *Repository) Dir() string { return r.dir }

// Owner returns the login of the repository's owner.
func (r *Repository) Owner() string { return r.owner.login }

// Name returns the repository's name without its owner.
func (r *Repository) Name() string { return r.name }

// CloneURL returns the address by which git reaches the repository.
func (r *Repository) CloneURL() string { return r.s.url + "/" + r.fullName() + ".git" }

func (r *Repository) fullName() string { return r.owner.login + "/" + r.name }

// key returns the name under which the server knows the repository.
func (r *Repository) key() string { return strings.ToLower(r.fullName()) }

// sorted lists pull requests, without issues, by number.
func (r *issues) sorted() []*pull {
	var list []*pull
	for _, p := range r.repo.pulls {
		if !p.issue {
			list = append(list, p)
		}
	}
	slices.SortFunc(list, byNumber)
	return list
}

func byNumber(a, b *pull) int { return cmp.Compare(a.Number, b.Number) }

// View is a look at a repository that marks nothing as read. It is valid only
// inside the function that it was passed to.
type View struct{ r *Repository }

// Pull returns a pull request.
func (v View) Pull(number int) Pull { return v.r.issues.mustPull(number).Pull.clone() }

// Comments returns a pull request's comments, oldest first.
func (v View) Comments(number int) []Comment { return v.r.issues.commentsOf(number) }

// Checks returns the check runs on a commit, oldest first.
func (v View) Checks(head string) []CheckRun { return v.r.CI.checksOf(head) }

// Head returns the commit of a branch.
func (v View) Head(branch string) string { return v.r.store.readRef("refs/heads/" + branch) }

// WaitFor returns as soon as ok returns true; ok is called again after each change
// on the server. The error is the context's.
func (r *Repository) WaitFor(ctx context.Context, ok func(View) bool) error {
	return r.s.wait(ctx, func() bool { return ok(View{r}) })
}

// Look calls f once with a look at the repository.
func (r *Repository) Look(f func(View)) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	f(View{r})
}

// Write is an action of the bot, with the values of that moment.
type Write struct {
	Kind   string // "comment", "comment edit", "reaction", "check run", "check run update", "pull request", "label"
	Number int    // the pull request; 0 for check runs
	Head   string // the commit of a check run
	Text   string // body, reaction, or "status/conclusion title"
}

// Writes lists all actions of the bot over REST, in order.
func (r *Repository) Writes() []Write {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	return slices.Clone(r.writes)
}

func (r *Repository) wrote(u *user, w Write) {
	if u.kind == "Bot" {
		r.writes = append(r.writes, w)
	}
}

func (r *shapes) json() obj {
	return r.brief().with(obj{
		"default_branch": r.repo.main, "clone_url": r.repo.CloneURL(), "git_url": r.repo.CloneURL(), "archived": false, "disabled": false,
		"visibility":             map[bool]string{false: "public", true: "private"}[r.repo.private],
		"delete_branch_on_merge": r.repo.tidies, "has_issues": true, "open_issues_count": 0,
	}).with(r.urls())
}
