package conform

import (
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
)

func publisher(t *testing.T, h Host) {
	p := h.Forge.Capabilities().Publisher
	n, head := h.opened("topic")
	say := forge.Publication{Number: n, Marker: marker, Comment: marker + "\n" + hostile[0],
		Check: forge.Check{Name: "conform", Head: head, ExternalID: "x", State: forge.CheckRunning, Title: "runs"}}
	for range 2 {
		mustNot(t, "publishing", p.Publish(t.Context(), say))
	}
	if c, s := h.Seen.Comments(n), h.Seen.Checks(head, "conform"); len(c) != 1 || c[0] != say.Comment || len(s) != 1 || s[0] != forge.CheckRunning {
		t.Errorf("people see %q and %q", c, s)
	}
	if pr := h.pull(t, n); !pr.Open {
		t.Errorf("it has not ended: %+v", pr)
	}
	say.Ended, say.Merged, say.Check.State = true, true, forge.CheckPassed
	for range 2 {
		mustNot(t, "publishing the end", p.Publish(t.Context(), say))
	}
	if pr := h.pull(t, n); pr.Open || !pr.Merged {
		t.Errorf("it has landed: %+v", pr)
	}
	other, _ := h.opened("other")
	mustNot(t, "publishing the end", p.Publish(t.Context(), forge.Publication{Number: other, Marker: marker, Comment: "over", Ended: true}))
	if pr := h.pull(t, other); pr.Open || pr.Merged {
		t.Errorf("it has ended and not landed: %+v", pr)
	}
	say.Number = nowhere
	mustBe(t, "publishing of no pull request", p.Publish(t.Context(), say), forge.ErrNotFound)
}

func reactor(t *testing.T, h Host) {
	r := h.Forge.Capabilities().Reactor
	n, _ := h.opened("topic")
	h.People.Ask(n, queue.PlainLand)
	events, err := h.Forge.Missed(t.Context(), time.Now().Add(-time.Hour), nil)
	if err != nil {
		t.Fatal(err)
	}
	id := ""
	for _, e := range events {
		if c, ok := e.Body.(queue.Commented); ok && c.Number == n {
			id = c.Comment
		}
	}
	for range 2 {
		mustNot(t, "reacting", r.React(t.Context(), n, id, forge.ReactionSeen))
	}
	if got := h.Seen.Reactions(n); got != 1 {
		t.Errorf("people see %d reactions, want 1", got)
	}
	for _, id := range []string{"99999999", hostile[1], ""} {
		mustBe(t, "reacting to no comment", r.React(t.Context(), n, id, forge.ReactionSeen), forge.ErrNotFound)
	}
}

func stacker(t *testing.T, h Host) {
	s := h.Forge.Capabilities().Stacker
	low, head := h.opened("low")
	h.People.Push("high")
	high := h.People.Open("high", "low", "High", "")
	closed, _ := h.opened("closed")
	h.People.Close(closed)
	from, err := s.OpenFrom(t.Context(), "low")
	if err != nil || len(from) != 1 || from[0].Number != low || from[0].Head != head || from[0].Base != h.Base || !from[0].Open {
		t.Errorf("from low: %+v, %v", from, err)
	}
	for _, branch := range append(branches, "closed", "nobody's") {
		if from, err := s.OpenFrom(t.Context(), branch); err != nil || len(from) != 0 {
			t.Errorf("from %q: %+v, %v", branch, from, err)
		}
	}
	for range 2 {
		mustNot(t, "retargeting", s.Retarget(t.Context(), high, h.Base))
	}
	if pr := h.pull(t, high); pr.Base != h.Base || !pr.Open {
		t.Errorf("retargeted to %s: %+v", h.Base, pr)
	}
	mustNot(t, "retargeting one that is closed", s.Retarget(t.Context(), closed, "low"))
	mustBe(t, "retargeting no pull request", s.Retarget(t.Context(), nowhere, h.Base), forge.ErrNotFound)
}

