package app_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

// A freeze of the configuration is told on the page, in the comment and in the check, with
// its end; what bears an excepted label lands.
func TestFreezeByTheConfiguration(t *testing.T) {
	start := time.Now().UTC().Add(-5 * time.Minute) // of the machine's clock, by which the hub lives
	h := newHub(t, hubOptions{files: with(fmt.Sprintf("queue: {freeze: [{cron: \"%d %d * * *\", for: 20h, reason: the release, except: {labels: [hotfix]}}]}\n", start.Minute(), start.Hour()))})
	end := start.Truncate(time.Minute).Add(20 * time.Hour)
	a := h.pull("a", map[string]string{"a": "a\n"})
	h.Comment("ann", a, "/land")
	h.says(a, "landings are paused", "Landings are frozen until ", "`the release`", "They go on by themselves then")
	if _, page := h.page("/queue?queue=acme%2Fshop%40main"); !holds(page, "Frozen until "+end.Format("2 Jan 15:04 UTC"), "the release", "queue.freeze") {
		t.Errorf("the page does not say that landings are frozen:\n%s", page)
	}
	b := h.pull("b", map[string]string{"b": "b\n"})
	h.Label("max", b, "hotfix")
	h.Comment("ann", b, "/land")
	h.landed(b)
	if ch := h.change(a); ch.Phase != queue.Pending {
		t.Errorf("it is %s", ch.Phase)
	}
	h.Label("max", a, "Hotfix") // by and by
	h.landed(a)
}
