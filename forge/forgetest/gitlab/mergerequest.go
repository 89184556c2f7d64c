package gitlab

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// mergeRequest is a merge request of a project.
type mergeRequest struct {
	project *Project
	id, iid int
	author  *User
	title   string
	body    string
	source  string
	from    *Project // the project of the source branch
	target  string
	state   string // "opened", "closed", "merged" or "locked"
	labels  []string
	squash  bool

	versions  []diffVersion
	approvals []approval
	syncing   time.Time // until then, GitLab is about to check the approvals
	threads   []*thread
	notes     []*note
	awards    []award
	relabels  []relabeling

	checked     string // of the merge status: "unchecked", "checking" or "checked"
	mergeError  string
	mergeCommit string
	squashed    string
	mergedAt    time.Time
	createdAt   time.Time
	updatedAt   time.Time
	assignees   []*User
	blockers    []*mergeRequest
	external    []ExternalCheck
	newStatus   string // an unknown detailed_merge_status; empty: none
}

// diffVersion is one stored state of a merge request's diff.
type diffVersion struct {
	id         int
	head, base string
	at         time.Time
	empty      bool
}

type approval struct {
	user *User
	at   time.Time
}

type thread struct {
	id       string
	notes    []*note
	resolved bool
	single   bool // a single note, not a thread
}

type relabeling struct {
	id    int
	user  *User
	label string
	on    bool
	at    time.Time
}

// MergeRequest is a merge request as tests see it.
type MergeRequest struct {
	IID         int
	Title       string
	State       string
	SHA         string // head of its stored diff
	Empty       bool   // its stored diff is empty
	Source      string
	Target      string
	Labels      []string
	Approved    []string
	MergeCommit string
	Squashed    string
	Draft       bool
	Status      string // detailed_merge_status
}

// Opening says what merge request to open.
type Opening struct {
	Author string
	Source string
	Fork   *Project // the project of the source branch; nil: the target's
	Target string   // empty: the default branch
	Title  string   // empty: the source's name
	Body   string
}

// Open opens a merge request and returns its number.
func (p *Project) Open(o Opening) int {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	if o.Target == "" {
		o.Target = p.main
	}
	if o.Title == "" {
		o.Title = "Change " + o.Source
	}
	from := p
	if o.Fork != nil {
		from = o.Fork
	}
	mr, no := p.open(p.s.user(o.Author), from, o)
	if no != nil {
		panic(fmt.Sprint("open a merge request: ", no.body))
	}
	return mr.iid
}

func (p *Project) open(by *User, from *Project, o Opening) (*mergeRequest, *refused) {
	if from.tip(o.Source) == "" || p.tip(o.Target) == "" {
		return nil, &refused{400, obj{"message": obj{"source_branch": []string{"does not exist"}}}}
	}
	for _, mr := range p.sorted() {
		if mr.state == "opened" && mr.source == o.Source && mr.from == from && mr.target == o.Target {
			return nil, &refused{409, obj{"message": []string{fmt.Sprintf("Another open merge request already exists for this source branch: !%d", mr.iid)}}}
		}
	}
	p.numbers++
	now := p.s.now()
	mr := &mergeRequest{project: p, id: p.s.nextID(), iid: p.numbers, author: by, title: o.Title, source: o.Source, from: from, target: o.Target,
		state: "opened", createdAt: now, updatedAt: now, squash: p.set.Squash == "always" || p.set.Squash == "default_on"}
	p.mrs[mr.iid] = mr
	mr.body = p.obey(mr, by, o.Body)
	mr.reload()
	mr.tell("open", by, nil)
	if p.set.Merged {
		p.s.later("pipeline of a merge request", 0, func() { p.mergeRequestPipeline(mr, by) })
	}
	return mr, nil
}

// head returns the commit that GitLab shows as sha: the head of the stored diff.
func (mr *mergeRequest) head() string {
	if len(mr.versions) == 0 {
		return ""
	}
	return mr.versions[len(mr.versions)-1].head
}

