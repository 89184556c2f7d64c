package app_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/forge/forgetest"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation"
)

func mustNot(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

// quiet waits until nothing is left to be shown on GitHub, so that all that the
// bot says in a test has been said when the test ends.
func (h *hub) quiet() {
	h.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	delivered, done := context.WithTimeout(context.Background(), patience)
	defer done()
	mustNot(h.T, h.github.WaitDelivered(delivered))
	for {
		changed, busy := h.owner.Changed(), false
		if !h.owner.Read(func(c *speculation.Core) {
			for _, a := range c.State().Actions {
				switch a.Task.(type) {
				case queue.Publish, queue.React, queue.Inspect:
					busy = busy || a.NotBefore == 0
				}
			}
		}) || !busy {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// push commits files to a branch; a text of "" deletes the file. A configuration
// that does not say how often a failure is tried again has it decide at once.
func (h *hub) push(user, branch string, files map[string]string) string {
	h.Helper()
	files = withoutRetries(files)
	c := forgetest.Commit{Branch: branch, Files: map[string]string{}}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if files[name] == "" {
			c.Delete = append(c.Delete, name)
		} else {
			c.Files[name] = files[name]
		}
	}
	return must(h.Commit(user, c))
}

// pull opens a pull request by ann that sets files.
func (h *hub) pull(branch string, files map[string]string) int {
	h.Helper()
	h.push("ann", branch, files)
	return must(h.OpenPull("ann", branch, "main", "Change "+branch))
}

// land is pull, and ann's /land on it.
func (h *hub) land(branch string, files map[string]string) int {
	h.Helper()
	n := h.pull(branch, files)
	h.Comment("ann", n, "/land")
	return n
}

// bot returns what the bot says on a pull request: it has one comment there.
func bot(comments []forgetest.Comment) (text string, count int) {
	for _, c := range comments {
		if c.Author == "submitqueue[bot]" {
			text = c.Body
			count++
		}
	}
	return text, count
}

// says waits until the bot's comment holds all the texts, and reads it.
func (h *hub) says(n int, texts ...string) string {
	h.Helper()
	ctx, cancel := context.WithTimeout(h.Context(), patience)
	defer cancel()
	said := ""
	if err := h.WaitFor(ctx, func(v forgetest.View) bool {
		said, _ = bot(v.Comments(n))
		return said != "" && !slices.ContainsFunc(texts, func(s string) bool { return !strings.Contains(said, s) })
	}); err != nil {
		h.Fatalf("#%d: the comment does not say %q but:\n%s\n%s", n, texts, said, h.describe())
	}
	if _, count := bot(h.Comments(n)); count > 1 { // and so they are read
		h.Errorf("#%d: %d comments of the bot", n, count)
	}
	return said
}

// check waits until the check run on a pull request's head has a conclusion, or
// while it has none, a status.
func (h *hub) check(n int, want string) {
	h.Helper()
	ctx, cancel := context.WithTimeout(h.Context(), patience)
	defer cancel()
	var last forgetest.CheckRun
	if err := h.WaitFor(ctx, func(v forgetest.View) bool {
		for _, c := range v.Checks(v.Pull(n).Head) {
			last = c
		}
		return last.Conclusion == want || last.Conclusion == "" && last.Status == want
	}); err != nil {
		h.Fatalf("#%d: the check is %+v, not %s", n, last, want)
	}
}

// landed waits until GitHub shows a pull request as merged and the bot has said so.
func (h *hub) landed(n int, texts ...string) {
	h.Helper()
	h.says(n, append(texts, "✅ Landed")...)
	h.until("the push has ended", func(c *speculation.Core) bool { return c.State().Push == nil })
	h.quiet()
	h.says(n, append(texts, "✅ Landed")...) // main may show it before the push's answer tells the rest
	h.check(n, "success")
	if p := h.Pull(n); !p.Merged {
		h.Errorf("#%d is not merged: %+v", n, p)
	}
}

func (h *hub) rejected(n int, texts ...string) {
	h.Helper()
	h.says(n, append(texts, "❌ Rejected")...)
	h.check(n, "failure")
	if p := h.Pull(n); p.Merged || p.State != "open" {
		h.Errorf("#%d is %+v", n, p)
	}
}

// until waits for something of the queue's state.
func (h *hub) until(what string, ok func(*speculation.Core) bool) {
	h.Helper()
	limit := time.After(patience)
	for {
		changed, yes := h.owner.Changed(), false
		h.owner.Read(func(c *speculation.Core) { yes = ok(c) })
		if yes {
			return
		}
		select {
		case <-changed:
		case <-limit:
			h.Fatalf("waited in vain until %s\n%s", what, h.describe())
		}
	}
}

// seen waits until all webhooks have been folded, so that what is asserted
// after it is not asserted too early.
func (h *hub) seen() {
	h.Helper()
	mustNot(h.T, h.github.WaitDelivered(h.Context()))
	h.until("all webhooks are folded", func(c *speculation.Core) bool {
		left, err := h.store.Inbox(h.Context(), hubQueue, "", 1, 0)
		return err == nil && len(left) == 0 && len(c.State().Requests) == 0
	})
}

// proven waits until main has been built as it is.
func (h *hub) proven() {
	h.Helper()
	h.until("main is proven", func(c *speculation.Core) bool {
		m := c.State().Main
		return m.Tip != "" && string(m.Tip) == h.Head("main") && m.Surveyed == m.Tip && m.Root == ""
	})
}

// change returns where a pull request's change stands.
func (h *hub) change(n int) (ch queue.Change) {
	h.owner.Read(func(c *speculation.Core) {
		v, _ := c.PullView(n)
		ch = v.Change
	})
	return ch
}

func (h *hub) describe() string {
	var b strings.Builder
	h.owner.Read(func(c *speculation.Core) {
		s := c.State()
		fmt.Fprintf(&b, "main %+v\npush %+v\n", s.Main, s.Push)
		fmt.Fprintf(&b, "train %v\n", s.Train)
		for id, ch := range s.Changes {
			v, _ := c.View(id)
			fmt.Fprintf(&b, "%s %s %+v\n\tat %d, predicted %s, ahead %v, waits %+v, next %+v\n", id, ch.Phase, ch.Reason, ch.Virtual, ch.Predicted, v.Ahead, v.Waits, v.Outlook.Next)
		}
		for id, l := range s.Links {
			fmt.Fprintf(&b, "link %s %s\n", id, l.Outcome)
		}
		for key, a := range s.Actions {
			fmt.Fprintf(&b, "%s attempt %d: %s\n", key, a.Attempt, a.Error)
		}
	})
	return b.String()
}

// paused has max pause the queue from a pull request, so that what comes next
// is built and waits.
func (h *hub) paused(n int) {
	h.Helper()
	h.Comment("max", n, "/queue pause not now")
	h.until("the queue is paused", func(c *speculation.Core) bool { return c.State().Main.Paused != nil })
}

// boarded waits until changes stand in the train, merged and proven there.
func (h *hub) boarded(numbers ...int) {
	h.Helper()
	h.until(fmt.Sprintf("%v are proven", numbers), func(c *speculation.Core) bool {
		for _, a := range c.State().Actions {
			switch a.Task.(type) {
			case queue.Resolve, queue.Analyze, queue.Run:
				return false
			}
		}
		return len(c.State().Train) == len(numbers)
	})
}

// green runs the step of every commit on main's first-parent line.
func (h *hub) green() {
	h.Helper()
	for commit := range strings.FieldsSeq(git(h.T, h.Dir(), "rev-list", "--first-parent", "main")) {
		dir := h.TempDir()
		git(h.T, h.Dir(), "--work-tree="+dir, "checkout", "-q", "-f", commit, "--", ".")
		if out, err := runIn(dir, "sh", "test.sh"); err != nil {
			h.Errorf("commit %s on main is red: %v\n%s", commit, err, out)
		}
	}
}

func runIn(dir, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// notes counts the notes of a kind in the queue's history.
func (h *hub) notes(what string) (n int) {
	h.Helper()
	for _, note := range must(h.store.History(h.Context(), hubQueue, 1000)) {
		if note.What == what {
			n++
		}
	}
	return n
}

// decided waits for the verdicts of two changes that asked at the same time,
// and says which one landed.
func (h *hub) decided(a, b int) (landed, other int) {
	h.Helper()
	for _, n := range []int{a, b} {
		h.settled(n)
	}
	if h.change(b).Phase == queue.Landed {
		a, b = b, a
	}
	return a, b
}

func (h *hub) settled(n int) queue.Change {
	h.Helper()
	var ch queue.Change
	h.until(fmt.Sprintf("#%d is decided", n), func(c *speculation.Core) bool {
		v, _ := c.PullView(n)
		ch = v.Change
		return ch.Phase.Final()
	})
	return ch
}

// deliver posts a webhook, signed with a secret unless that is empty.
func (h *hub) deliver(event, guid, secret string, body []byte) (status int, answer string) {
	h.Helper()
	r := must(http.NewRequestWithContext(h.Context(), http.MethodPost, "http://"+h.server.Addr()+"/webhook", bytes.NewReader(body)))
	r.Header = forgetest.WebhookHeader(event, guid, secret, body)
	res := must(http.DefaultClient.Do(r))
	defer res.Body.Close()
	return res.StatusCode, string(must(io.ReadAll(res.Body)))
}
