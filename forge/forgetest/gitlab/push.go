package gitlab

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// refMove is one ref that is asked to move: old "" creates it, new "" deletes it.
type refMove struct{ ref, old, new string }

func (m refMove) branch() string { return strings.TrimPrefix(m.ref, "refs/heads/") }

func (m refMove) isBranch() bool { return strings.HasPrefix(m.ref, "refs/heads/") }

// pushResult is the result of each move: "" is success.
type pushResult struct {
	reason []string
	said   string // to the person pushing
}

func (r pushResult) err(moves []refMove) error {
	var all []error
	for i, reason := range r.reason {
		if reason != "" {
			all = append(all, fmt.Errorf("%s: %s: %s", moves[i].ref, reason, r.said))
		}
	}
	return errors.Join(all...)
}

func refuseAll(moves []refMove, reason, said string) pushResult {
	return pushResult{reason: slices.Repeat([]string{reason}, len(moves)), said: said}
}

// declined returns GitLab's refusal of a push: only the text tells the cause.
func declined(moves []refMove, text string) pushResult {
	return refuseAll(moves, "pre-receive hook declined", "GitLab: "+text)
}

var commitName = regexp.MustCompile(`^[0-9a-f]{40}$`)

func hiddenRef(ref string) bool {
	return slices.ContainsFunc([]string{"refs/keep-around/", "refs/remotes/", "refs/tmp/", "refs/scratch/"}, func(p string) bool { return strings.HasPrefix(ref, p) })
}

func readOnlyRef(ref string) bool {
	return slices.ContainsFunc([]string{"refs/merge-requests/", "refs/pipelines/", "refs/environments/"}, func(p string) bool { return strings.HasPrefix(ref, p) })
}

// forbidden returns why a move may not be made; "": it may.
func (p *Project) forbidden(who *User, m refMove) string {
	level := p.level(who)
	switch {
	case p.archived:
		return TextArchived
	case level < 30:
		return TextProject
	case !m.isBranch():
		return ""
	case m.new != "" && commitName.MatchString(m.branch()):
		return "A branch cannot be named like a commit."
	}
	g, guarded := p.guard(m.branch())
	switch {
	case !guarded:
		return ""
	case m.new == "" && level < 40:
		return "You are not allowed to delete protected branches from this project. Only a project maintainer or owner can delete a protected branch."
	case m.new == "":
		return TextDelete
	case m.old == "" && level < 40:
		return TextCreate
	case m.old != "" && !p.isAncestor(m.old, m.new) && !g.Force:
		return TextForce
	case g.Push == 0 || level < g.Push:
		return TextProtected
	}
	return ""
}

// push is the only function that moves refs for a push. The objects are in place.
func (p *Project) push(who *User, moves []refMove, options []string, atomic bool) pushResult {
	r := p.plannedRefusal(moves)
	if r == nil && who == p.s.bot {
		r = p.s.outage.refusal()
	}
	if r != nil {
		if r.Applied {
			p.transact(moves)
			p.received(who, moves, options)
		}
		return r.result(moves)
	}
	for _, m := range moves { // one forbidden move makes all be refused
		if text := p.forbidden(who, m); text != "" {
			return declined(moves, text)
		}
	}
	res := pushResult{reason: make([]string, len(moves))}
	refused := false
	for i, m := range moves {
		switch now := p.ref(m.ref); {
		case hiddenRef(m.ref) || readOnlyRef(m.ref):
			res.reason[i] = "deny updating a hidden ref"
		case now != m.old && m.old == "":
			res.reason[i], res.said = "reference already exists", "error: cannot lock ref '"+m.ref+"': reference already exists"
		case now != m.old:
			res.reason[i], res.said = "failed to update ref", fmt.Sprintf("error: cannot lock ref '%s': is at %s but expected %s", m.ref, now, m.old)
		}
		refused = refused || res.reason[i] != ""
	}
	var done []refMove
	for i, m := range moves {
		if refused && atomic && res.reason[i] == "" {
			res.reason[i] = "atomic push failure"
		}
		if res.reason[i] == "" && m.old != m.new {
			done = append(done, m)
		}
	}
	if len(done) == 0 {
		return res
	}
	if err := p.transact(done); err != nil {
		return refuseAll(moves, "failed to update ref", err.Error())
	}
	p.received(who, done, options)
	return res
}

func (p *Project) transact(moves []refMove) error {
	var in bytes.Buffer
	for _, m := range moves {
		if m.new == "" {
			fmt.Fprintf(&in, "delete %s %s\n", m.ref, m.old)
		} else {
			fmt.Fprintf(&in, "update %s %s %s\n", m.ref, m.new, orZero(m.old))
		}
	}
	_, err := p.git(&in, "update-ref", "--stdin")
	return err
}

