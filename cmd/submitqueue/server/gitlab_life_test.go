package server

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	fake "github.com/submitqueue/submitqueue/forge/forgetest/gitlab"
	"github.com/submitqueue/submitqueue/queue/storetest"
)

// mergeLife is a merge request with its heads, in the order in which they are first seen.
type mergeLife struct {
	*serving
	*fake.Project
	gl    *fake.Server
	n     int
	known []string
}

// stands waits until the one note of the bot has a headline and texts, and the status of
// all heads so far is this, oldest first: "<head> <state>", where what runs is pending.
func (l *mergeLife) stands(headline string, statuses []string, texts ...string) {
	l.t.Helper()
	if head := l.Look(l.n).SHA; !slices.Contains(l.known, head) {
		l.known = append(l.known, head)
	}
	note := func() string {
		notes := l.Notes(l.gl.Bot(), l.n)
		if len(notes) != 1 {
			return fmt.Sprintf("%d notes", len(notes))
		}
		return notes[0].Body
	}
	l.until("the note begins with "+headline, func() bool {
		text := note()
		title, _, _ := strings.Cut(text, "\n")
		return strings.Contains(title, headline) && !slices.ContainsFunc(texts, func(s string) bool { return !strings.Contains(text, s) })
	})
	got := func() (list []string) {
		for i, head := range l.known {
			for _, s := range l.Statuses(l.gl.Bot(), head, "submitqueue") {
				state := s.State
				if state == "running" { // a build has begun before anything was said
					state = "pending"
				}
				list = append(list, fmt.Sprintf("%d %s", i+1, state))
			}
		}
		return list
	}
	l.until(fmt.Sprintf("%s: the statuses are %v", headline, statuses), func() bool { return slices.Equal(got(), statuses) })
}

// waits waits until the queue has the merge request, or has it no more.
func (l *mergeLife) waits(want bool) {
	l.t.Helper()
	l.until(fmt.Sprintf("it waits: %v", want), func() bool { return (len(l.queue("group/sub/shop@main").Order) == 1) == want })
}