func (mr *mergeRequest) empty() bool {
	return len(mr.versions) == 0 || mr.versions[len(mr.versions)-1].empty
}

// reload stores the diff as the branches are now.
func (mr *mergeRequest) reload() {
	p := mr.project
	tip := mr.from.tip(mr.source)
	if tip == "" {
		return
	}
	if mr.from != p {
		must2(p.git(nil, "fetch", "-q", mr.from.dir, tip))
	}
	must2(p.git(nil, "update-ref", fmt.Sprintf("refs/merge-requests/%d/head", mr.iid), tip))
	base := p.base(p.tip(mr.target), tip)
	mr.versions = append(mr.versions, diffVersion{p.s.nextID(), tip, base, p.s.now(), base == tip || len(p.between(p.tip(mr.target), tip)) == 0})
	mr.unchecked()
}

// unchecked makes GitLab work out the merge status again when a client asks for it.
func (mr *mergeRequest) unchecked() { mr.checked = "unchecked" }

var draftTitle = regexp.MustCompile(`(?i)^(\[draft\]|\(draft\)|draft:|draft - )`)

func (mr *mergeRequest) draft() bool { return draftTitle.MatchString(mr.title) }

func (mr *mergeRequest) touch() { mr.updatedAt = mr.project.s.now() }

// Look returns a merge request as it stands, without making GitLab work out its merge
// status.
func (p *Project) Look(iid int) MergeRequest {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	mr := p.mr(iid)
	out := MergeRequest{IID: iid, Title: mr.title, State: mr.state, SHA: mr.head(), Empty: mr.empty(), Source: mr.source, Target: mr.target,
		Labels: slices.Clone(mr.labels), MergeCommit: mr.mergeCommit, Squashed: mr.squashed, Draft: mr.draft(), Status: mr.detailed()}
	for _, a := range mr.approvals {
		out.Approved = append(out.Approved, a.user.Name)
	}
	return out
}

// Close closes a merge request.
func (p *Project) Close(user string, iid int) {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	p.mr(iid).close(p.s.user(user))
}

func (mr *mergeRequest) close(by *User) {
	if mr.state != "opened" {
		return
	}
	mr.state = "closed"
	mr.touch()
	mr.tell("close", by, nil)
}

// Reopen opens a closed merge request again.
func (p *Project) Reopen(user string, iid int) {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	p.mr(iid).reopen(p.s.user(user))
}

func (mr *mergeRequest) reopen(by *User) {
	if mr.state != "closed" {
		return
	}
	mr.state = "opened"
	mr.reload()
	mr.touch()
	mr.tell("reopen", by, nil)
}

// SetTitle gives a merge request another title: "Draft: " makes it a draft.
func (p *Project) SetTitle(user string, iid int, title string) {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	p.mr(iid).retitle(p.s.user(user), title)
}

func (mr *mergeRequest) retitle(by *User, title string) {
	changes := obj{"title": obj{"previous": mr.title, "current": title}}
	was := mr.draft()
	mr.title = title
	if was != mr.draft() {
		changes["draft"] = obj{"previous": was, "current": !was}
	}
	mr.touch()
	mr.tell("update", by, obj{"changes": changes})
}

// Label sets a label or removes it.
func (p *Project) Label(user string, iid int, label string, on bool) {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	mr := p.mr(iid)
	want := slices.DeleteFunc(slices.Clone(mr.labels), func(l string) bool { return l == label })
	if on {
		want = append(want, label)
	}
	mr.relabel(p.s.user(user), want)
}

func (mr *mergeRequest) relabel(by *User, want []string) {
	before := mr.labels
	s := mr.project.s
	for _, l := range before {
		if !slices.Contains(want, l) {
			mr.relabels = append(mr.relabels, relabeling{s.nextID(), by, l, false, s.now()})
		}
	}
	for _, l := range want {
		if !slices.Contains(before, l) {
			mr.relabels = append(mr.relabels, relabeling{s.nextID(), by, l, true, s.now()})
		}
	}
	if slices.Equal(before, want) {
		return
	}
	mr.labels = want
	mr.touch()
	mr.tell("update", by, obj{"changes": obj{"labels": obj{"previous": labelObjects(before), "current": labelObjects(want)}}})
}