func orZero(id string) string {
	if id == "" {
		return zeroID
	}
	return id
}

// firstChanges is how many changes of one push get pipelines.
const firstChanges = 4

// received enqueues the work after a push: GitLab's post-receive, which is itself a
// job.
func (p *Project) received(who *User, moves []refMove, options []string) {
	p.s.later("post-receive "+p.path, 0, func() {
		kinds := map[string]int{}
		kind := func(m refMove) string {
			switch {
			case m.old == "":
				return "created"
			case m.new == "":
				return "removed"
			}
			return "pushed"
		}
		for _, m := range moves {
			kinds[kind(m)]++
		}
		for i, m := range moves {
			if !m.isBranch() {
				continue // other refs give no hook and no pipeline
			}
			branch := m.branch()
			if m.new == "" {
				delete(p.cached, branch)
			} else {
				p.cached[branch] = true
			}
			if p.concerns(branch) {
				p.s.later("refresh "+branch, 0, func() { p.refresh(who, m) })
			}
			if kinds[kind(m)] <= p.s.opts.BranchHooks {
				p.tellPush(who, m)
			}
			if i < firstChanges && m.new != "" {
				p.pushedPipeline(who, m, options)
			}
		}
	})
}

// concerns reports whether any merge request has a branch as source or target.
func (p *Project) concerns(branch string) bool {
	for _, q := range p.s.projects {
		for _, mr := range q.mrs {
			if mr.source == branch && mr.from == p || mr.target == branch && q == p {
				return true
			}
		}
	}
	return false
}

// Push puts a commit with files on a branch and returns it. A new branch begins at the
// default branch. Without files, a new file is added.
func (p *Project) Push(user, branch string, files map[string]string) string {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	return p.pushCommit(user, branch, files, "Change "+branch)
}

// PushTitled is Push of a commit with this message.
func (p *Project) PushTitled(user, branch, message string) string {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	return p.pushCommit(user, branch, nil, message)
}

func (p *Project) pushCommit(user, branch string, files map[string]string, message string) string {
	old := p.tip(branch)
	parent := old
	if parent == "" {
		parent = p.tip(p.main)
	}
	if len(files) == 0 {
		files = map[string]string{fmt.Sprintf("file-%d.txt", p.s.nextID()): message + "\n"}
	}
	id := must2(p.commit(parent, files, message, p.s.now()))
	p.mustPush(user, nil, refMove{"refs/heads/" + branch, old, id})
	return id
}

// Force moves a branch to an existing commit.
func (p *Project) Force(user, branch, commit string) {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	p.mustPush(user, nil, refMove{"refs/heads/" + branch, p.tip(branch), commit})
}

// DeleteBranch deletes a branch.
func (p *Project) DeleteBranch(user, branch string) {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	p.mustPush(user, nil, refMove{"refs/heads/" + branch, p.tip(branch), ""})
}

func (p *Project) mustPush(user string, options []string, moves ...refMove) {
	must(p.push(p.s.user(user), moves, options, true).err(moves))
}

// Tip returns the commit of a branch; "": there is none.
func (p *Project) Tip(branch string) string {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	return p.tip(branch)
}

// History counts the commits of a branch, and the merges among them.
func (p *Project) History(branch string) (commits, merges int) {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	list := must2(p.git(nil, "rev-list", "--parents", "refs/heads/"+branch))
	for line := range strings.Lines(list) {
		commits++
		if len(strings.Fields(line)) > 2 {
			merges++
		}
	}
	return commits, merges
}

// Straight says whether the second parent of each merge of a branch's line stands on the
// first, as in a semi-linear history.
func (p *Project) Straight(branch string) bool {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	for line := range strings.Lines(must2(p.git(nil, "rev-list", "--first-parent", "--min-parents=2", "--parents", "refs/heads/"+branch))) {
		if f := strings.Fields(line); must2(p.git(nil, "merge-base", f[1], f[2])) != f[1] {
			return false
		}
	}
	return true
}

// Message returns the message of the commit at a branch's tip.
func (p *Project) Message(branch string) string {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	return must2(p.git(nil, "log", "-1", "--format=%B", "refs/heads/"+branch))
}

// MergeCommit makes the merge of two commits, without a branch for it, as a client's git
// does before it pushes.
func (p *Project) MergeCommit(a, b string) string {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	tree, ok := p.mergeTree(a, b)
	if !ok {
		panic("it does not merge")
	}
	return p.commitTree(tree, "Merge", a, b)
}

// SquashCommit makes one commit on base with all changes of head.
func (p *Project) SquashCommit(base, head, message string) string {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	tree, ok := p.mergeTree(base, head)
	if !ok {
		panic("it does not merge")
	}
	return p.commitTree(tree, message, base)
}
