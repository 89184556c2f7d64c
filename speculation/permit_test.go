package speculation

import (
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// pausedLong has a change asked for in a paused queue that goes on much later, so
// that the forge is asked about it once more before it lands.
func (w *world) pausedLong(p *pull, ask func(), meanwhile func()) {
	w.Helper()
	w.step(w.say(p, "boss", "/queue pause wait"))
	w.settleDown()
	ask()
	w.quiesce()
	meanwhile()
	w.now = w.now.Add(time.Hour)
	w.step(w.say(p, "boss", "/queue resume"))
	w.quiesce()
}

// The author of a command that lands still has the permission right before the
// change lands, for each such command.
func TestWhoAskedStillMay(t *testing.T) {
	for name, x := range map[string]struct {
		permissions config.Permissions
		first       func(w *world, p *pull) // before it is asked for
		words       string
		meanwhile   func(w *world, p *pull)
		want        string
	}{
		"land":        {words: "/land", want: "landed landed"},
		"land, named": {permissions: config.Permissions{Land: "maintain eve"}, words: "/land", want: "landed landed"},
		"role lost":   {words: "/land", meanwhile: func(w *world, _ *pull) { w.roles["eve"] = "read" }, want: "cancelled no-permission"},
		"now": {permissions: config.Permissions{Land: "maintain", Now: "eve"}, words: "/land now it burns",
			want: "landed landed"},
		"retry": {permissions: config.Permissions{Land: "maintain", Retry: "write"}, words: "/land retry", first: func(w *world, p *pull) {
			w.step(w.say(p, "boss", "/land"))
			w.settleDown()
			w.step(w.say(p, "boss", "/land cancel"))
			w.settleDown()
		}, want: "landed landed"},
		"delegated": {words: "/land", first: func(w *world, p *pull) {
			w.roles["eve"] = "read"
			w.step(w.say(p, "boss", "/land delegate @Eve"))
			w.settleDown()
		}, want: "landed landed"},
		"delegated, taken back": {words: "/land", first: func(w *world, p *pull) {
			w.roles["eve"] = "read"
			w.step(w.say(p, "boss", "/land delegate @Eve"))
			w.settleDown()
		}, meanwhile: func(w *world, p *pull) {
			w.step(w.say(p, "boss", "/land undelegate @eve"))
			w.settleDown()
		}, want: "cancelled no-permission"},
		"delegated at another head, role lost": {permissions: config.Permissions{Land: "maintain"}, words: "/land", first: func(w *world, p *pull) {
			w.step(w.say(p, "boss", "/land delegate @eve"))
			w.settleDown()
			w.step(w.headMoves(p, edit{"a/code": "unseen"}))
			w.settleDown()
		}, meanwhile: func(w *world, _ *pull) { w.roles["eve"] = "read" }, want: "cancelled no-permission"},
	} {
		t.Run(name, func(t *testing.T) {
			w := quiet(t, unit, config.Rules{})
			w.requires, w.permissions, w.roles = true, x.permissions, map[string]string{"eve": "write"}
			w.commitOutside(w.commits[w.main].tree.with(edit{"c/code": "settings"}))
			w.tell(queue.MainMoved{Branch: "main"})
			w.quiesce()
			p := w.open(w.main, edit{"a/code": "one"})
			if x.first != nil {
				x.first(w, p)
			}
			w.pausedLong(p, func() { w.step(w.say(p, "eve", x.words)) }, func() {
				if x.meanwhile != nil {
					x.meanwhile(w, p)
				}
			})
			if got := w.phases(p); got != x.want {
				t.Errorf("%s, want %s", got, x.want)
			}
		})
	}
}

// A command is about the pull request as it is: that its head has moved was not
// heard of, and what is asked of the new one says nothing of the old one.
func TestRetryAtAHeadThatNobodyHasHeardOf(t *testing.T) {
	w, p, _ := asking(t)
	p.lacks = []queue.Requirement{{Kind: queue.RequireReviews, Names: []string{"0", "1"}}}
	w.step(w.say(p, "dev", "/land"))
	w.quiesce()
	old := p.head
	p.head = w.put(commit{parent: p.head, tree: w.commits[p.head].tree.with(edit{"a/code": "more"})}).id
	p.lacks = nil
	w.step(w.say(p, "dev", "/land retry"))
	w.quiesce()
	if ch := w.change(p); w.phases(p) != "landed landed" || ch.Head != p.head || ch.Head == old {
		t.Errorf("%s at %s, the pull request is at %s", w.phases(p), ch.Head, p.head)
	}
}

// A person who may only retry cannot bring a head into the queue that was not asked
// to land: /land was given for another head.
func TestRetryOfWhatNobodyHasAskedFor(t *testing.T) {
	for heard, late := range map[string]bool{"heard of": false, "not heard of": true} {
		t.Run(heard, func(t *testing.T) {
			w := quiet(t, unit, config.Rules{})
			w.permissions, w.roles = config.Permissions{Land: "maintain", Retry: "write"}, map[string]string{"eve": "write"}
			w.commitOutside(w.commits[w.main].tree.with(edit{"c/code": "settings"}))
			w.tell(queue.MainMoved{Branch: "main"})
			w.quiesce()
			p := w.open(w.main, edit{"a/code": "one"})
			w.step(w.say(p, "boss", "/queue pause wait"))
			w.step(w.say(p, "boss", "/land"))
			w.settleDown()
			old := p.head
			moved := w.headMoves(p, edit{"a/code": "unseen"})
			if !late {
				w.step(moved)
				w.settleDown()
			}
			w.step(w.say(p, "eve", "/land retry"))
			w.settleDown()
			if got := w.core.State().Pulls[p.number].Notice.Code; got != queue.ReasonNoPermission {
				t.Errorf("answered with %q", got)
			}
			w.step(w.say(p, "boss", "/queue resume"))
			w.quiesce()
			if got := w.phases(p); got != "cancelled head-moved" {
				t.Errorf("what was asked to land is %s", got)
			}
			for _, ch := range w.core.State().Changes {
				if ch.Head != old {
					t.Errorf("%s is %s", ch.ID, ch.Phase)
				}
			}
		})
	}
}

// headMoves pushes to a pull request's branch, and returns what is heard of it.
func (w *world) headMoves(p *pull, e edit) queue.Event {
	p.head = w.put(commit{parent: p.head, tree: w.commits[p.head].tree.with(e)}).id
	return w.event(queue.HeadMoved{Number: p.number, Head: p.head})
}

// To explain analyzes a pull request, which may run its content: a person on the list of
// those who may try needs write access for it.
func TestExplainNeedsWriteAccess(t *testing.T) {
	for role, want := range map[string]queue.ReasonCode{"read": queue.ReasonNoPermission, "write": ""} {
		w := quiet(t, unit, config.Rules{})
		w.permissions, w.roles = config.Permissions{Try: "eve"}, map[string]string{"eve": role}
		w.commitOutside(w.commits[w.main].tree.with(edit{"c/code": "settings"}))
		w.tell(queue.MainMoved{Branch: "main"})
		w.quiesce()
		p := w.open(w.main, edit{"a/code": "one"})
		w.step(w.say(p, "eve", "/land explain"))
		w.quiesce()
		pull := w.core.State().Pulls[p.number]
		if got := pull.Notice.Code; got != want || (want == "") != (pull.Tried != "") {
			t.Errorf("%s: %q, explained as %q", role, got, pull.Tried)
		}
	}
}

// A delegation ends when the pull request is closed, whether that is heard of or seen.
func TestClosedUnheardEndsDelegations(t *testing.T) {
	w := quiet(t, unit, config.Rules{})
	w.roles = map[string]string{"eve": "read"}
	p := w.open(w.main, edit{"a/code": "one"})
	w.step(w.say(p, "boss", "/land delegate @eve"))
	w.quiesce()
	p.open = false
	w.step(w.say(p, "eve", "/land"))
	w.quiesce()
	p.open = true
	w.step(w.say(p, "eve", "/land"))
	w.quiesce()
	if got := w.core.State().Pulls[p.number].Notice.Code; got != queue.ReasonNoPermission {
		t.Errorf("%q", got)
	}
}
