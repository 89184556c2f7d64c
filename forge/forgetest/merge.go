package forgetest

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Merges says how the API merges a repository's pull requests, and what happens
// differently from what a client expects.
type Merges struct {
	// Only are the methods that the repository's settings allow. Nil: all that the fake
	// knows, merge and squash.
	Only []string
	// Before is called when a merge is asked for, before anything is checked: it does what
	// others do at that moment.
	Before func()
	// Stale is how often a merge is refused because GitHub has not seen yet where the base
	// is by now.
	Stale int
	// Behind is appended to the given message: GitHub names co-authors there in its own
	// messages.
	Behind string
	// Otherwise are files that the merge commit has in addition to the right ones.
	Otherwise map[string]string
}

// SetMerges says how pull requests are merged by the API from now on.
func (r *Repository) SetMerges(m Merges) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	r.merges = m
}

// GitHub's answers where it does not merge. The first and the third are the examples of its
// description of REST (PUT /repos/{owner}/{repo}/pulls/{pull_number}/merge); the second was
// seen with the same code (cli/cli#8092, NixOS/nixpkgs-merge-bot#179), and goes away.
const (
	notMergeable = "Pull Request is not mergeable"
	baseMoved    = "Base branch was modified. Review and try the merge again."
	headMoved    = "Head branch was modified. Review and try the merge again."
)

func notAllowed(message string) error {
	return &problem{status: http.StatusMethodNotAllowed, message: message}
}

// mergePull merges a pull request onto its base as it is now: the base's commit is not
// checked. GitHub makes the commit: the author of a squash is the author of the pull
// request, and the author of a merge commit is the caller.
func mergePull(c *call) (any, error) {
	var in struct {
		Title  string `json:"commit_title"`
		Text   string `json:"commit_message"`
		SHA    string `json:"sha"`
		Method string `json:"merge_method"`
	}
	if err := c.read(&in); err != nil {
		return nil, err
	}
	c.s.mu.Lock()
	before := c.repo.merges.Before
	c.s.mu.Unlock()
	if before != nil {
		before()
	}
	r := c.repo
	r.refs.Lock()
	defer r.refs.Unlock()
	ctx := context.WithoutCancel(c.r.Context()) // a merge that was asked for is carried out
	c.s.mu.Lock()
	p, err := c.pull()
	var m Merges
	var rules, base, head string
	if err == nil {
		m, rules, base, head = r.merges, r.issues.ruledBy(p), p.Base, p.Head
		if r.merges.Stale > 0 {
			r.merges.Stale--
		}
	}
	c.s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	var owners [][]string
	if owners, err = r.issues.owners(ctx, rules, base, head); err != nil {
		return nil, err
	}
	c.s.mu.Lock()
	err = r.law.unmergeable(c.who, p, in.Method, owners)
	author := fmt.Sprintf("%s <%s@users.noreply.example>", p.Author, p.Author)
	if in.Method != "squash" {
		author = fmt.Sprintf("%s <%s@users.noreply.example>", c.s.actor(c.who).login, c.s.actor(c.who).login)
	}
	now := c.s.now()
	c.s.mu.Unlock()
	switch {
	case err != nil:
		return nil, err
	case in.SHA != "" && in.SHA != head:
		return nil, &problem{status: http.StatusConflict, message: headMoved}
	case m.Stale > 0:
		return nil, notAllowed(baseMoved)
	}
	ours := r.store.readRef("refs/heads/" + base)
	if _, err := r.store.git(ctx, nil, "merge-tree", "--write-tree", ours, head); err != nil {
		return nil, notAllowed(notMergeable)
	}
	message := in.Title + "\n\n" + in.Text + m.Behind
	sign := fmt.Sprintf("GitHub <noreply@github.com> %d +0000", now.Unix())
	commit, err := r.store.mergeOf(ctx, ours, head, in.Method == "squash", message, fmt.Sprintf("%s %d +0000", author, now.Unix()), sign, m.Otherwise)
	if err != nil {
		return nil, err
	}
	ref := "refs/heads/" + base
	if err := r.store.writeRef(ref, commit); err != nil {
		return nil, err
	}
	r.store.pushed(ctx, c.who, []refMove{{ref: ref, old: ours, new: commit}})
	r.store.mergedByAPI(ctx, c.who, p, commit)
	return obj{"sha": commit, "merged": true, "message": "Pull Request successfully merged"}, nil
}