// Approve approves a merge request: GitLab does not note for which head.
func (p *Project) Approve(user string, iid int) {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	p.mr(iid).approve(p.s.user(user))
}

func (mr *mergeRequest) approve(by *User) bool {
	if slices.ContainsFunc(mr.approvals, func(a approval) bool { return a.user == by }) {
		return false
	}
	now := mr.project.s.now()
	mr.approvals = append(mr.approvals, approval{by, now})
	mr.notes = append(mr.notes, &note{id: mr.project.s.nextID(), author: by, body: "approved this merge request", system: true, createdAt: now, updatedAt: now})
	mr.touch()
	action := "approved"
	if mr.project.s.opts.Premium && len(mr.approvals) < mr.project.set.Approvals {
		action = "approval"
	}
	mr.tell(action, by, nil)
	return true
}

// Unapprove removes an approval.
func (p *Project) Unapprove(user string, iid int) {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	mr, by := p.mr(iid), p.s.user(user)
	mr.approvals = slices.DeleteFunc(mr.approvals, func(a approval) bool { return a.user == by })
	mr.touch()
	mr.tell("unapproved", by, nil)
}

// SetSquash sets the flag of a merge request by which its commits are squashed.
func (p *Project) SetSquash(iid int, yes bool) {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	p.mr(iid).squash = yes
}

// Discuss begins a thread on a merge request, and returns its id.
func (p *Project) Discuss(user string, iid int, body string) string {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	mr := p.mr(iid)
	n := mr.addNote(p.s.user(user), body)
	if n == nil {
		panic("the note is only commands")
	}
	t := &thread{id: fmt.Sprintf("%040x", p.s.nextID()), notes: []*note{n}}
	mr.threads = append(mr.threads, t)
	return t.id
}

// Resolve resolves a thread.
func (p *Project) Resolve(user string, iid int, id string) {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	for _, t := range p.mr(iid).threads {
		if t.id == id {
			t.resolved = true
		}
	}
	p.mr(iid).touch()
}

// SetTarget gives a merge request another target branch.
func (p *Project) SetTarget(user string, iid int, branch string) {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	p.mr(iid).retarget(p.s.user(user), branch)
}

// retarget changes the target branch.
func (mr *mergeRequest) retarget(by *User, branch string) {
	if mr.target == branch {
		return
	}
	mr.target = branch
	mr.reload()
	mr.touch()
	mr.tell("update", by, obj{"changes": obj{"target_branch": nil}})
}

// Assign assigns somebody to a merge request.
func (p *Project) Assign(by string, iid int, to ...string) {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	mr := p.mr(iid)
	before := mr.assignees
	mr.assignees = nil
	for _, u := range to {
		mr.assignees = append(mr.assignees, p.s.user(u))
	}
	names := func(list, without []*User) (out []string) {
		for _, u := range list {
			if !slices.Contains(without, u) {
				out = append(out, "@"+u.Name)
			}
		}
		return out
	}
	var said []string
	if on := names(mr.assignees, before); len(on) > 0 {
		said = append(said, "assigned to "+strings.Join(on, ", "))
	}
	if off := names(before, mr.assignees); len(off) > 0 {
		said = append(said, "unassigned "+strings.Join(off, ", "))
	}
	now := p.s.now()
	mr.notes = append(mr.notes, &note{id: p.s.nextID(), author: p.s.user(by), body: strings.Join(said, " and "), system: true, createdAt: now, updatedAt: now})
	mr.touch()
	mr.tell("update", p.s.user(by), obj{"changes": obj{"assignees": obj{"previous": userObjects(before), "current": userObjects(mr.assignees)}}})
}

// SetStatus makes a merge request show a detailed_merge_status that a later version of
// GitLab may have; empty: it shows that no longer.
func (p *Project) SetStatus(iid int, status string) {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	p.mr(iid).newStatus = status
}
