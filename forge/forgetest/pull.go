package forgetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Pull is a pull request as a test sees it.
type Pull struct {
	Number int
	Title  string
	Body   string
	Author string
	Branch string
	Fork   string // owner of the fork it comes from; empty: the same repository
	Base   string
	Head   string
	State  string // "open" or "closed"
	Merged bool
	Draft  bool
	Labels []string
}

func (p Pull) clone() Pull {
	p.Labels = slices.Clone(p.Labels)
	return p
}

type pull struct {
	Pull
	issue       bool
	author      *user
	reviews     []*review
	threads     []*thread
	pusher      string // login of the last pusher
	created     time.Time
	updated     time.Time
	closed      time.Time
	mergeCommit string
	mergedBy    *user
	auto        *user // has switched auto-merge on; nil: it is off
	size        Size
}

// Size is the size of a pull request as GitHub shows it. Here it is the size that Resize
// has set, whatever its commits hold.
type Size struct{ Commits, Files, Added, Removed int }

// Resize has a pull request show another size. At first, it shows one commit and one file.
func (r *Repository) Resize(number int, size Size) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	r.issues.mustPull(number).size = size
}

func (p *pull) open() bool      { return p.State == "open" && !p.issue }
func (p *pull) headRef() string { return pullRef(p.Number) }
func pullRef(n int) string      { return fmt.Sprintf("refs/pull/%d/head", n) }

type review struct {
	id     int64
	user   *user
	state  string
	commit string
	body   string
	at     time.Time
}

func (r *issues) mustPull(number int) *pull {
	p := r.repo.pulls[number]
	if p == nil {
		panic(fmt.Sprintf("forgetest: no pull request %d in %s", number, r.repo.fullName()))
	}
	return p
}

// openFrom lists the open pull requests with a head branch of this name.
func (r *issues) openFrom(branch string) []*pull {
	var list []*pull
	for _, p := range r.repo.pulls {
		if p.open() && p.Branch == branch {
			list = append(list, p)
		}
	}
	slices.SortFunc(list, byNumber)
	return list
}

// Pull returns a pull request as it stands.
func (r *Repository) Pull(number int) (p Pull) {
	r.Look(func(v View) { p = v.Pull(number) })
	return p
}

// OpenPull opens a pull request from a branch that has been pushed ("branch", or
// "<owner>:<branch>" from a fork) and returns its number.
func (r *Repository) OpenPull(author, branch, base, title string) (int, error) {
	return r.Open(Pull{Author: author, Branch: branch, Base: base, Title: title})
}

// OpenDraft is OpenPull for a draft.
func (r *Repository) OpenDraft(author, branch, base, title string) (int, error) {
	return r.Open(Pull{Author: author, Branch: branch, Base: base, Title: title, Draft: true})
}

// Open opens a pull request and returns its number. It reads only Author, Branch
// (as for OpenPull), Base, Title, Body and Draft of p.
func (r *Repository) Open(p Pull) (int, error) {
	p = Pull{Author: p.Author, Branch: p.Branch, Base: p.Base, Title: p.Title, Body: p.Body, Draft: p.Draft}
	r.refs.Lock()
	defer r.refs.Unlock()
	return r.open(p)
}

// open is Open. The caller holds r.refs.
func (r *Repository) open(p Pull) (int, error) {
	from := r
	if owner, branch, ok := strings.Cut(p.Branch, ":"); ok {
		p.Fork, p.Branch = owner, branch
		if from = r.s.Repository(owner, r.name); from == nil {
			return 0, fmt.Errorf("no fork %s/%s", owner, r.name)
		}
	}
	if p.Head = from.store.readRef("refs/heads/" + p.Branch); p.Head == "" {
		return 0, fmt.Errorf("no branch %s in %s", p.Branch, from.fullName())
	}
	if r.store.readRef("refs/heads/"+p.Base) == "" {
		return 0, fmt.Errorf("no branch %s in %s", p.Base, r.fullName())
	}
	r.s.mu.Lock()
	r.numbers++
	p.Number, p.State = r.numbers, "open"
	r.s.mu.Unlock()

	var err error
	if from == r {
		err = r.store.writeRef(pullRef(p.Number), p.Head)
	} else {
		err = r.store.take(context.Background(), p.Number, from.dir, p.Head)
	}
	if err != nil {
		return 0, err
	}
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	now := r.s.now()
	np := &pull{Pull: p, pusher: p.Author, author: r.s.mustUser(p.Author), created: now, updated: now, size: Size{Commits: 1, Files: 1}}
	r.pulls[p.Number] = np
	r.shapes.emitPull(np.author, np, "opened", nil)
	r.s.touch()
	return p.Number, nil
}

// OpenIssue opens an issue, which shares its numbers with pull requests.
func (r *Repository) OpenIssue(author, title string) int {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	r.numbers++
	now := r.s.now()
	p := Pull{Number: r.numbers, Title: title, Author: author, State: "open"}
	r.pulls[p.Number] = &pull{Pull: p, issue: true, author: r.s.mustUser(author), created: now, updated: now}
	r.s.touch()
	return p.Number
}

