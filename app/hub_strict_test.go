package app_test

import (
	"fmt"
	"os"
	"testing"
)

// strictSteps is a step that runs new areas three times. flaky in an area fails the second
// run of it, whichever agent that is on.
func strictSteps(areas, counts string) string {
	return `version: 1
analysis:
  analyzer: paths
  areas:
` + areas + `steps:
  - name: unit
    strict_new: 3
    report: targets-json
    timeout: 1m
    run: |
      bad=0
      for t in {targets}; do
        for n in 1 2 3 4; do mkdir ` + counts + `/$t-$n 2>/dev/null && break; done
        result=passed
        if grep -q flaky $t/* && [ $n = 2 ]; then bad=1; result=failed; fi
        printf 'submitqueue: {"target":"%s","result":"%s"}\n' $t $result
      done
      exit $bad
`
}

// An area that a change brings has to pass three runs. One that fails one of them is
// rejected, with how many runs have failed; one that passes them all lands, and main is
// proven without a run more.
func TestNewTargetsRunSeveralTimes(t *testing.T) {
	counts := t.TempDir()
	const api, web, ui = "    - {name: api, files: [\"api/**\"]}\n", "    - {name: web, files: [\"web/**\"]}\n", "    - {name: ui, files: [\"ui/**\"]}\n"
	h := newHub(t, hubOptions{files: map[string]string{".submitqueue.yml": strictSteps(api, counts), "api/a": "1\n"}, talkative: true})
	h.proven()
	red := h.pull("red", map[string]string{"web/a": "flaky\n", "api/b": "2\n", ".submitqueue.yml": strictSteps(api+web, counts)})
	h.Comment("ada", red, "/land")
	h.rejected(red, "failed on `web`, which is new with this change, in 1 of the 3 runs that have to pass")
	good := h.pull("good", map[string]string{"ui/a": "sound\n", ".submitqueue.yml": strictSteps(api+ui, counts)})
	h.Comment("ada", good, "/land")
	h.landed(good)
	h.whole(true)
	for n := 1; n <= 4; n++ {
		if _, err := os.Stat(fmt.Sprintf("%s/ui-%d", counts, n)); (err == nil) != (n <= 3) {
			t.Errorf("run %d of ui: %v", n, err)
		}
	}
}
