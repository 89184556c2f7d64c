package forgetest

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// Reviews are the rules in a branch's protection for the reviews of its pull
// requests. Each of them refuses pushes that do not come from a merged pull
// request, as Protection.RequirePull does.
type Reviews struct {
	Count      int  // approving reviews by users with permission to write
	CodeOwners bool // one of the owners of each changed file, by CODEOWNERS on the base
	LastPush   bool // somebody other than the last pusher has approved the head
	Stale      bool // a push dismisses approvals
	Resolved   bool // all conversations are resolved

	Required     []RequiredReview // of a ruleset, in beta; here, the decision on reviews does not cover them
	Unattributed bool             // one approval more than Count, as for commits that belong to no account
	Undecided    bool             // GraphQL's reviewDecision is null, as was seen for branches that ask for reviews (runatlantis/atlantis#6373)
}

// RequiredReview is the approval of a team that changes of some files need.
type RequiredReview struct {
	Patterns []string // of fnmatch
	Team     string   // set by SetTeam, such as "acme/oncall"
	Minimum  int      // of approvals by its members
}

func (v Reviews) any() bool {
	return v.Count > 0 || v.CodeOwners || v.LastPush || v.Resolved || v.Unattributed || len(v.Required) > 0
}

// thread is a conversation on a line, which its first comment has begun.
type thread struct {
	id       int64
	first    *inline
	resolved bool
}

// DismissReview dismisses a review.
func (r *Repository) DismissReview(login string, number int, id int64) {
	r.issues.act(login, number, func(u *user, p *pull) {
		i := slices.IndexFunc(p.reviews, func(v *review) bool { return v.id == id })
		if i < 0 {
			panic(fmt.Sprintf("forgetest: no review %d of #%d", id, number))
		}
		r.issues.dismiss(u, p, p.reviews[i])
	})
}

func (r *issues) dismiss(u *user, p *pull, v *review) {
	if v.state == "DISMISSED" {
		return
	}
	v.state = "DISMISSED"
	r.repo.shapes.emitReview(u, p, v, "dismissed", nil)
}

// dismissStale dismisses approvals after a push to a pull request, if its rules ask
// for that.
func (r *issues) dismissStale(u *user, p *pull) {
	if !r.repo.guards[r.ruledBy(p)].Reviews.Stale {
		return
	}
	for _, v := range p.reviews {
		if v.state == "APPROVED" {
			r.dismiss(u, p, v)
		}
	}
}

// StartThread begins a conversation on a file of a pull request.
func (r *Repository) StartThread(login string, number int, path string) (id int64) {
	r.issues.act(login, number, func(u *user, p *pull) {
		t := &thread{id: r.s.nextID(), first: r.issues.inline(u, p, path, "Is this right?")}
		p.threads, id = append(p.threads, t), t.id
	})
	return id
}

// ResolveThread resolves a conversation, or opens it again.
func (r *Repository) ResolveThread(login string, number int, id int64, resolved bool) {
	r.issues.act(login, number, func(u *user, p *pull) {
		for _, t := range p.threads {
			if t.id == id && t.resolved != resolved {
				t.resolved = resolved
				r.shapes.emit(u, "pull_request_review_thread", obj{
					"action": map[bool]string{true: "resolved", false: "unresolved"}[resolved], "pull_request": r.shapes.listedPull(p),
					"thread": obj{"node_id": fmt.Sprintf("PRRT_%d", t.id), "comments": []obj{r.shapes.inlineJSON(t.first)}},
				})
			}
		}
	})
}

// opinions returns the last review of each user with permission to write, without
// mere comments.
func (r *issues) opinions(p *pull) []*review {
	last := map[string]*review{}
	for _, v := range p.reviews {
		if v.state != "COMMENTED" && level(r.repo.law.role(v.user)) >= level("write") {
			last[v.user.login] = v
		}
	}
	var out []*review
	for _, v := range p.reviews {
		if last[v.user.login] == v {
			out = append(out, v)
		}
	}
	return out
}

// decision returns GitHub's decision on the reviews of a pull request: "" where no
// reviews are asked for. owners are the owners of each of its files that has any.
func (r *issues) decision(p *pull, owners [][]string) string {
	want := r.repo.guards[r.ruledBy(p)].Reviews
	if want.Undecided || want.Count == 0 && !want.Unattributed && !want.CodeOwners && !want.LastPush {
		return ""
	}
	var by []string
	others := false
	for _, v := range r.opinions(p) {
		switch v.state {
		case "CHANGES_REQUESTED":
			return "CHANGES_REQUESTED"
		case "APPROVED":
			if v.user.login == p.Author {
				continue
			}
			by = append(by, v.user.login)
			others = others || v.user.login != p.pusher && v.commit == p.Head
		}
	}
	if want.Unattributed {
		want.Count++
	}
	enough := len(by) >= want.Count && (!want.LastPush || others)
	for _, list := range owners {
		enough = enough && (!want.CodeOwners || slices.ContainsFunc(list, func(o string) bool { return slices.Contains(by, o) }))
	}
	if !enough {
		return "REVIEW_REQUIRED"
	}
	return "APPROVED"
}

// owners reads the owners of the files that a pull request changes, from the first
// CODEOWNERS file of a branch. It knows only the patterns that tests need. It runs
// git, without locks.
func (r *issues) owners(ctx context.Context, ruling, base, head string) ([][]string, error) {
	var file []byte
	for _, name := range []string{".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS"} {
		if out, err := r.repo.store.git(ctx, nil, "cat-file", "blob", "refs/heads/"+ruling+":"+name); err == nil {
			file = out
			break
		}
	}
	if file == nil {
		return nil, nil
	}
	type rule struct {
		pattern string
		owners  []string
	}
	var rules []rule
	for lines := bufio.NewScanner(bytes.NewReader(file)); lines.Scan(); {
		f := strings.Fields(lines.Text())
		if len(f) == 0 || strings.HasPrefix(f[0], "#") {
			continue
		}
		x := rule{pattern: f[0]}
		for _, o := range f[1:] {
			x.owners = append(x.owners, strings.TrimPrefix(o, "@"))
		}
		rules = append(rules, x)
	}
	out, err := r.repo.store.git(ctx, nil, "diff", "--name-only", "-z", "--no-renames", "refs/heads/"+base+"..."+head)
	if err != nil {
		return nil, err
	}
	var all [][]string
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		for _, x := range slices.Backward(rules) { // the last matching rule counts
			if owns(x.pattern, name) {
				if len(x.owners) > 0 {
					all = append(all, x.owners)
				}
				break
			}
		}
	}
	return all, nil
}

func owns(pattern, name string) bool {
	glob := strings.TrimPrefix(pattern, "/")
	if !strings.Contains(strings.TrimSuffix(glob, "/"), "/") && glob == pattern {
		glob = "**/" + glob
	}
	if strings.HasSuffix(glob, "/") {
		glob += "**"
	}
	for at := name; at != "."; at = path.Dir(at) {
		if ok, err := doublestar.Match(glob, at); ok && err == nil {
			return true
		}
	}
	return false
}
