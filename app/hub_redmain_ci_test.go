package app_test

import (
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/forge/forgetest"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/storetest"
	"github.com/submitqueue/submitqueue/speculation"
)

// wholly is a CI that runs everything on each of the queue's builds, as most workflows
// do: its one job fails wherever api/bad or web/bad is, whatever the build is to verify.
func wholly(p forgetest.CIPush) []forgetest.CIJob {
	if !strings.HasPrefix(p.Branch, "submitqueue/") {
		return nil
	}
	if p.Has("api/bad") || p.Has("web/bad") {
		return []forgetest.CIJob{{Name: "test", Conclusion: "failure"}}
	}
	return []forgetest.CIJob{{Name: "test", Conclusion: "success"}}
}

// eachWay runs a test for each way in which main's red keys, and passes of a CI that
// runs everything, may count.
func eachWay(t *testing.T, test func(h *hub)) {
	for _, covers := range []string{"asked", "tree"} {
		for _, external := range []string{"hold", "trust"} {
			t.Run(external+" "+covers, func(t *testing.T) {
				files := areasByCI()
				files[".submitqueue.yml"] += "    covers: " + covers + "\nqueue: {external: " + external + ", retries: 1}\n"
				h := newCIHub(t, files, wholly)
				h.proven()
				test(h)
			})
		}
	}
}

// blocked waits until a change has a verdict or is parked, and demands that it is
// parked because main is red.
func (h *hub) blocked(n int) {
	h.Helper()
	h.until("it is decided or parked", func(c *speculation.Core) bool {
		v, _ := c.PullView(n)
		return v.Change.Phase.Final() || v.Change.Phase == queue.Parked
	})
	if ch := h.change(n); ch.Phase != queue.Parked || ch.Reason.Code != queue.ReasonRedMain {
		h.Fatalf("#%d is %s: %+v\n%s", n, ch.Phase, ch.Reason, h.describe())
	}
	h.says(n, "🅿️ Parked: `main` itself is red")
}

// Somebody breaks api on main past the queue, and CI runs all of the repository on each
// build. A sound change of web is not rejected for it: it waits, and lands when a change
// has repaired main, which lands although main is red.
func TestCIThatRunsEverythingOnARedMain(t *testing.T) {
	storetest.OneOf(t, 3)
	t.Parallel()
	eachWay(t, func(h *hub) {
		h.push("ada", "main", map[string]string{"api/bad": "x\n"})
		n := h.land("topic", map[string]string{"web/x": "x\n"})
		h.blocked(n)
		repair := h.land("repair", map[string]string{"api/bad": ""})
		h.landed(repair)
		h.landed(n)
		h.clean()
	})
}

// The same, and main is repaired past the queue as well.
func TestCIThatRunsEverythingOnAMainRepairedByOthers(t *testing.T) {
	storetest.OneOf(t, 3)
	t.Parallel()
	eachWay(t, func(h *hub) {
		h.push("ada", "main", map[string]string{"api/bad": "x\n"})
		n := h.land("topic", map[string]string{"web/x": "x\n"})
		h.blocked(n)
		h.push("ada", "main", map[string]string{"api/bad": ""})
		h.landed(n)
		h.clean()
	})
}

// A change that is red by itself is rejected under the same CI as long as main is
// sound, and by a control: main passed after the change's build had failed.
func TestCIThatRunsEverythingRejectsAgainstAControl(t *testing.T) {
	storetest.OneOf(t, 3)
	t.Parallel()
	eachWay(t, func(h *hub) {
		n := h.land("topic", map[string]string{"web/bad": "x\n"})
		h.rejected(n, "failed in `unit`")
		ch := h.change(n)
		if ch.Verdict == nil || len(ch.Verdict.Failures) != 1 || ch.Verdict.Failures[0].Control == "" {
			h.Errorf("the rejection rests on no control: %+v", ch.Verdict)
		}
		sound := h.land("sound", map[string]string{"api/x": "x\n"})
		h.landed(sound)
		h.clean()
	})
}
