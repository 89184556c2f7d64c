package app_test

import (
	"path/filepath"
	"testing"

	"github.com/submitqueue/submitqueue/app/api"
	"github.com/submitqueue/submitqueue/queue"
)

// A step with retries passes what it has failed at first, and the server lists that target.
func TestRetriedTargetsAreListed(t *testing.T) {
	t.Parallel()
	once := filepath.Join(t.TempDir(), "once")
	r := newRig(t, map[string]string{".submitqueue.yml": `version: 1
analysis:
  analyzer: paths
  areas:
    - {name: api, files: ["api/**"]}
    - {name: web, files: ["web/**"]}
steps:
  - name: unit
    report: targets-json
    retries: 1
    timeout: 1m
    run: |
      bad=0
      for t in {targets}; do
        if grep -q shaky $t/* && [ ! -e ` + once + ` ]; then
          touch ` + once + `; bad=1; result=failed
        else
          result=passed
        fi
        printf 'submitqueue: {"target":"%s","result":"%s"}\n' $t $result
      done
      exit $bad
`, "api/a": "1\n", "web/a": "1\n"})
	r.branch("shaky", "main", map[string]string{"api/b": "shaky\n", "web/b": "x\n"})
	if ch := r.verdict(r.land("shaky")); ch.Phase != queue.Landed {
		t.Fatalf("%s: %+v", ch.Phase, ch.Reason)
	}
	list := must(api.FlakesSource(r.queues).Flakes(t.Context(), rigQueue))
	if len(list) != 1 || list[0].Step != "unit" || list[0].Target != "api" || list[0].Flakes != 1 || list[0].Rate <= 0 {
		t.Fatalf("%+v", list)
	}
	if f := list[0]; f.Runs < 1 || f.Low >= f.Rate || f.High < f.Rate || f.Seen == "" || f.Build == "" || f.Log == "" {
		t.Errorf("%+v", f)
	}
}
