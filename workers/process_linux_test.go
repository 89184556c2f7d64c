package workers

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/storetest"
)

// started waits until a step has written a process id to a file.
func started(t *testing.T, path string) int {
	t.Helper()
	pid := 0
	until(t, "pid in "+filepath.Base(path), func() bool {
		text, err := os.ReadFile(path)
		if err != nil || !strings.HasSuffix(string(text), "\n") {
			return false
		}
		pid, err = strconv.Atoi(strings.TrimSpace(string(text)))
		return err == nil
	})
	return pid
}

// runs says whether a process exists and is no zombie.
func runs(pid int) bool { return !isZombie("/proc/" + strconv.Itoa(pid)) }

// stubborn ignores SIGTERM; escaped has left the session, and ignores it too.
const (
	stubborn = `sh -c 'trap "" TERM; echo $$ > stubborn; while :; do sleep 1; done' &
`
	escaped = `setsid sh -c 'trap "" TERM HUP; echo $$ > escaped; while :; do sleep 1; done' &
`
	waitBoth = `while ! test -s stubborn || ! test -s escaped; do sleep 0.01; done
`
)

func TestNothingOutlivesAStep(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		last    string
		timeout time.Duration
		cancel  bool
		want    queue.JobOutcome
	}{
		"passed":    {"exit 0", time.Minute, false, queue.JobPassed},
		"failed":    {"exit 1", time.Minute, false, queue.JobFailed},
		"timeout":   {"wait", 2 * time.Second, false, queue.JobTimeout},
		"cancelled": {"wait", time.Minute, true, queue.JobStopped},
	} {
		t.Run(name, func(t *testing.T) {
			r := slot(t, nil)
			s := step(stubborn + escaped + waitBoth + c.last)
			s.Timeout = c.timeout
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			results := make(chan result, 1)
			go func() { results <- execute(ctx, r, build("b1", job(s, "."))) }()
			pids := []int{started(t, filepath.Join(r.files.checkout, "stubborn")), started(t, filepath.Join(r.files.checkout, "escaped"))}
			if c.cancel {
				cancel()
			}
			res := <-results
			if len(res.jobs) != 1 || res.jobs[0].Outcome != c.want {
				t.Errorf("%+v", res)
			}
			for _, pid := range pids {
				if runs(pid) {
					t.Errorf("process %d is still there", pid)
				}
			}
			if c.cancel && res.end.Outcome != queue.JobStopped {
				t.Errorf("end %+v", res.end)
			}
		})
	}
}

func TestPipeHeldOpenDoesNotHang(t *testing.T) {
	start := time.Now()
	done, _ := one(t, slot(t, nil), job(step("sleep 600 & echo out"), "."))
	if done.Outcome != queue.JobPassed || !strings.Contains(done.Tail, "out\n") {
		t.Errorf("%+v", done)
	}
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("took %s", took)
	}
}

// A process that leaves the session and clears its environment is not found:
// the limit that the package's documentation states. The step ends all the same.
func TestWhatIsNotCaught(t *testing.T) {
	storetest.OneOf(t, 2)
	t.Parallel()
	pidFile := filepath.Join(t.TempDir(), "pid")
	run := `env -i PATH="$PATH" setsid sh -c 'echo $$ > ` + pidFile + `; exec sleep 600' &
while ! test -s ` + pidFile + `; do sleep 0.01; done`
	done, _ := one(t, slot(t, nil), job(step(run), "."))
	if done.Outcome != queue.JobPassed {
		t.Errorf("%+v", done)
	}
	pid := started(t, pidFile)
	if !runs(pid) {
		t.Error("it was caught: tell the documentation")
	}
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Kill()
	}
}

func TestLeftOversOfAKilledServer(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "slot")
	files, err := newSlotFiles(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sleep", "600")
	cmd.Env = append(os.Environ(), markVar+"=/outer:"+files.root)
	ownSession(cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	slot(t, nil, func(o *RunnerOptions) { o.Dir = dir })
	if err := <-ended; err == nil {
		t.Error("it ended by itself")
	}
}

func TestCancelBeforeTheFirstStep(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if res := execute(ctx, slot(t, nil), build("b1", job(step("true"), "."))); res.end.Outcome != queue.JobStopped || len(res.jobs) != 0 {
		t.Errorf("%+v", res)
	}
	res := execute(ctx, slot(t, nil, func(o *RunnerOptions) { o.Checkout = stuck{} }), build("b1", job(step("true"), ".")))
	if res.end.Outcome != queue.JobStopped {
		t.Errorf("%+v", res)
	}
}
