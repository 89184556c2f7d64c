package app

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation"
)

// What was to be pushed is compared once it is on main, and let go of when its push
// is over and main does not show it: each would be looked for whenever main is read.
func TestReadBackEnds(t *testing.T) {
	m, heads := inspectRepo(t, map[string]string{"topic": "\nM 100644 inline a\ndata 2\nb\n"})
	p := newPerformer(NewOwner(OwnerOptions{Mirror: m, Branch: "main", Now: time.Now, Log: slog.New(slog.DiscardHandler)}), ownership{}).pushes
	s := queue.NewState("main")
	s.Push = &queue.Push{ID: "push", Commits: []queue.CommitID{heads["topic"]}}
	p.owner.publishCore(speculation.New(s))
	p.proven[heads["topic"]] = "its tree"
	read := func(tip string) string {
		t.Helper()
		over, err := p.overPushes()
		if err != nil {
			t.Fatal(err)
		}
		return p.readBack(t.Context(), heads[tip], over)
	}
	if got := read("main"); got != "" || len(p.proven) != 1 {
		t.Errorf("while it is pushed: %q, and %d are remembered", got, len(p.proven))
	}
	over, _ := p.overPushes()
	s.Push = nil
	if got := p.readBack(t.Context(), heads["main"], over); got != "" || len(p.proven) != 1 {
		t.Errorf("it was over after main was read: %q, and %d are remembered", got, len(p.proven))
	}
	if got := read("topic"); !strings.Contains(got, "its tree was proven") || len(p.proven) != 0 {
		t.Errorf("on main: %q, and %d are remembered", got, len(p.proven))
	}
	p.proven[heads["topic"]] = "its tree"
	if got := read("main"); got != "" || len(p.proven) != 0 {
		t.Errorf("lost: %q, and %d are remembered", got, len(p.proven))
	}
}

// The performer forgets a change when the state does.
func TestPerformerForgets(t *testing.T) {
	p := newPerformer(NewOwner(OwnerOptions{Now: time.Now, Log: slog.New(slog.DiscardHandler)}), ownership{})
	s := queue.NewState("main")
	s.Pulls[1], s.Changes["1.aa"] = &queue.Pull{Number: 1}, &queue.Change{ID: "1.aa", Number: 1, Phase: queue.Landed}
	p.owner.publishCore(speculation.New(s))
	for n, id := range map[int]queue.ChangeID{1: "1.aa", 2: "2.bb"} {
		p.publish.said[n], p.pace.told[n], p.pace.due[n] = forge.Publication{Number: n}, telling{}, time.Time{}
		p.publish.finished[id], p.pace.fresh[id] = true, true
	}
	if err := p.forget(); err != nil {
		t.Fatal(err)
	}
	for name, n := range map[string]int{"said": len(p.publish.said), "told": len(p.pace.told), "due": len(p.pace.due),
		"finished": len(p.publish.finished), "fresh": len(p.pace.fresh)} {
		if n != 1 {
			t.Errorf("%d of %s, want the one that the state knows", n, name)
		}
	}
	if !p.publish.finished["1.aa"] || p.publish.said[1].Number != 1 {
		t.Error("the wrong one was kept")
	}
}
