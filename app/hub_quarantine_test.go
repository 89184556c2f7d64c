package app_test

import (
	"testing"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation"
)

// withQuarantine is a step on two areas that names what has failed, in real git and under a
// real runner, with some lines before it.
func withQuarantine(lines string) string {
	return `version: 1
` + lines + `analysis:
  analyzer: paths
  areas:
    - {name: api, files: ["api/**"]}
    - {name: web, files: ["web/**"]}
steps:
  - name: unit
    report: targets-json
    timeout: 1m
    run: |
      bad=0
      for t in {targets}; do
        result=passed
        if grep -q broken $t/*; then bad=1; result=failed; fi
        printf 'submitqueue: {"target":"%s","result":"%s"}\n' $t $result
      done
      exit $bad
`
}

// A change that fails a target in quarantine lands, and its comment says so. A change that
// puts a target into quarantine needs an administrator, and cannot excuse itself.
func TestQuarantineAtTheForge(t *testing.T) {
	h := newHub(t, hubOptions{files: map[string]string{".submitqueue.yml": withQuarantine("quarantine: [{targets: [web], reason: waits for 12}]\n"),
		"api/a": "1\n", "web/a": "1\n"}})
	h.proven()
	n := h.land("fails", map[string]string{"web/b": "broken\n", "api/b": "fine\n"})
	h.landed(n, "In quarantine, and did not count: `web` failed")
	h.whole(true)
	list := must(h.owner.Flakes(t.Context()))
	if len(list) != 1 || list[0].Target != "web" || list[0].Excused != 1 || !list[0].Quarantined || list[0].Flakes != 0 {
		t.Errorf("listed as flaky: %+v", list)
	}
	red := h.land("red", map[string]string{"api/c": "broken\n"})
	h.rejected(red, "`api`")

	own := h.pull("own", map[string]string{"api/d": "broken\n", ".submitqueue.yml": withQuarantine("quarantine: [{targets: [web]}, {targets: [api]}]\n")})
	h.Comment("ann", own, "/land")
	h.until("it waits for an administrator", func(c *speculation.Core) bool {
		v, _ := c.PullView(own)
		return v.Change.Phase == queue.Parked && v.Change.Reason.Code == queue.ReasonRequirements
	})
	h.says(own, ".submitqueue.yml", "an administrator of the repository must approve this very commit")
	h.seen()
	h.Review("ada", own, "APPROVED", "", "")
	h.rejected(own, "`api`")
	h.seen()
}