func closer(t *testing.T, h Host) {
	c := h.Forge.Capabilities().Closer
	n, _ := h.opened("topic")
	other, _ := h.opened("other")
	house, err := c.House(t.Context())
	if err != nil || house.Default != h.Base {
		t.Errorf("the repository: %+v, %v", house, err)
	}
	into := func() int {
		t.Helper()
		list, err := c.Uses(t.Context(), []string{"topic", h.Base, "nobody's"})
		mustNot(t, "listing", err)
		if len(list) != 3 || list[0].Gone || list[1].Gone || !list[2].Gone || len(list[0].Into)+len(list[1].From)+len(list[2].Into) != 0 {
			t.Fatalf("branches are used: %+v", list)
		}
		if pr := h.pull(t, n); pr.Open != slices.Contains(list[0].From, n) || len(list[0].From) > 1 {
			t.Errorf("from topic: %+v, and #%d is %+v", list[0], n, pr)
		}
		return len(list[1].Into)
	}
	if none, err := c.Uses(t.Context(), nil); err != nil || len(none) != 0 {
		t.Errorf("of no branch: %+v, %v", none, err)
	}
	if got := into(); got != 2 {
		t.Errorf("%d pull requests ask for %s, want 2", got, h.Base)
	}
	for range 2 {
		mustNot(t, "closing", c.Close(t.Context(), n, forge.Closing{Label: "landed", Issues: true}))
	}
	if pr := h.pull(t, n); pr.Open || len(pr.Labels) != 1 || pr.Labels[0] != "landed" {
		t.Errorf("closed: %+v", pr)
	}
	h.People.Close(other)
	mustNot(t, "closing what people have closed", c.Close(t.Context(), other, forge.Closing{Label: "landed", Issues: true}))
	if got := into(); got != 0 {
		t.Errorf("%d pull requests ask for %s, want none", got, h.Base)
	}
	mustBe(t, "closing no pull request", c.Close(t.Context(), nowhere, forge.Closing{Label: "landed", Issues: true}), forge.ErrNotFound)
}

func proposer(t *testing.T, h Host) {
	p := h.Forge.Capabilities().Proposer
	head := h.People.Push("revert/1")
	ask := forge.Proposal{Branch: "revert/1", Base: h.Base, Title: hostile[0], Body: hostile[1]}
	_, err := p.Proposed(t.Context(), ask.Branch, ask.Base)
	mustBe(t, "before it is opened", err, forge.ErrNotFound)
	first, err := p.Propose(t.Context(), ask)
	if err != nil || first.Head != head || first.Base != h.Base || !first.Open || len(first.ApprovedBy) != 0 {
		t.Fatalf("proposed: %+v, %v", first, err)
	}
	for _, f := range []forge.Forge{h.Forge, h.Again()} {
		again, err := f.Capabilities().Proposer.Propose(t.Context(), ask)
		found, err2 := f.Capabilities().Proposer.Proposed(t.Context(), ask.Branch, ask.Base)
		if err := errors.Join(err, err2); err != nil || again.Number != first.Number || found.Number != first.Number {
			t.Errorf("proposed again as %d, found as %d, %v; it is %d", again.Number, found.Number, err, first.Number)
		}
	}
	h.People.Close(first.Number)
	if next, err := p.Propose(t.Context(), ask); err != nil || next.Number == first.Number {
		t.Errorf("proposed after it was closed: %+v, %v", next, err)
	}
	ask.Branch = "not-there"
	if _, err := p.Propose(t.Context(), ask); err == nil {
		t.Error("a branch that is not there is proposed")
	}
}

func requirer(t *testing.T, h Host) {
	can := h.Forge.Capabilities()
	n, head := h.opened("topic")
	ask := forge.Requirements{Number: n, Author: h.Author, Head: head, Base: h.Base, Branch: h.Base, Checks: true, Except: []string{"conform"}}
	unmet, err := can.Requirer.Unmet(t.Context(), ask)
	if err != nil || len(unmet.Unmet) != 0 {
		t.Errorf("nothing is asked for; not met: %+v, %v", unmet, err)
	}
	moved := ask
	moved.Head = unknown
	if _, err := can.Requirer.Unmet(t.Context(), moved); !errors.As(err, new(*forge.Transient)) {
		t.Errorf("at another head: %v, which is not transient", err)
	}
	none := ask
	none.Number = nowhere
	_, err = can.Requirer.Unmet(t.Context(), none)
	mustBe(t, "what no pull request meets", err, forge.ErrNotFound)
	if can.Stander == nil {
		return
	}
	pr, both, err := can.Stander.Stands(t.Context(), ask)
	if want := h.pull(t, n); err != nil || len(both.Unmet) != 0 || pr.Number != want.Number || pr.Head != want.Head || pr.Base != want.Base || pr.Open != want.Open || pr.Title != want.Title || !reflect.DeepEqual(pr.Labels, want.Labels) {
		t.Errorf("read at once: %+v, %+v, %v; alone: %+v", pr, both, err, want)
	}
	_, _, err = can.Stander.Stands(t.Context(), none)
	mustBe(t, "how no pull request stands", err, forge.ErrNotFound)
}

