package live

import (
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/cmd/submitqueue/demo"
	"github.com/submitqueue/submitqueue/queue"
)

// On either forge, the product lands what is good and refuses what is not; a browser shows
// it, git clones it, and what is pushed past the queue is seen.
func TestHosts(t *testing.T) {
	for name := range hosts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			log, err := os.Create(filepath.Join(dir, "log"))
			if err != nil {
				t.Fatal(err)
			}
			defer log.Close()
			d, err := startDemo(demoOptions{Dir: dir, Runners: 2, Forge: name, Log: log})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := d.Close(); err != nil {
					t.Error(err)
				}
				if t.Failed() {
					text, _ := os.ReadFile(log.Name())
					t.Logf("%s", text[max(0, len(text)-4000):])
				}
			})
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			good := demo.Change{Author: "ann", Title: "<b>good</b>", Body: "text", Branch: "good", Files: demo.Files{"good.txt": "x\n"}}
			bad := demo.Change{Author: "bob", Title: "bad", Branch: "bad", Files: demo.Files{"bad.txt": "x\n"}}
			plan := &demo.Plan{Title: "a test", Name: "shop", Branch: "main", Changes: []demo.Change{good, bad},
				Base: demo.Files{".submitqueue.yml": "version: 1\nsteps:\n  - {name: unit, run: 'test ! -e bad.txt'}\n"}}
			if err := d.Publish(ctx, plan); err != nil {
				t.Fatal(err)
			}
			want := map[int]queue.Phase{}
			for _, c := range plan.Changes {
				p, err := d.Open(ctx, c)
				if err != nil {
					t.Fatal(err)
				}
				if want[p.Number] = queue.Landed; c.Branch == "bad" {
					want[p.Number] = queue.Rejected
				}
				if err := d.Land(ctx, p); err != nil {
					t.Fatal(err)
				}
			}
			for done := 0; done < len(want); {
				done = 0
				rows, err := d.Rows(ctx)
				if err != nil {
					t.Fatal(err)
				}
				for _, r := range rows {
					if r.Phase.Final() {
						if done++; r.Phase != want[r.Number] {
							t.Fatalf("%+v", r)
						}
					}
				}
				select {
				case <-ctx.Done():
					t.Fatalf("not all is decided: %+v", rows)
				case <-time.After(20 * time.Millisecond):
				}
			}
			clone := filepath.Join(dir, "clone")
			if out, err := exec.CommandContext(ctx, "git", "clone", "-q", d.Links().Clone, clone).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if _, err := os.Stat(filepath.Join(clone, "good.txt")); err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(filepath.Join(clone, "bad.txt")); err == nil {
				t.Error("what is bad is on main")
			}
			resp, err := http.Get(d.Links().Pulls)
			if err != nil {
				t.Fatal(err)
			}
			text, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			if !strings.Contains(string(text), "&lt;b&gt;good&lt;/b&gt;") || strings.Contains(string(text), "<b>good") {
				t.Errorf("the page of changes: %s", text)
			}
			ids, err := d.PushPast(ctx, []demo.Pushed{{Author: demoOwner, Message: "past", Files: demo.Files{"past.txt": "x\n"}}})
			if err != nil {
				t.Fatal(err)
			}
			for {
				m, err := d.Main(ctx)
				if err != nil || ctx.Err() != nil {
					t.Fatalf("main is not proven: %+v, %v, %v", m, err, ctx.Err())
				}
				if m.Tip == ids[0] && m.Proven {
					break
				}
				time.Sleep(20 * time.Millisecond)
			}
		})
	}
}
