package app_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/app/api"
	"github.com/submitqueue/submitqueue/app/texts"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation"
	"github.com/submitqueue/submitqueue/workers"
)

// proven waits until main is proven with a toolset.
func (r *rig) proven(what string, tools func(name string) bool) {
	r.t.Helper()
	for end := time.After(3 * time.Minute); ; {
		changed := r.owner.Changed()
		var q queue.QueueView
		r.owner.Read(func(c *speculation.Core) { q = c.Queue(rigQueue) })
		_, name := queue.SplitVersion(q.Main.Analyzer)
		if q.Main.Tip != "" && q.Main.Surveyed == q.Main.Tip && q.Unproven == 0 && tools(name) {
			return
		}
		select {
		case <-changed:
		case <-end:
			r.t.Fatalf("main is not proven %s: %s, %d unproven, %+v", what, q.Main.Analyzer, q.Unproven, q.Upgrade)
		}
	}
}

// What the environment command of a step prints is part of the step: when the tools of
// the only host become others, main is proven anew, and changes land meanwhile and
// after; where they cannot be told, nothing of the step is built, and it is said.
func TestToolsArePartOfAStep(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	version, ran := filepath.Join(dir, "version"), filepath.Join(dir, "ran")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(version+".new", []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(version+".new", version); err != nil {
			t.Fatal(err)
		}
	}
	write("cc 1\n")
	r := newRig(t, map[string]string{".submitqueue.yml": `version: 1
analysis:
  analyzer: paths
  areas:
    - {name: api, files: ["api/**"]}
    - {name: web, files: ["web/**"]}
steps:
  - name: unit
    run: 'cat ` + version + ` >> ` + ran + `; true {targets}'
    environment: cat ` + version + `
    timeout: 1m
`, "api/a": "1\n", "web/a": "1\n"})
	with := func(output string) func(string) bool {
		want := queue.Toolset{"cat " + version: queue.FingerprintOf(output)}.String()
		return func(name string) bool { return name == want }
	}
	r.proven("with cc 1", with("cc 1"))
	land := func(name string) queue.Change {
		t.Helper()
		r.branch(name, "main", map[string]string{"api/" + name: "x\n"})
		n := r.land(name)
		ch := r.verdict(n)
		if ch.Phase != queue.Landed {
			t.Fatalf("%s is %s: %+v", name, ch.Phase, ch.Reason)
		}
		return ch
	}
	land("first")
	write("cc 2\n")
	r.proven("with cc 2", with("cc 2"))
	if out, err := os.ReadFile(ran); err != nil || strings.Count(string(out), "cc 2") == 0 {
		t.Errorf("main was proven with other tools without being built: %s, %v", out, err)
	}
	land("second")
	passes := must(api.Ledgers(r.queues).Ledger(t.Context(), rigQueue, "api", 50))
	seen := map[string]bool{}
	for _, k := range passes.Keys {
		seen[k.Entry.Tools] = true
		if k.OnMain && k.Entry.Tools != queue.FingerprintOf("cc 2") {
			t.Errorf("main rests on %+v", k.Entry)
		}
	}
	if !seen[queue.FingerprintOf("cc 1")] || !seen[queue.FingerprintOf("cc 2")] {
		t.Errorf("the ledger has passes with tools %v", seen)
	}
	// A server that starts again goes on with the same tools.
	r.stop()
	r.start()
	r.proven("after a restart", with("cc 2"))
	if err := os.Remove(version); err != nil {
		t.Fatal(err)
	}
	r.branch("third", "main", map[string]string{"api/third": "x\n"})
	var said string
	n := 0
	for end := time.After(3 * time.Minute); ; {
		changed := r.owner.Changed()
		r.owner.Read(func(c *speculation.Core) {
			for _, h := range c.Queue(rigQueue).Hosts {
				for _, o := range h.Other {
					said = (texts.Words{}).OtherTools(h.Name, o)
				}
			}
		})
		if strings.Contains(said, "gets no builds of step unit: its environment command failed there: exit status 1") {
			break
		}
		select {
		case <-changed:
		case <-end:
			t.Fatalf("it is said: %q", said)
		}
	}
	n = r.land("third")
	r.until(n, "waiting for tools", func(v queue.View) bool {
		return len(v.Waits) > 0 && v.Waits[len(v.Waits)-1].Code == queue.ReasonWaitsTools
	})
	write("cc 2\n")
	if ch := r.verdict(n); ch.Phase != queue.Landed {
		t.Errorf("%s: %+v", ch.Phase, ch.Reason)
	}
}

// Of hosts with different tools, those with the most slots are gone by; another one gets
// no builds of the step, and is shown.
func TestHostWithOtherTools(t *testing.T) {
	t.Parallel()
	version := filepath.Join(t.TempDir(), "version")
	if err := os.WriteFile(version, []byte("cc 1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	command := "cat " + version
	r := newRig(t, map[string]string{".submitqueue.yml": "version: 1\nenvironment: " + command + "\nsteps:\n  - name: unit\n    run: 'true'\n"})
	ctx, leave := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		workers.Worker{Source: r.pool, Builder: failing{}, Log: slog.New(slog.DiscardHandler),
			Agent: workers.Agent{Name: "newer-1", Host: "newer", Tools: []queue.Tools{{Command: command, Fingerprint: queue.FingerprintOf("cc 2")}}}}.Serve(ctx)
	}()
	t.Cleanup(func() { leave(); <-done })
	r.proven("with cc 1", func(name string) bool {
		return name == queue.Toolset{command: queue.FingerprintOf("cc 1")}.String()
	})
	for _, name := range []string{"a", "b", "c"} {
		r.branch(name, "main", map[string]string{name: "x\n"})
		if ch := r.verdict(r.land(name)); ch.Phase != queue.Landed {
			t.Fatalf("%s: %+v", ch.Phase, ch.Reason)
		}
	}
	var q queue.QueueView
	r.owner.Read(func(c *speculation.Core) { q = c.Queue(rigQueue) })
	w := newWindow(t, nil)
	w.source.queues = map[string]queue.QueueView{rigQueue: q}
	_, _, body := w.get(t, "/api/queue?queue="+rigQueue)
	for _, h := range mustDecode[api.Queue](t, body).Hosts {
		want := 0
		if h.Name == "newer" {
			want = 1
		}
		if len(h.Other) != want || want == 1 && !strings.Contains(h.Other[0], "newer gets no builds of step unit: its tools are others") {
			t.Errorf("%+v", h)
		}
	}
	if _, _, page := w.get(t, "/queue?queue="+rigQueue); !strings.Contains(page, "newer gets no builds of step unit") {
		t.Error("the page does not say it")
	}
}