// TestLifeOfAMergeRequest goes through all that people do to a merge request. The note and
// the status are asserted after each step; in the end the bot has said nothing else, and
// has executed nothing.
func TestLifeOfAMergeRequest(t *testing.T) {
	storetest.OneOf(t, 3)
	t.Parallel()
	gl, p, s := gitlabServer(t, fake.Options{}, "version: 1\npermissions: {land: write, queue: maintain}\nsteps:\n  - {name: test, run: 'test ! -s bad || { echo bad is bad; exit 1; }'}\n")
	gl.Strict(t)
	for user, level := range map[string]int{"bob": 30, "max": 40, "rea": 20} {
		gl.AddUser(user)
		p.SetLevel(user, level)
	}
	l := &mergeLife{serving: s, Project: p, gl: gl}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%+v\n%+v\n%+v", p.Look(l.n), p.AllNotes(l.n), p.Pipelines())
		}
	})

	// Opened, approved and talked about: nobody asked us.
	p.Push("ann", "topic", map[string]string{"bad": "bad\n"})
	l.n = p.Open(fake.Opening{Author: "ann", Source: "topic", Title: "A topic"})
	p.Approve("bob", l.n)
	p.Comment("bob", l.n, "Nice. When it lands, tell me.")
	p.Label("ann", l.n, "good-first-issue", true)

	// A reporter may not land it, and is told so.
	p.Comment("rea", l.n, "/land")
	s.until("rea is told", func() bool {
		notes := p.Notes(gl.Bot(), l.n)
		return len(notes) == 1 && strings.Contains(notes[0].Body, "rea")
	})
	if list := s.queue("group/sub/shop@main").Order; len(list) != 0 {
		t.Errorf("a reporter has brought %+v in", list)
	}

	// It fails.
	p.Comment("ann", l.n, "/land")
	l.stands("❌ Rejected", []string{"1 failed"}, "bad is bad", "`test`")

	// What is pushed then is not asked for. It is mended, and waits.
	p.Push("ann", "topic", map[string]string{"bad": "", "good": "good\n"})
	l.stands("❌ Rejected", []string{"1 failed"})
	p.Comment("max", l.n, "/queue pause the release goes out")
	s.until("landings are paused", func() bool { return s.queue("group/sub/shop@main").Paused })
	p.Comment("ann", l.n, "/land")
	l.waits(true)
	l.stands("1st of 1 in the queue", []string{"1 failed", "2 pending"}, "landings are paused")

	// A push takes it out.
	p.Push("ann", "topic", map[string]string{"more": "more\n"})
	l.stands("Out of the queue: new commits were pushed", []string{"1 failed", "2 canceled"})

	// It is renamed and asked for by somebody else, then closed.
	p.SetTitle("ann", l.n, "A better topic")
	p.Comment("bob", l.n, "/land")
	l.waits(true)
	l.stands("1st of 1 in the queue", []string{"1 failed", "2 canceled", "3 pending"}, "asked for by `bob`")
	p.Close("ann", l.n)
	l.stands("Out of the queue: the merge request was closed", []string{"1 failed", "2 canceled", "3 canceled"})

	// Open again, it needs to be asked for anew; a force push takes it out, too.
	p.Reopen("ann", l.n)
	p.Comment("ann", l.n, "/land")
	l.waits(true)
	l.stands("1st of 1 in the queue", []string{"1 failed", "2 canceled", "3 pending"})
	p.Force("ann", "topic", p.Push("bob", "elsewhere", map[string]string{"good": "best\n"}))
	l.stands("Out of the queue: new commits were pushed", []string{"1 failed", "2 canceled", "3 canceled"})

	// It passes and lands.
	p.Comment("ann", l.n, "/land")
	l.waits(true)
	p.Comment("max", l.n, "/queue resume")
	s.until("it is merged", func() bool { return p.Look(l.n).State == "merged" })
	l.stands("✅ Landed", []string{"1 failed", "2 canceled", "3 canceled", "4 success"}, "asked for by `ann`")
	if title, _, _ := strings.Cut(p.Message("main"), "\n"); title != fmt.Sprintf("Merge !%d: A better topic", l.n) {
		t.Errorf("main is %q", title)
	}
	if tip := p.Tip("main"); !p.Has(tip, "good") || p.Has(tip, "more") || p.Has(tip, "bad") {
		t.Error("other files have landed than those of the last push")
	}

	// One note, one award for each command, no quick action as the bot, no approval, no label.
	for _, note := range p.AllNotes(l.n) {
		want := []string(nil)
		if strings.HasPrefix(note.Body, "/") {
			want = []string{"eyes by " + gl.Bot()}
		}
		if note.Author == "rea" {
			want = append(want, "confused by "+gl.Bot())
		}
		slices.Sort(want) // two awards on one note are given beside each other
		if !slices.Equal(slices.Sorted(slices.Values(note.Awards)), want) {
			t.Errorf("%q has the awards %v", note.Body, note.Awards)
		}
		if note.Author == gl.Bot() && strings.Contains(note.Body, "pull request") {
			t.Errorf("the note speaks of another forge: %s", note.Body)
		}
	}
	if got := gl.BotActions(); len(got) != 0 {
		t.Errorf("executed as the bot: %v", got)
	}
	if mr := p.Look(l.n); !slices.Equal(mr.Labels, []string{"good-first-issue"}) || slices.Contains(mr.Approved, gl.Bot()) {
		t.Errorf("it is %+v", mr)
	}
}

// Somebody says /land on a draft and marks it ready later: GitLab takes "Draft: " off the
// title then, and what lands does not call itself a draft.
func TestDraftLandsWithoutTheWord(t *testing.T) {
	storetest.OneOf(t, 3)
	t.Parallel()
	gl, p, s := gitlabServer(t, fake.Options{}, "version: 1\nqueue: {method: squash}\nsteps:\n  - {name: unit, run: 'true'}\n")
	p.Push("ann", "topic", map[string]string{"new.txt": "n\n"})
	n := p.Open(fake.Opening{Author: "ann", Source: "topic", Title: "Draft: A thing"})
	p.Comment("ann", n, "/land")
	s.until("the note says that it is a draft", func() bool {
		notes := p.Notes(gl.Bot(), n)
		return len(notes) == 1 && strings.Contains(notes[0].Body, "is a draft")
	})
	p.SetTitle("ann", n, "A thing")
	s.until("it is merged", func() bool { return p.Look(n).State == "merged" })
	if title, _, _ := strings.Cut(p.Message("main"), "\n"); title != fmt.Sprintf("A thing (!%d)", n) {
		t.Errorf("what has landed has the title %q", title)
	}
}
