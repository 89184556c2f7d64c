package app_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/forgetest"
	"github.com/submitqueue/submitqueue/queue"
)

// forgetful sends no failed delivery again, as GitLab, or GitHub after three days.
type forgetful struct{ forge.Forge }

func (f forgetful) Capabilities() forge.Capabilities {
	c := f.Forge.Capabilities()
	c.Redeliverer = nil
	return c
}

// While no server runs, somebody who may write asks to land what a pull request holds, and then
// its author pushes something else: nobody has asked for that. Where nothing has changed since,
// what was asked lands; and where it is not known what has changed, people are asked again.
func TestCommandInAnAbsence(t *testing.T) {
	for then, want := range map[string]queue.Phase{"nothing": queue.Landed, "a push": "", "a comment": "", "a comment on a tested head": queue.Landed, "a push and a check": ""} {
		t.Run(then, func(t *testing.T) {
			var later atomic.Int64
			o := hubOptions{talkative: true, forgeNow: func() time.Time { return time.Now().Add(time.Duration(later.Load())) },
				forge: func(f forge.Forge) forge.Forge { return forgetful{f} }}
			h := newHub(t, o)
			h.proven()
			n := h.pull("topic", map[string]string{"a": "a\n"})
			h.seen()
			h.stop()
			h.github.DropWebhooks(2)
			if then == "a comment on a tested head" {
				h.CI.SetCheck("ci", h.Head("topic"), "unit", "success")
			}
			h.Comment("ann", n, "/land")
			later.Store(int64(10 * time.Second))
			switch then {
			case "a push", "a push and a check":
				must(h.Commit("bob", forgetest.Commit{Branch: "topic", Files: map[string]string{"else": "else\n"}}))
			case "a comment", "a comment on a tested head":
				h.Comment("bob", n, "Thank you.")
			}
			if then == "a push and a check" {
				h.CI.SetCheck("ci", h.Head("topic"), "unit", "success")
			}
			h.start(o)
			h.eventually("the command is answered", func() bool { _, count := bot(h.Comments(n)); return count > 0 })
			if want == queue.Landed {
				h.eventually("the change lands", func() bool { return h.change(n).Phase == queue.Landed })
				return
			}
			h.seen()
			h.quiet()
			if ch := h.change(n); ch.ID != "" {
				t.Errorf("%s is %s, and nobody has asked for it since it is the head", ch.Head, ch.Phase)
			}
			if said, _ := bot(h.Comments(n)); !strings.Contains(said, "did not hear of this when it was said") {
				t.Errorf("the answer: %s", said)
			}
		})
	}
}
