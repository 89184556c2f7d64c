package gitlab

import (
	"regexp"
	"slices"
	"strings"
	"time"
)

type note struct {
	id        int
	author    *User
	body      string
	system    bool
	internal  bool
	read      bool
	awards    []award
	createdAt time.Time
	updatedAt time.Time
}

type award struct {
	id   int
	name string
	user *User
}

// Note is a note as tests see it.
type Note struct {
	ID     int
	Author string
	Body   string
	Awards []string // "name by account"
}

// Action is a quick action that was executed.
type Action struct {
	User string
	Line string
}

// quickActions are the quick actions that GitLab knows; /land is not one of them.
var quickActions = []string{"approve", "unapprove", "assign", "unassign", "assign_reviewer", "close", "copy_metadata", "done", "draft", "estimate", "label", "unlabel", "relabel",
	"lock", "merge", "milestone", "ready", "rebase", "remove_due_date", "reopen", "request_review", "shrug", "spend", "submit_review", "subscribe", "tableflip", "target_branch", "title", "todo", "unlock", "unsubscribe", "react", "cc", "label", "ship"}

var actionLine = regexp.MustCompile(`^/([a-z_]+)(?:[ \t]+(.*?))?[ \t\r]*$`)

// obey removes the quick actions from a text, executes them with its author's rights,
// and returns the rest. Code, quotes and HTML blocks are left alone.
func (p *Project) obey(mr *mergeRequest, by *User, text string) string {
	var left []string
	obeyed := false
	fence, html := "", false
	for line := range strings.SplitSeq(text, "\n") {
		trimmed := strings.TrimLeft(line, " \t")
		switch {
		case fence != "":
			if strings.HasPrefix(line, fence) && strings.Trim(strings.TrimPrefix(line, fence), "`~ \r") == "" {
				fence = ""
			}
		case strings.HasPrefix(line, "```"), strings.HasPrefix(line, "~~~"):
			fence = line[:3]
			for len(line) > len(fence) && line[len(fence)] == fence[0] {
				fence += line[:1]
			}
		case html:
			html = trimmed != ""
		case strings.HasPrefix(line, "<"):
			html = true
		case strings.HasPrefix(line, ">"):
		default:
			if m := actionLine.FindStringSubmatch(line); m != nil && slices.Contains(quickActions, m[1]) {
				p.execute(mr, by, m[1], m[2], line)
				obeyed = true
				continue
			}
		}
		left = append(left, line)
	}
	if !obeyed {
		return text
	}
	return strings.TrimSpace(strings.Join(left, "\n"))
}

func (p *Project) execute(mr *mergeRequest, by *User, name, arg, line string) {
	if by == p.s.bot {
		p.s.acted = append(p.s.acted, Action{by.Name, line})
	}
	switch name {
	case "approve":
		mr.approve(by)
	case "close":
		mr.close(by)
	case "reopen":
		mr.reopen(by)
	case "draft":
		if !mr.draft() {
			mr.retitle(by, "Draft: "+mr.title)
		}
	case "ready":
		mr.retitle(by, strings.TrimSpace(draftTitle.ReplaceAllString(mr.title, "")))
	case "title":
		mr.retitle(by, arg)
	case "label":
		mr.relabel(by, append(slices.Clone(mr.labels), strings.Trim(arg, `~"`)))
	case "merge":
		mr.accept(by, merging{})
	}
}

// BotActions lists the quick actions that were executed as the bot: there should be none.
func (s *Server) BotActions() []Action {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.acted)
}

// addNote saves a note, if it has any text without its quick actions.
func (mr *mergeRequest) addNote(by *User, body string) *note {
	p := mr.project
	left := p.obey(mr, by, body)
	if left == "" {
		return nil
	}
	now := p.s.now()
	n := &note{id: p.s.nextID(), author: by, body: left, createdAt: now, updatedAt: now}
	mr.notes = append(mr.notes, n)
	mr.touch()
	mr.tellNote(n, "create")
	return n
}

// editNote gives a note another text; if no text is left, the note is deleted.
func (mr *mergeRequest) editNote(n *note, body string) (deleted bool) {
	left := mr.project.obey(mr, n.author, body)
	if left == "" {
		mr.dropNote(n)
		return true
	}
	if left != n.body {
		n.body, n.read, n.updatedAt = left, false, mr.project.s.now()
		mr.touch()
		mr.tellNote(n, "update")
	}
	return false
}

func (mr *mergeRequest) dropNote(n *note) {
	mr.notes = slices.DeleteFunc(mr.notes, func(x *note) bool { return x == n })
}

func (mr *mergeRequest) note(id int) *note {
	for _, n := range mr.notes {
		if n.id == id {
			return n
		}
	}
	return nil
}

// Comment writes a note; 0: it has no text without its quick actions.
func (p *Project) Comment(user string, iid int, body string) int {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	if n := p.mr(iid).addNote(p.s.user(user), body); n != nil {
		return n.id
	}
	return 0
}

// EditComment edits a note; true: that has deleted it.
func (p *Project) EditComment(iid, id int, body string) bool {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	return p.mr(iid).editNote(p.mr(iid).note(id), body)
}

// SystemNote adds a note that GitLab writes itself: it sends no webhook.
func (p *Project) SystemNote(iid int, body string) {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	mr := p.mr(iid)
	now := p.s.now()
	mr.notes = append(mr.notes, &note{id: p.s.nextID(), author: mr.author, body: body, system: true, createdAt: now, updatedAt: now})
}

// Notes returns the notes of an account on a merge request, oldest first, and marks them
// as read.
func (p *Project) Notes(user string, iid int) (list []Note) {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	for _, n := range p.mr(iid).notes {
		if strings.EqualFold(n.author.Name, user) && !n.system {
			n.read = true
			list = append(list, n.look())
		}
	}
	return list
}

// AllNotes returns all notes that accounts wrote on a merge request, and does not mark them
// as read.
func (p *Project) AllNotes(iid int) (list []Note) {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	for _, n := range p.mr(iid).notes {
		if !n.system {
			list = append(list, n.look())
		}
	}
	return list
}

func (n *note) look() Note {
	out := Note{ID: n.id, Author: n.author.Name, Body: n.body}
	for _, a := range n.awards {
		out.Awards = append(out.Awards, a.name+" by "+a.user.Name)
	}
	return out
}

// TB is what Strict needs of a *testing.T.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
	Cleanup(func())
}

// Strict fails the test at its end for each note of the bot that was not read in its final
// text, and for each quick action that was executed as the bot.
func (s *Server) Strict(t TB) {
	t.Cleanup(func() { t.Helper(); s.AssertRead(t) })
}

// AssertRead does the checks of Strict now.
func (s *Server) AssertRead(t TB) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.projects {
		for _, mr := range p.sorted() {
			for _, n := range mr.notes {
				if n.author == s.bot && !n.read {
					t.Errorf("%s!%d: nothing read what the bot said:\n%s", p.path, mr.iid, n.body)
				}
			}
		}
	}
	for _, a := range s.acted {
		t.Errorf("a quick action was executed as the bot: %s", a.Line)
	}
}