func teams(t *testing.T, h Host) {
	for _, team := range []string{"nobody/knows", "a/../b", "no-slash", "a/b?c", hostile[1]} {
		for _, user := range []string{h.Author, "nobody-knows-me", "../x"} {
			if in, err := h.Forge.Capabilities().Teams.InTeam(t.Context(), team, user); err != nil || in {
				t.Errorf("%q is in team %q: %v, %v", user, team, in, err)
			}
		}
	}
}

func ci(t *testing.T, h Host) {
	c := h.Forge.Capabilities().CI
	_, head := h.opened("topic")
	if got, err := c.CIResults(t.Context(), head); err != nil || len(got.List) != 0 || got.Now.IsZero() {
		t.Errorf("of a commit that nothing is said of: %+v, %v", got, err)
	}
	got, err := c.CIResults(t.Context(), unknown)
	mustBe(t, "the results of no commit", err, forge.ErrNotFound)
	if got.Now.IsZero() {
		t.Error("the time is not given with them")
	}
	for _, branch := range append(branches, "not-there") {
		if runs, err := c.CIRuns(t.Context(), branch); err != nil || len(runs) != 0 {
			t.Errorf("runs of %q: %+v, %v", branch, runs, err)
		}
	}
	if runs, err := c.CIRunsOf(t.Context(), head); err != nil || len(runs) != 0 {
		t.Errorf("runs of a commit without: %+v, %v", runs, err)
	}
	mustNot(t, "stopping a run that is gone", c.CancelRun(t.Context(), nowhere))
	_, err = c.CILog(t.Context(), forge.CIResult{ID: nowhere, Commit: head})
	mustBe(t, "the log of no check run", err, forge.ErrNotFound)
}

func locator(t *testing.T, h Host) {
	l := h.Forge.Capabilities().Locator
	n, head := h.opened("topic")
	first, err := l.Locate(t.Context(), 0)
	if err != nil || first.ID == 0 || first.Name == "" || first.Default != h.Base {
		t.Fatalf("where it is: %+v, %v", first, err)
	}
	if by, err := l.Locate(t.Context(), first.ID); err != nil || by != first {
		t.Errorf("by its id: %+v, %v", by, err)
	}
	if now, err := l.BranchNow(t.Context(), h.Base); err != nil || now != h.Base {
		t.Errorf("branch %s is called %q by now, %v", h.Base, now, err)
	}
	for _, branch := range append(branches, "not-there") {
		_, err := l.BranchNow(t.Context(), branch)
		mustBe(t, "what became of no branch", err, forge.ErrNotFound)
	}
	h.Rename()
	for _, f := range []forge.Forge{h.Forge, h.Again()} {
		now, err := f.Capabilities().Locator.Locate(t.Context(), first.ID)
		if err != nil || now.ID != first.ID || now.Name == first.Name {
			t.Errorf("renamed: %+v, %v; it was %+v", now, err, first)
		}
		for _, v := range h.verbs(n, head) {
			mustNot(t, v.name+", of a renamed repository", v.do(t.Context(), f))
		}
	}
}

func access(t *testing.T, h Host) {
	n, head := h.opened("topic")
	for _, forget := range []func(){h.Forge.Capabilities().Access.Refresh, h.Forge.Capabilities().Access.Reset} {
		for range 2 {
			forget()
		}
		for _, v := range h.verbs(n, head) {
			mustNot(t, v.name+", with access anew", v.do(t.Context(), h.Forge))
		}
	}
}

func redeliverer(t *testing.T, h Host) {
	for range 2 {
		if n, err := h.Forge.Capabilities().Redeliverer.Redeliver(t.Context(), time.Now().Add(-time.Hour)); err != nil || n != 0 {
			t.Errorf("nothing was lost; asked for again: %d, %v", n, err)
		}
	}
}

func limited(t *testing.T, h Host) {
	l := h.Forge.Capabilities().Limited
	n, _ := h.opened("topic")
	before := l.Limits()
	h.pull(t, n)
	after, again := l.Limits(), l.Limits()
	if after.Asked <= before.Asked || after.Account == "" {
		t.Errorf("a request was made, and is not counted: %+v, then %+v", before, after)
	}
	if again.Asked != after.Asked {
		t.Error("telling the limits asks the host")
	}
}

func tidier(t *testing.T, h Host) {
	n, head := h.opened("topic")
	for range 2 {
		mustNot(t, "tidying", h.Forge.Capabilities().Tidier.Tidy(t.Context()))
	}
	for _, v := range h.verbs(n, head) {
		mustNot(t, v.name+", after tidying", v.do(t.Context(), h.Forge))
	}
}
