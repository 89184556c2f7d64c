package app_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/submitqueue/submitqueue/forge/forgetest"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation"
)

// compiled is a repository whose step complains as a compiler does.
func compiled() map[string]string {
	return map[string]string{"test.sh": `test ! -e cart/cart.go || {
  echo "# example.com/shop/cart"
  echo "cart/cart.go:3:5: undefined: total"
  echo "cart/cart.go:3:5: undefined: total"
  echo "/tmp/x/cart.go:1: not here"
  echo "../../etc/passwd.go:1: nor here"
  exit 1
}
test ! -e silent || exit 1
`}
}

func TestButtonsOfTheCheck(t *testing.T) {
	h := newHub(t, hubOptions{files: compiled()})
	n := h.pull("topic", map[string]string{"a": "a\n"})
	h.paused(n)
	h.Comment("ann", n, "/land")
	h.says(n, "landings are paused")
	head := h.Pull(n).Head
	h.buttons(head, "Cancel")
	h.CI.Press("rea", head, "submitqueue", "Cancel")
	h.says(n, "Sorry, `rea`, this needs the permission `write`", "landings are paused")
	h.CI.Press("bob", head, "submitqueue", "Cancel")
	h.says(n, "Out of the queue: taken out by command", "by `bob`")
	h.check(n, "cancelled")
	h.buttons(head, "Retry")
	h.CI.Press("bob", head, "submitqueue", "Retry")
	h.says(n, "landings are paused", "asked for by `bob`")
	h.push("ann", "topic", map[string]string{"a": "a, better\n"})
	h.says(n, "new commits were pushed")
	h.buttons(head, "Retry")
	h.CI.Press("bob", head, "submitqueue", "Retry") // of what is not there any more
	h.seen()
	h.says(n, "New commits were pushed")
	if ch := h.change(n); ch.Phase != queue.Cancelled {
		t.Errorf("an old commit's button: %+v", ch)
	}
	h.Comment("max", n, "/queue resume\n/land")
	h.landed(n)
}

// buttons waits until our check run on a commit has these buttons.
func (h *hub) buttons(head string, want ...string) {
	h.Helper()
	ctx, cancel := context.WithTimeout(h.Context(), patience)
	defer cancel()
	if h.WaitFor(ctx, func(v forgetest.View) bool { return slices.Equal(v.Buttons(head, "submitqueue"), want) }) != nil {
		h.Fatalf("%s has the buttons %q, want %q", head, h.CI.Buttons(head, "submitqueue"), want)
	}
}

func TestRerequestIsRetry(t *testing.T) {
	h := newHub(t, hubOptions{files: compiled()})
	n := h.land("silent", map[string]string{"silent": "x\n"})
	h.rejected(n)
	h.CI.Rerequest("ann", h.Pull(n).Head, "submitqueue")
	h.until("it was rejected twice", func(*speculation.Core) bool { return h.notes("rejected") == 2 })
	h.quiet() // else the comment may still be that of the verdict before
	h.rejected(n)
	h.CI.RerequestSuite("ann", n)
	h.until("it was rejected three times", func(*speculation.Core) bool { return h.notes("rejected") == 3 })
	h.quiet() // else the comment may still be that of the verdict before
	h.rejected(n)
}

func TestFailuresAreAnnotated(t *testing.T) {
	h := newHub(t, hubOptions{files: compiled()})
	n := h.land("cart", map[string]string{"cart/cart.go": "package cart\n\nvar x = total\n"})
	h.rejected(n, "undefined: total")
	head := h.Pull(n).Head
	want := []forgetest.Annotation{{Path: "cart/cart.go", Line: 3, Level: "failure", Title: "test failed", Message: "undefined: total"}}
	if d := cmp.Diff(want, h.CI.Annotations(head, "submitqueue")); d != "" {
		t.Error(d)
	}
	h.stop()
	h.start(hubOptions{})
	h.Comment("ann", n, "/land status") // shown once more, by a server that remembers nothing
	h.seen()
	h.quiet()
	h.rejected(n)
	if d := cmp.Diff(want, h.CI.Annotations(head, "submitqueue")); d != "" {
		t.Errorf("after a restart: %s", d)
	}

	m := h.land("silent", map[string]string{"silent": "x\n"})
	h.rejected(m)
	got := h.CI.Annotations(h.Pull(m).Head, "submitqueue")
	if len(got) != 1 || got[0].Path != ".submitqueue.yml" || got[0].Line != 1 || !strings.Contains(got[0].Message, "exit status 1") {
		t.Errorf("%+v", got)
	}
}
