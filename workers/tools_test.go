package workers

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

// The pool tells what the environment commands show on its host, and tells it again
// when that has changed; a build whose steps are verified with other tools is given back.
func TestPoolTellsItsTools(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "version")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("1\n")
	p, rec := open(t, 1, func(o *PoolOptions) { o.Tools = 10 * time.Millisecond })
	command := "cat " + file
	p.Environments([]string{command, "echo broken; exit 3", "yes | head -c 100000"})
	last := func() (f queue.Fleet) {
		if all := eventsOf[queue.Fleet](rec); len(all) > 0 {
			f = all[len(all)-1]
		}
		return f
	}
	tool := func(command string) (t queue.Tools) {
		for _, h := range last().Hosts {
			for _, x := range h.Tools {
				if x.Command == command {
					t = x
				}
			}
		}
		return t
	}
	shows := func(text string) func() bool {
		return func() bool { return tool(command).Fingerprint == queue.FingerprintOf(text) }
	}
	until(t, "version 1 is told", shows("1"))
	if got := tool("echo broken; exit 3"); got.Fingerprint != "" || got.Error != "exit status 3: broken" {
		t.Errorf("a command that fails: %+v", got)
	}
	if got := tool("yes | head -c 100000"); got.Fingerprint != "" || !strings.Contains(got.Error, "more than 64 KiB") {
		t.Errorf("a command that prints much: %+v", got)
	}
	s := step("true")
	s.Environment, s.Fingerprint = command, queue.FingerprintOf("1")
	mustRun(t, p, build("one", job(s, ".")), "run")
	if d := rec.done(t, 1); d.Outcome != queue.JobPassed {
		t.Errorf("%+v", d)
	}
	write("2\n")
	until(t, "version 2 is told", shows("2"))
	mustRun(t, p, build("two", job(s, ".")), "run")
	if d := rec.done(t, 2); d.Outcome != queue.JobStopped || d.NoRunner || !strings.Contains(d.Detail, "tools") {
		t.Errorf("with other tools: %+v", d)
	}
	bad := step("true")
	bad.Environment = "echo broken; exit 3"
	mustRun(t, p, build("three", job(bad, ".")), "run")
	if d := rec.done(t, 3); d.Outcome != queue.JobStopped {
		t.Errorf("where the tools cannot be told: %+v", d)
	}
	n := len(eventsOf[queue.Fleet](rec))
	until(t, "they are looked at again", func() bool { p.mu.Lock(); defer p.mu.Unlock(); return len(p.tools.found) == 3 })
	if got := len(eventsOf[queue.Fleet](rec)); got != n {
		t.Errorf("nothing has changed, and %d more events tell it", got-n)
	}
}

// A command that never prints the same says nothing of the tools, be it at once or from
// look to look.
func TestUnsteadyTools(t *testing.T) {
	t.Parallel()
	p, rec := open(t, 1, func(o *PoolOptions) { o.Tools = 10 * time.Millisecond })
	file := filepath.Join(t.TempDir(), "count")
	if err := os.WriteFile(file, []byte("0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	hasty, slow := "echo $$", `n=$(cat `+file+`); echo $((n+1)) > `+file+`; echo $((n/2))` // the same twice in a row
	p.Environments([]string{hasty, slow})
	told := func(command, want string) func() bool {
		return func() bool {
			all := eventsOf[queue.Fleet](rec)
			for _, h := range all[max(len(all)-1, 0):] {
				for _, x := range h.Hosts[0].Tools {
					if x.Command == command {
						return x.Fingerprint == "" && strings.Contains(x.Error, want)
					}
				}
			}
			return false
		}
	}
	until(t, "another number each time is told", told(hasty, "something else each time"))
	until(t, "another number at each look is told", told(slow, "something else each time"))
	for _, f := range eventsOf[queue.Fleet](rec) {
		for _, x := range f.Hosts[0].Tools {
			if x.Command == hasty && x.Fingerprint != "" {
				t.Errorf("%+v", x)
			}
		}
	}
}
