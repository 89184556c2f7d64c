package app_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/forge/forgetest"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/storetest"
	"github.com/submitqueue/submitqueue/speculation"
)

// refusal returns a recorded one by its name.
func (h *hub) refusal(of []forgetest.Refusal, name string) forgetest.Refusal {
	h.Helper()
	for _, x := range of {
		if x.Name == name {
			return x
		}
	}
	h.Fatalf("no refusal %q was recorded", name)
	return forgetest.Refusal{}
}

// GitHub is in trouble of its own when main is pushed, three times. The page says so,
// and the change lands without anybody's help: nothing is paused or parked.
func TestPushWhileGitHubIsInTrouble(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"failure", "internal server error", "no report", "no report of what arrived", "502", "hung up"} {
		t.Run(name, func(t *testing.T) {
			storetest.OneOf(t, 3)
			h := newHub(t, hubOptions{http: true})
			h.proven()
			n := h.pull("topic", map[string]string{"topic": "a\n"})
			h.RefusePushes("main", h.refusal(forgetest.Refusals.Trouble, name), 3)
			h.Comment("ada", n, "/land")
			h.until("the page says that the push has failed", func(c *speculation.Core) bool {
				if c.State().Main.Paused != nil {
					h.Errorf("paused: %+v", c.State().Main.Paused)
				}
				for _, a := range c.State().Actions {
					if _, lands := a.Task.(queue.Land); lands && a.Attempt > 2 && a.Error != "" {
						return true
					}
				}
				v, _ := c.PullView(n)
				return v.Change.Phase == queue.Landed
			})
			if res, page := h.page("/"); res == http.StatusOK && h.change(n).Phase != queue.Landed && !strings.Contains(page, "pushing main") {
				h.Errorf("the page does not say so:\n%s", page)
			}
			h.landed(n)
			if got := h.notes("refused"); got > 0 || h.change(n).Refused != nil {
				t.Errorf("%d refusals, %+v", got, h.change(n).Refused)
			}
			if got := strings.Count(git(t, h.Dir(), "log", "--first-parent", "--format=%s", "main"), fmt.Sprintf("Merge #%d:", n)); got != 1 {
				t.Errorf("it is %d times on main", got)
			}
		})
	}
}

// A refusal in words that nobody knows is tried again, and taken for a rule only when it
// stays.
func TestPushRefusedInStrangeWords(t *testing.T) {
	h := newHub(t, hubOptions{http: true})
	h.proven()
	strange := forgetest.Refusal{Name: "strange", Reason: "the moon is full"}
	h.RefusePushes("main", strange, 2)
	h.landed(h.land("first", map[string]string{"first": "a\n"}))
	h.RefusePushes("main", strange, 1000)
	n := h.land("second", map[string]string{"second": "a\n"})
	h.says(n, "🅿️ Parked: the forge refused the push", "the moon is full")
}
