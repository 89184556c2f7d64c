package app_test

import (
	"testing"

	"github.com/submitqueue/submitqueue/forge/forgetest"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation"
)

// What a model is to see of a change comes with its inspection and its analysis, from a
// repository alone.
func TestFacetsOfARepository(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]string{".submitqueue.yml": oneStep, "test.sh": "true\n", "doc/a": "1\n2\n3\n"})
	r.branch("topic", "main", map[string]string{"doc/a": "1\nZ\n3\n", "x_test.go": "package x\n", "go.mod": "module x\n", "b.bin": "\x00\x01"})
	before := r.main()
	ch := r.verdict(r.land("topic"))
	if ch.Phase != queue.Landed || ch.Facets == nil {
		t.Fatalf("%s, %+v, facets %+v", ch.Phase, ch.Reason, ch.Facets)
	}
	want := queue.Extent{Counted: true, Lines: 3, Dropped: 1, Hunks: 3, Binaries: 1, Builds: 1, Tests: 1, Placed: true, Commits: 1}
	if got := ch.Touches.Extent; got != want {
		t.Errorf("%+v\nwant %+v", got, want)
	}
	if f := ch.Facets; f.Revert == nil || *f.Revert || f.Plan != nil || f.Commits != nil || *f.Approvals != 0 || ch.Green == 0 || ch.Red != 0 {
		t.Errorf("facets %+v, %d builds green and %d red", f, ch.Green, ch.Red)
	}

	r.branch("Revert-topic", before, map[string]string{"doc/b": "1\n"})
	ch = r.verdict(r.land("Revert-topic"))
	if e := ch.Touches.Extent; ch.Phase != queue.Landed || !*ch.Facets.Revert || e.Behind != 1 || e.Commits != 1 {
		t.Errorf("%s, %+v, %+v", ch.Phase, e, ch.Facets)
	}
}

// And from GitHub, by what is asked of it anyway.
func TestFacetsOfAForge(t *testing.T) {
	h := newHub(t, hubOptions{})
	h.asks(forgetest.Protection{RequiredChecks: []string{"ci"}})
	n := h.land("topic", map[string]string{"a": "a\n"})
	h.Resize(n, forgetest.Size{Commits: 1, Files: 1, Added: 1})
	head := h.Pull(n).Head
	h.waiting(n)
	h.CI.SetCheck("actions", head, "optional", "failure")
	h.CI.SetCheck("actions", head, "ci", "success")
	h.landed(n)
	h.until("it is known by its facets", func(c *speculation.Core) bool {
		v, ok := c.PullView(n)
		if !ok || v.Change.Facets == nil {
			return false
		}
		f := v.Change.Facets
		return f.Commits != nil && *f.Commits == 1 && f.Checks != nil && f.Opened != 0 && f.Plan != nil && !*f.Plan &&
			f.Approvals != nil && v.Change.Touches.Extent.Lines == 1 && f.Checks.Failed == 1 && f.Checks.Passed == 1
	})
}
