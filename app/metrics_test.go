package app_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/app"
	"github.com/submitqueue/submitqueue/queue"
)

// exposition returns what /metrics says.
func exposition(t *testing.T, m *app.Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("/metrics: %d %s", w.Code, w.Body)
	}
	return w.Body.String()
}

func TestMetrics(t *testing.T) {
	m := app.NewMetrics()
	m.RecordTurn("q", 40*time.Millisecond, 12)
	m.RecordTurn("q", time.Millisecond, 3)
	m.RecordAction("Resolve", "Resolved", time.Second)
	m.RecordBuild("q", queue.JobFailed, 3*time.Minute)
	m.RecordVerdict("q", queue.Change{Phase: queue.Landed, Reason: queue.Reason{Code: queue.ReasonLanded}, Arrival: 1000, Ending: queue.Ending{Decided: 61000}})
	m.RecordPark("q", queue.ReasonInfra)
	m.RecordStoreError("commit")
	m.SetSpool(4)
	builds := func(ids ...queue.BuildID) (out []queue.BuildView) {
		for _, id := range ids {
			out = append(out, queue.BuildView{Build: queue.Build{ID: id}})
		}
		return out
	}
	view := queue.QueueView{Name: "q", Slots: 8, Unproven: 2, Red: []string{"a"}, Main: queue.Main{Paused: &queue.Pause{}}, MainBuilds: builds("m"),
		Order: []queue.View{{Change: queue.Change{Phase: queue.Pending}, Builds: builds("b1", "b2")}, {Change: queue.Change{Phase: queue.Parked}}}}
	view.Hosts = []queue.HostView{{Name: "m1", Slots: 2}, {Name: "m2", Slots: 2, Bench: &queue.Bench{}}, {Name: "m3"}}
	m.SetQueue(view)
	got := exposition(t, m)
	for _, want := range []string{
		`submitqueue_turn_duration_seconds_count{queue="q"} 2`,
		`submitqueue_hosts{queue="q",state="benched"} 1`,
		`submitqueue_hosts{queue="q",state="used"} 1`,
		`submitqueue_hosts{queue="q",state="away"} 1`,
		`submitqueue_turn_records_total{queue="q"} 15`,
		`submitqueue_action_duration_seconds_sum{result="Resolved",task="Resolve"} 1`,
		`submitqueue_build_duration_seconds_sum{outcome="failed",queue="q"} 180`,
		`submitqueue_verdicts_total{queue="q",reason="landed",verdict="landed"} 1`,
		`submitqueue_turnaround_seconds_sum{queue="q",verdict="landed"} 60`,
		`submitqueue_parks_total{queue="q",reason="infrastructure"} 1`,
		`submitqueue_store_errors_total{operation="commit"} 1`,
		`submitqueue_spool_length 4`,
		`submitqueue_changes{phase="pending",queue="q"} 1`,
		`submitqueue_changes{phase="parked",queue="q"} 1`,
		`submitqueue_changes{phase="landing",queue="q"} 0`,
		`submitqueue_slots{queue="q"} 8`,
		`submitqueue_slots_used{queue="q"} 3`,
		`submitqueue_main_unproven_keys{queue="q"} 2`,
		`submitqueue_main_red_targets{queue="q"} 1`,
		`submitqueue_paused{queue="q"} 1`,
	} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("/metrics does not say %s", want)
		}
	}
	view.Main.Paused, view.Order = nil, nil
	m.SetQueue(view)
	for _, want := range []string{`submitqueue_paused{queue="q"} 0`, `submitqueue_changes{phase="pending",queue="q"} 0`} {
		if !strings.Contains(exposition(t, m), want+"\n") {
			t.Errorf("/metrics does not say %s after that", want)
		}
	}
}

// Two servers in one process have figures of their own.
func TestMetricsShareNothing(t *testing.T) {
	one, other := app.NewMetrics(), app.NewMetrics()
	one.SetSpool(9)
	if strings.Contains(exposition(t, other), "spool_length 9") {
		t.Error("one server's figures show up in another's")
	}
}

// noon is the moment at which most tests happen.
func noon() time.Time { return time.Date(2026, 3, 9, 12, 0, 0, 0, time.UTC) }
