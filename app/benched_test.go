package app_test

import (
	"context"
	"fmt"
	"html"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/app/api"
	"github.com/submitqueue/submitqueue/app/texts"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation"
	"github.com/submitqueue/submitqueue/workers"
)

// failing is a builder that fails whatever it is given, at once.
type failing struct{}

func (failing) Build(_ context.Context, b queue.Build, out workers.Output) workers.End {
	for _, j := range b.Jobs {
		out.Job(queue.JobDone{Build: b.ID, Step: j.Step.Digest(), Outcome: queue.JobFailed, Tail: "no space left on device"})
	}
	return workers.End{Outcome: queue.JobFailed, Detail: "no space left on device"}
}

// A host that fails all it is given joins a server: sound changes land, it is benched,
// and the page, the API, the history and the log say so.
func TestBrokenHostIsBenchedAndShown(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]string{".submitqueue.yml": oneStep, "test.sh": "test ! -e bad\n"})
	ctx, leave := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		workers.Worker{Source: r.pool, Agent: workers.Agent{Name: "broken-1", Host: "<broken>"}, Builder: failing{}, Log: slog.New(slog.DiscardHandler)}.Serve(ctx)
	}()
	t.Cleanup(func() { leave(); <-done })
	benched := func() (v queue.QueueView, yes bool) {
		r.owner.Read(func(c *speculation.Core) { v = c.Queue(rigQueue) })
		for _, h := range v.Hosts {
			yes = yes || h.Bench != nil && h.Name == "<broken>"
		}
		return v, yes
	}
	var v queue.QueueView
	for i := 0; ; i++ {
		name := fmt.Sprint("good", i)
		r.branch(name, "main", map[string]string{name: "a\n"})
		if ch := r.verdict(r.land(name)); ch.Phase != queue.Landed {
			t.Fatalf("a sound change is %s: %+v", ch.Phase, ch.Reason)
		}
		yes := false
		if v, yes = benched(); yes {
			break
		}
		if i > 40 {
			t.Fatalf("it is not benched: %+v", v.Hosts)
		}
	}
	for _, h := range v.Hosts {
		if h.Bench != nil && h.Name != "<broken>" {
			t.Errorf("%+v is benched", h)
		}
	}
	w := newWindow(t, nil)
	w.source.queues = map[string]queue.QueueView{rigQueue: v}
	_, _, page := w.get(t, "/queue?queue="+rigQueue)
	if strings.Contains(page, "<broken>") || !strings.Contains(html.UnescapeString(page), "<broken>") || !strings.Contains(page, "is benched since") {
		t.Errorf("the page does not show it, or not escaped:\n%s", page)
	}
	_, _, body := w.get(t, "/api/queue?queue="+rigQueue)
	shown := false
	for _, h := range mustDecode[api.Queue](t, body).Hosts {
		if h.Name == "<broken>" {
			shown = h.Benched && h.Slots == 1 && h.Faults >= queue.HostFaults && !h.Until.IsZero() && strings.Contains(h.Text, "the next one is at")
		} else if h.Benched || h.Slots != 2 || h.Text != "" {
			t.Errorf("%+v", h)
		}
	}
	if !shown {
		t.Errorf("the API does not show it: %s", body)
	}
	noted := false
	for _, n := range must(r.store.History(t.Context(), rigQueue, 1000)) {
		if what, more := (texts.Words{}).Note(queue.Change{}, n); n.What == "host-benched" {
			noted = strings.Contains(what, "benched") && strings.Contains(more, "<broken>") && strings.Contains(more, "step test")
		}
	}
	if !noted {
		t.Error("the history does not say it")
	}
	if v.Slots != 2 {
		t.Errorf("%d slots, want those of the sound host", v.Slots)
	}
}

// Who waits for a slot hears that a host is benched, whatever its name.
func TestWaitingSaysThatAHostIsBenched(t *testing.T) {
	v := queue.View{Change: queue.Change{ID: "7.a", Number: 7, Phase: queue.Pending}, Position: 1, Total: 1,
		Waits: []queue.Reason{{Code: queue.ReasonBenched, Names: []string{"m*1"}}, {Code: queue.ReasonWaitsSlot}}}
	o := texts.Options{Queue: "q", Now: queue.At(time.Date(2026, 9, 1, 14, 5, 0, 0, time.UTC))}
	if comment := texts.Comment(v, o); !strings.Contains(comment, "`m*1` failed what other hosts passed") {
		t.Error(comment)
	}
	if _, _, summary := texts.Check(v, o); !strings.Contains(summary, "failed what other hosts passed") {
		t.Error(summary)
	}
}
