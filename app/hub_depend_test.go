package app_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/app"
	"github.com/submitqueue/submitqueue/forge/forgetest"
	"github.com/submitqueue/submitqueue/forge/github"
	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation"
	"github.com/submitqueue/submitqueue/workers"
)

// dependent opens a pull request with a description, and asks to land it.
func (h *hub) dependent(branch, body string, files map[string]string) int {
	h.Helper()
	h.push("ann", branch, files)
	n := must(h.Open(forgetest.Pull{Author: "ann", Branch: branch, Base: "main", Title: "Change " + branch, Body: body}))
	h.Comment("ann", n, "/land")
	return n
}

func TestLandsAfterWhatItDependsOn(t *testing.T) {
	h := newHub(t, hubOptions{})
	first := h.pull("first", map[string]string{"a": "a\n"}) // #1, and nobody has asked for it
	second := h.dependent("second", "Why.\n\ndepends on #1\n", map[string]string{"b": "b\n"})
	h.waiting(second, "what it depends on has not landed", "#1", "which nobody has asked to land: comment `/land` there")
	h.Comment("ann", first, "/land")
	h.landed(first)
	h.landed(second)
	if a, b := h.change(first), h.change(second); a.Line.Seq >= b.Line.Seq {
		t.Errorf("#%d landed as %d, #%d as %d", first, a.Line.Seq, second, b.Line.Seq)
	}
	third := h.dependent("third", "- [x] Depends-On: acme/shop#1 and #2", map[string]string{"c": "c\n"})
	h.landed(third)
}

func TestDependencyThatDoesNotLandIsSaid(t *testing.T) {
	h := newHub(t, hubOptions{})
	bad := h.land("broken", map[string]string{"bad": "bad\n"})
	h.rejected(bad)
	n := h.dependent("topic", "depends on #1", map[string]string{"a": "a\n"})
	h.waiting(n, "which has left its queue without landing")
	h.ClosePull("ann", bad)
	h.waiting(n, "which was closed without landing")
	h.Redescribe("ann", n, "depends on #77")
	h.waiting(n, "there is no such pull request")
	h.Redescribe("ann", n, "depends on else/where#1, acme/none#2")
	h.waiting(n, "`else/where#1`, whose repository has no queue here", "`acme/none#2`")
	h.Redescribe("ann", n, "> depends on #77")
	h.landed(n)
	h.quiet()
	h.says(bad)
}

func TestDependenciesInACircleAreSaid(t *testing.T) {
	h := newHub(t, hubOptions{})
	one := h.dependent("one", "depends on #2", map[string]string{"a": "a\n"})
	two := h.dependent("two", "depends on #1", map[string]string{"b": "b\n"})
	h.waiting(one, "which waits for this one in turn", "→ this one")
	h.waiting(two, "which waits for this one in turn", "→ this one")
	h.Redescribe("ann", two, "")
	h.landed(two)
	h.landed(one)
	self := h.dependent("self", "depends on #3", map[string]string{"c": "c\n"})
	h.waiting(self, "which waits for this one in turn (this one)")
	h.Redescribe("ann", self, "no")
	h.landed(self)
}

// A line that is written while the change is being built takes it out of the order.
func TestDependencyIsWrittenLate(t *testing.T) {
	h := newHub(t, hubOptions{})
	first := h.pull("first", map[string]string{"a": "a\n"})
	h.Comment("ada", first, "/queue pause")
	h.until("landings are paused", func(c *speculation.Core) bool { return c.State().Main.Paused != nil })
	n := h.dependent("topic", "", map[string]string{"b": "b\n"})
	h.until("it is in the order", func(c *speculation.Core) bool {
		p := c.State().Pulls[n]
		return p != nil && c.State().Changes[p.Active] != nil && c.State().Changes[p.Active].Phase == queue.Pending
	})
	h.Redescribe("ann", n, "depends on #1")
	h.waiting(n, "which nobody has asked to land")
	h.stop()
	h.start(hubOptions{}) // the dependencies are known after a restart
	h.Comment("ada", first, "/queue resume")
	h.Comment("ann", first, "/land")
	h.landed(first)
	h.landed(n)
}

// Of another repository of the server, the queue there says when something has become
// of it; here nobody has asked that one to land, and it is landed by hand.
func TestLandsAfterWhatAnotherRepositoryLands(t *testing.T) {
	neighbors := app.NewNeighbors()
	h := newHub(t, hubOptions{neighbors: neighbors})
	web := must(h.github.AddRepository("acme", "web", "main"))
	web.SetPermission("ada", "admin")
	there := &hub{T: t, Repository: web}
	there.push("ada", "main", plain())
	there.push("ada", "topic", map[string]string{"a": "a\n"})
	other := must(web.OpenPull("ada", "topic", "main", "Topic"))
	adapter := must(github.New(github.Options{BaseURL: h.github.APIURL(), AppID: h.github.AppID(), PrivateKey: h.github.AppKey(), Owner: "acme", Name: "web", Logger: h.log}))
	clone := must(mirror.Open(t.Context(), filepath.Join(t.TempDir(), "mirror")))
	second := app.NewOwner(app.OwnerOptions{Queue: "acme/web@main", Branch: "main", Name: "second", Store: h.store, Forge: adapter, Mirror: clone,
		Workers: workers.NewInstant(1), Analyzers: analyzers, Now: time.Now, Log: h.log, Neighbors: neighbors})
	live, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- second.Run(live) }()
	t.Cleanup(func() {
		stop()
		mustNot(t, <-ended)
		mustNot(t, clone.Close())
	})
	for changed := second.Changed(); second.Ready() != nil; changed = second.Changed() {
		select {
		case <-changed:
		case <-time.After(patience / 4):
			t.Fatalf("the second queue: %v", second.Ready())
		}
	}
	n := h.dependent("topic", "depends on acme/web#1", map[string]string{"a": "a\n"})
	h.waiting(n, "It depends on `acme/web#1`, which nobody has asked to land")
	web.Label("ada", other, "landed")
	web.ClosePull("ada", other)
	mustNot(t, h.store.Append(t.Context(), "acme/web@main", queue.Event{ID: "closed", At: queue.At(time.Now()), Body: queue.Closed{Number: other}}))
	h.landed(n)
}