// Issue reports whether an issue is open.
func (r *Repository) Issue(number int) (open bool) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	return r.issues.mustPull(number).State == "open"
}

// ReopenIssue opens a closed issue again.
func (r *Repository) ReopenIssue(number int) {
	r.issues.act(r.owner.login, number, func(_ *user, p *pull) { r.issues.setIssue(p, "open") })
}

// act runs one verb on a pull request under the lock.
func (r *issues) act(login string, number int, f func(u *user, p *pull)) {
	r.repo.s.mu.Lock()
	defer r.repo.s.mu.Unlock()
	p := r.mustPull(number)
	p.updated = r.repo.s.now()
	f(r.repo.s.mustUser(login), p)
	r.repo.s.touch()
}

// ClosePull closes a pull request without merging it.
func (r *Repository) ClosePull(login string, number int) {
	r.issues.act(login, number, r.issues.closePull)
}

func (r *issues) closePull(u *user, p *pull) {
	if p.State == "closed" {
		return
	}
	p.State, p.closed = "closed", r.repo.s.now()
	p.updated = p.closed
	r.repo.shapes.emitPull(u, p, "closed", nil)
}

// Reopen opens a closed pull request again.
func (r *Repository) Reopen(login string, number int) { r.issues.act(login, number, r.issues.reopen) }

func (r *issues) reopen(u *user, p *pull) {
	if p.State == "open" || p.Merged {
		return
	}
	p.State, p.closed = "open", time.Time{}
	r.repo.shapes.emitPull(u, p, "reopened", nil)
}

// Retarget changes the base branch of a pull request.
func (r *Repository) Retarget(login string, number int, base string) {
	r.issues.act(login, number, func(u *user, p *pull) { r.issues.edit(u, p, p.Title, p.Body, base) })
}

// Retitle changes the title of a pull request.
func (r *Repository) Retitle(login string, number int, title string) {
	r.issues.act(login, number, func(u *user, p *pull) { r.issues.edit(u, p, title, p.Body, p.Base) })
}

// Redescribe changes the description of a pull request.
func (r *Repository) Redescribe(login string, number int, body string) {
	r.issues.act(login, number, func(u *user, p *pull) { r.issues.edit(u, p, p.Title, body, p.Base) })
}

func (r *issues) edit(u *user, p *pull, title, body, base string) {
	changes := obj{}
	if title != p.Title {
		changes["title"] = obj{"from": p.Title}
	}
	if body != p.Body {
		changes["body"] = obj{"from": p.Body}
	}
	if base != p.Base {
		changes["base"] = obj{
			"ref": obj{"from": p.Base}, "sha": obj{"from": orZero(r.repo.store.readRef("refs/heads/" + p.Base))},
		}
	}
	if len(changes) == 0 {
		return
	}
	p.Title, p.Body, p.Base = title, body, base
	r.repo.shapes.emitPull(u, p, "edited", obj{"changes": changes})
}

// SetDraft makes a pull request a draft, or ready for review.
func (r *Repository) SetDraft(login string, number int, draft bool) {
	r.issues.act(login, number, func(u *user, p *pull) {
		if p.Draft == draft {
			return
		}
		p.Draft = draft
		r.shapes.emitPull(u, p, map[bool]string{true: "converted_to_draft", false: "ready_for_review"}[draft], nil)
	})
}

// Label puts a label on a pull request.
func (r *Repository) Label(login string, number int, label string) {
	r.issues.act(login, number, func(u *user, p *pull) { r.issues.label(u, p, label) })
}

func (r *issues) label(u *user, p *pull, label string) {
	if slices.Contains(p.Labels, label) {
		return
	}
	p.Labels = append(p.Labels, label)
	r.repo.shapes.emitPull(u, p, "labeled", obj{"label": labelJSON(label)})
}

// Unlabel takes a label off a pull request.
func (r *Repository) Unlabel(login string, number int, label string) {
	r.issues.act(login, number, func(u *user, p *pull) { r.issues.unlabel(u, p, label) })
}

func (r *issues) unlabel(u *user, p *pull, label string) bool {
	i := slices.Index(p.Labels, label)
	if i < 0 {
		return false
	}
	p.Labels = slices.Delete(p.Labels, i, i+1)
	r.repo.shapes.emitPull(u, p, "unlabeled", obj{"label": labelJSON(label)})
	return true
}

// Review submits a review of a commit ("" is the present head): state is
// "APPROVED", "CHANGES_REQUESTED" or "COMMENTED".
func (r *Repository) Review(login string, number int, state, commit, body string) (id int64) {
	r.issues.act(login, number, func(u *user, p *pull) {
		if commit == "" {
			commit = p.Head
		}
		v := &review{id: r.s.nextID(), user: u, state: state, commit: commit, body: body, at: r.s.now()}
		p.reviews = append(p.reviews, v)
		id = v.id
		r.shapes.emitReview(u, p, v, "submitted", nil)
	})
	return id
}
