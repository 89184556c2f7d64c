package app_test

import (
	"testing"

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
// its author pushes something else: nobody has asked for that.
func TestPushAfterACommandInAnAbsence(t *testing.T) {
	h := newHub(t, hubOptions{talkative: true})
	h.proven()
	n := h.pull("topic", map[string]string{"a": "a\n"})
	h.seen()
	h.stop()
	h.github.DropWebhooks(2)
	h.Comment("ann", n, "/land")
	asked := h.Head("topic")
	must(h.Commit("bob", forgetest.Commit{Branch: "topic", Files: map[string]string{"else": "else\n"}}))
	h.start(hubOptions{talkative: true, forge: func(f forge.Forge) forge.Forge { return forgetful{f} }})
	h.eventually("the command is answered", func() bool { _, count := bot(h.Comments(n)); return count > 0 })
	h.seen()
	h.quiet()
	if ch := h.change(n); ch.ID != "" && ch.Phase != queue.Cancelled && string(ch.Head) != asked {
		t.Errorf("%s is %s, and %s was asked to land", ch.Head, ch.Phase, asked)
	}
}
