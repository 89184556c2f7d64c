package forgeci

import (
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// GitLab runs the failed jobs of a pipeline again under new ids, in the same pipeline, which has
// no attempts; a job that was skipped because of them goes on under the id that it has
// (app/services/ci/retry_pipeline_service.rb).
func TestSkippedJobsOfARetriedPipelineKeepTheirIDs(t *testing.T) {
	for name, asked := range map[string]bool{"a run that was asked for": true, "a run of a push": false} {
		for state, want := range map[forge.CIState]queue.JobOutcome{forge.CIPassed: queue.JobPassed, forge.CIFailed: queue.JobFailed} {
			h := newHub()
			now := start.Add(time.Minute)
			c := h.still(func() time.Time { return now })
			e := built(config.Step{Checks: []config.Check{{Name: "test"}, {Name: "deploy"}}, Rerun: 1})
			c.builds[e.build.ID], e.unique = e, true
			if asked {
				e.run = 1
			}
			skipped := check(2, "deploy", forge.CINone, "skipped")
			skipped.Waits = true
			h.results = []forge.CIResult{check(1, "test", forge.CIFailed, "failed"), skipped}
			h.runs = []forge.CIRun{{ID: 1, Suite: 1, Commit: commit, Branch: e.branch, Attempt: 1, Done: true, Word: "failed"}}
			c.News(forge.CINews{Results: h.results, Runs: h.runs})
			if c.see(t.Context(), e); h.again != 1 || e.done != nil {
				t.Fatalf("%s: run again %d times, %+v", name, h.again, e.done)
			}
			news := func(word string, done bool, results ...forge.CIResult) {
				h.results, h.runs[0].Word, h.runs[0].Done = results, word, done
				now = now.Add(time.Minute)
				c.News(forge.CINews{Results: h.results, Runs: h.runs})
			}
			passed := check(3, "test", forge.CIPassed, "success")
			news("running", false, check(3, "test", forge.CIRunning, "running"), check(2, "deploy", forge.CIQueued, "created"))
			news("running", false, passed, check(2, "deploy", forge.CIRunning, "running"))
			if c.see(t.Context(), e); e.done != nil {
				t.Errorf("%s: it ended while a job runs: %+v", name, e.done)
			}
			word := map[forge.CIState]string{forge.CIPassed: "success", forge.CIFailed: "failed"}[state]
			news(word, true, passed, check(2, "deploy", state, word))
			for range 5 {
				if e.done == nil {
					now = now.Add(time.Minute)
					c.see(t.Context(), e)
				}
			}
			if e.done == nil || e.done.Outcome != want {
				for range 5 {
					now = now.Add(3 * time.Hour)
					c.see(t.Context(), e)
				}
				t.Errorf("%s, %s: %+v", name, state, e.done)
			}
		}
	}
}
