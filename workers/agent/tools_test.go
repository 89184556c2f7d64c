package agent_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/workers"
	"github.com/submitqueue/submitqueue/workers/coordinator"
	"github.com/submitqueue/submitqueue/workers/protocol"
)

// toolsOf is what the queue was told last of a command on a host.
func (w *world) toolsOf(host, command string) (t queue.Tools) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.events {
		f, ok := e.(queue.Fleet)
		if !ok {
			continue
		}
		for _, h := range f.Hosts {
			for _, x := range h.Tools {
				if h.Name == host && x.Command == command {
					t = x
				}
			}
		}
	}
	return t
}

// A machine elsewhere says what the environment commands of steps show there, says it again
// when that has changed, and is given the steps that are verified with just that. Commands
// see no secrets. GitLab Runner says nothing, which the queue does not wait for.
func TestEnvironments(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *coordinator.Options) { o.Environments = o.Source.(*workers.Pool).EnvironmentCommands })
	file := filepath.Join(t.TempDir(), "version")
	write := func(text string) { w.must(os.WriteFile(file, []byte(text), 0o600)) }
	write("1\n")
	command := "test -z \"$KEY$OWN\" && cat " + file
	o := w.options()
	o.Tools = 50 * time.Millisecond
	o.Runner.Secrets = []workers.Secret{{Name: "OWN", Value: "hunter2-of-the-runner"}}
	w.agent(o)
	go w.post("/api/v4/jobs/request", "", protocol.JobRequest{Token: w.token, SystemID: "s_stock12", Info: protocol.Info{Name: "gitlab-runner", Executor: "shell", Platform: "linux"}}, nil)
	w.until("both ask", func() bool { return len(w.c.Machines()) == 2 })
	w.pool.Environments([]string{command, "echo broken; exit 3"}) // while requests are held

	told := func(text string) {
		t.Helper()
		w.until("version "+text+" is told", func() bool { return w.toolsOf("box-m", command).Fingerprint == queue.FingerprintOf(text) })
	}
	told("1")
	if got := w.toolsOf("box-m", "echo broken; exit 3"); got.Fingerprint != "" || got.Error != "exit status 3: broken" {
		t.Errorf("%+v", got)
	}
	run := func(id queue.BuildID, fingerprint string) queue.BuildDone {
		s := config.Step{Name: "unit", Run: "cat " + file, Timeout: time.Minute, Environment: command, Fingerprint: queue.FingerprintOf(fingerprint)}
		w.must(w.pool.Run(t.Context(), queue.Build{ID: id, Commit: queue.CommitID(w.commit), Jobs: []queue.Job{{Step: s, Keys: []queue.Key{{Step: s.Digest(), Target: "a", Hash: "h"}}}}}, "run/"+string(id)))
		return w.done(id)
	}
	if d := run("with-1", "1"); d.Outcome != queue.JobPassed || d.Host != "box-m" {
		t.Errorf("%+v\n%s", d, w.log("with-1"))
	}
	if d := run("with-2", "2"); d.Outcome != queue.JobStopped || !strings.Contains(d.Detail, "no host has the tools") {
		t.Errorf("%+v", d)
	}
	write("2\n")
	told("2")
	if d := run("now-2", "2"); d.Outcome != queue.JobPassed {
		t.Errorf("%+v", d)
	}

	go w.post("/api/v4/jobs/request", "", protocol.JobRequest{Token: w.token, SystemID: "s_stock12", Info: protocol.Info{Name: "gitlab-runner", Executor: "shell", Platform: "linux"},
		Tools: []protocol.Tool{{Command: command, Fingerprint: queue.FingerprintOf("2")}}}, nil)
	w.until("GitLab Runner is told to show nothing", func() bool {
		got := w.toolsOf("box-tock12", command)
		return got.Fingerprint == "" && strings.Contains(got.Error, "runs no environment commands")
	})
}