// unmergeable says why somebody may not merge a pull request. The caller holds s.mu.
func (r *rules) unmergeable(who identity, p *pull, method string, owners [][]string) error {
	allowed := r.repo.merges.Only
	if allowed == nil {
		allowed = []string{"merge", "squash"}
	}
	guard, guarded := r.repo.guards[p.Base]
	name := r.repo.s.pusherName(who)
	no := func(sentence string) error {
		if guard.Ruleset {
			sentence = "Repository rule violations found\n\n" + sentence + "\n\n"
		}
		return notAllowed(sentence)
	}
	switch {
	case p.State != "open":
		return notAllowed(notMergeable)
	case p.Draft:
		return notAllowed("Pull Request is still a draft")
	case !slices.Contains(allowed, method):
		return notAllowed(strings.ToUpper(method[:1]) + method[1:] + " merges are not allowed on this repository.")
	case !guarded:
		return nil
	case len(guard.AllowPushers) > 0 && !slices.Contains(guard.AllowPushers, name):
		return no("You're not authorized to push to this branch. Visit https://docs.github.com/articles/about-protected-branches/ for more information.")
	case slices.Contains(guard.ExtraRules, "merge_queue"):
		return no("Changes must be made through the merge queue")
	case slices.Contains(guard.Bypass, name):
		return nil
	case guard.LinearHistory && method == "merge":
		return no("Merge commits are not allowed on this branch.")
	}
	if d := r.repo.issues.decision(p, owners); d != "" && d != "APPROVED" {
		return no(fmt.Sprintf("At least %d approving review is required by reviewers with write access.", max(guard.Reviews.Count, 1)))
	}
	if line := r.unmetChecks(guard, p.Head); line != "" {
		return no(line)
	}
	return nil
}

// mergeOf makes the commit of a merge.
func (r *store) mergeOf(ctx context.Context, ours, theirs string, squash bool, message, author, committer string, more map[string]string) (string, error) {
	out, err := r.git(ctx, nil, "merge-tree", "--write-tree", ours, theirs)
	if err != nil {
		return "", err
	}
	tree := strings.TrimSpace(string(out))
	for name, content := range more { // files of the root folder
		blob, err := r.git(ctx, strings.NewReader(content), "hash-object", "-w", "--stdin")
		if err != nil {
			return "", err
		}
		list, err := r.git(ctx, nil, "ls-tree", tree)
		if err != nil {
			return "", err
		}
		list = fmt.Appendf(list, "100644 blob %s\t%s\n", strings.TrimSpace(string(blob)), name)
		made, err := r.git(ctx, strings.NewReader(string(list)), "mktree")
		if err != nil {
			return "", err
		}
		tree = strings.TrimSpace(string(made))
	}
	body := "tree " + tree + "\nparent " + ours + "\n"
	if !squash {
		body += "parent " + theirs + "\n"
	}
	body += "author " + author + "\ncommitter " + committer + "\n\n" + strings.TrimRight(message, "\n") + "\n"
	out, err = r.git(ctx, strings.NewReader(body), "hash-object", "-t", "commit", "-w", "--stdin")
	return strings.TrimSpace(string(out)), err
}

// mergedByAPI follows a merge by the API: GitHub shows the pull request as merged by the
// client that asked for it, and deletes its branch where the repository wants that, which
// it does for its own merges.
func (r *store) mergedByAPI(ctx context.Context, who identity, p *pull, commit string) {
	s := r.repo.s
	s.mu.Lock()
	actor := s.actor(who)
	if p.State == "open" {
		p.Merged, p.mergeCommit, p.mergedBy = true, commit, actor
		r.repo.issues.closePull(actor, p)
	}
	branch := refMove{ref: "refs/heads/" + p.Branch, old: r.readRef("refs/heads/" + p.Branch), new: zeroID}
	_, guarded := r.repo.guards[p.Branch]
	gone := r.repo.tidies && p.Fork == "" && branch.old != "" && !guarded && p.Branch != r.repo.main
	s.touch()
	s.mu.Unlock()
	if gone {
		if _, err := r.git(ctx, nil, "update-ref", "-d", branch.ref, branch.old); err == nil {
			r.pushed(ctx, who, []refMove{branch})
		}
	}
}
