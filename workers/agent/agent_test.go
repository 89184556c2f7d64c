package agent_test

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/queue/storetest"
	"github.com/submitqueue/submitqueue/workers"
	"github.com/submitqueue/submitqueue/workers/agent"
	"github.com/submitqueue/submitqueue/workers/coordinator"
)

// TestMain is also the process of an agent, which tests kill.
func TestMain(m *testing.M) {
	if server := os.Getenv("AGENT_SERVER"); server != "" {
		os.Exit(child(server))
	}
	storetest.FilesInMemory()
	storetest.AtOnce(8)
	os.Exit(m.Run())
}

func child(server string) int {
	a, err := agent.New(agent.Options{Server: server, Token: os.Getenv("AGENT_TOKEN"), Dir: os.Getenv("AGENT_DIR"), Name: "child", Every: 50 * time.Millisecond,
		Runner: workers.RunnerOptions{Grace: 200 * time.Millisecond}, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := a.Run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// world is a pool behind a coordinator, and a repository that is served to jobs.
type world struct {
	t      *testing.T
	pool   *workers.Pool
	c      *coordinator.Coordinator
	base   string
	token  string
	repo   string
	commit string
	ended  map[*agent.Agent]chan struct{}

	mu     sync.Mutex
	events []queue.Body
	serve  http.Handler                                      // what git asks; nil: the repository
	fault  func(w http.ResponseWriter, r *http.Request) bool // answers in the server's place
}

func newWorld(t *testing.T, change ...func(*coordinator.Options)) *world {
	t.Helper()
	dir := t.TempDir()
	w := &world{t: t, repo: filepath.Join(dir, "shop.git"), ended: map[*agent.Agent]chan struct{}{}}
	backend := filepath.Join(strings.TrimSpace(w.git("", "--exec-path")), "git-http-backend")
	if _, err := os.Stat(backend); err != nil {
		t.Skip("git-http-backend is not there")
	}
	tree := filepath.Join(dir, "w")
	w.git("", "init", "-q", "-b", "main", tree)
	w.must(os.WriteFile(filepath.Join(tree, "hello"), []byte("hello\n"), 0o644))
	w.git(tree, "add", "-A")
	w.git(tree, "commit", "-qm", "first")
	w.git("", "clone", "-q", "--bare", tree, w.repo)
	w.git(w.repo, "config", "uploadpack.allowAnySHA1InWant", "true")
	w.commit = strings.TrimSpace(w.git(w.repo, "rev-parse", "main"))
	var err error
	w.pool, err = workers.NewPool(workers.PoolOptions{Dir: filepath.Join(dir, "pool"), Lease: 20 * time.Second, Log: slog.New(slog.DiscardHandler)})
	w.must(err)
	reg := coordinator.NewRegistry(dir)
	w.token, err = reg.Add("box", nil, false, time.Now())
	w.must(err)
	o := coordinator.Options{Source: w.pool, Runners: reg, Dir: filepath.Join(dir, "up"), Hold: 2 * time.Second, Lease: 20 * time.Second, Grace: time.Second, LogLimit: 64 << 10,
		RepoURL: func(queue.Build) string { return w.base + "/git/shop.git" }, Secrets: []workers.Secret{{Name: "KEY", Value: "hunter2-hunter2"}},
		Files: func(context.Context, queue.Build) (fs.FS, error) { return os.DirFS(tree), nil }, Log: slog.New(slog.DiscardHandler)}
	for _, f := range change {
		f(&o)
	}
	w.c, err = coordinator.New(o)
	w.must(err)
	git := &cgi.Handler{Path: backend, Env: []string{"GIT_PROJECT_ROOT=" + dir, "GIT_HTTP_EXPORT_ALL=1"}, Root: "/git"}
	s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		fault := w.fault
		w.mu.Unlock()
		if fault != nil && fault(rw, r) {
			return
		}
		if strings.HasPrefix(r.URL.Path, "/git/") {
			_, token, _ := r.BasicAuth()
			if _, ok := w.c.Job(token); !ok {
				rw.Header().Set("WWW-Authenticate", "Basic")
				rw.WriteHeader(http.StatusUnauthorized)
				return
			}
			w.mu.Lock()
			own := w.serve
			w.mu.Unlock()
			if own != nil {
				own.ServeHTTP(rw, r)
				return
			}
			git.ServeHTTP(rw, r)
			return
		}
		w.c.ServeHTTP(rw, r)
	}))
	w.base = s.URL
	go func() {
		for e := range w.pool.Events() {
			w.mu.Lock()
			w.events = append(w.events, e)
			w.mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		_ = w.c.Close()
		s.Close()
		_ = w.pool.Close(context.Background())
	})
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) git(dir string, args ...string) string {
	w.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@x", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@x")
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

func (w *world) until(what string, is func() bool) {
	w.t.Helper()
	for end := time.Now().Add(3 * time.Minute); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			w.t.Fatalf("waited in vain for: %s", what)
		}
	}
}

// breaks has requests answered in the server's place; nil: none.
func (w *world) breaks(fault func(http.ResponseWriter, *http.Request) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fault = fault
}

func (w *world) options() agent.Options {
	return agent.Options{Server: w.base, Token: w.token, Dir: w.t.TempDir(), Name: "m", Every: 50 * time.Millisecond, Runner: workers.RunnerOptions{Grace: 300 * time.Millisecond}, Log: slog.New(slog.DiscardHandler)}
}

// agent runs an agent in this process until the test ends.
func (w *world) agent(o agent.Options) *agent.Agent {
	w.t.Helper()
	a, err := agent.New(o)
	w.must(err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = a.Run(ctx)
	}()
	w.t.Cleanup(func() { cancel(); <-done })
	w.ended[a] = done
	w.joined()
	return a
}

// drain ends an agent, and waits until the server knows: else the next job may be handed to
// its last question.
func (w *world) drain(a *agent.Agent) {
	w.t.Helper()
	a.Drain()
	<-w.ended[a]
	w.until("nobody asks any more", func() bool { return !w.asked() })
}

func (w *world) joined() {
	w.t.Helper()
	w.until("a runner asks", func() bool { return w.asked() && slices.ContainsFunc(w.pool.Stands(), hasSlots) })
}

// hasSlots reports whether a pool knows a runner. It learns of one a moment after the
// coordinator; a job that comes between the two has no runner.
func hasSlots(b queue.Body) bool {
	c, ok := b.(queue.Capacity)
	return ok && c.Slots > 0
}

func (w *world) asked() bool {
	return slices.ContainsFunc(w.c.Machines(), func(m coordinator.Machine) bool { return m.Asking > 0 })
}

func (w *world) run(id queue.BuildID, run string, timeout time.Duration) {
	w.t.Helper()
	s := config.Step{Name: "unit", Run: run, Timeout: timeout}
	w.must(w.pool.Run(w.t.Context(), queue.Build{ID: id, Commit: queue.CommitID(w.commit), Jobs: []queue.Job{{Step: s, Keys: []queue.Key{{Step: s.Digest(), Target: "a", Hash: "h"}}}}}, "run/"+string(id)))
}

func (w *world) done(id queue.BuildID) (d queue.BuildDone) {
	w.t.Helper()
	w.until("the end of "+string(id), func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, e := range w.events {
			if x, ok := e.(queue.BuildDone); ok && x.Build == id {
				d = x
				return true
			}
		}
		return false
	})
	return d
}

func (w *world) log(id queue.BuildID) string {
	w.t.Helper()
	l, err := w.pool.Log(id)
	if err != nil {
		return ""
	}
	var all strings.Builder
	for at := int64(0); ; {
		c, err := l.Read(at)
		if err != nil {
			return all.String()
		}
		all.WriteString(c.Text)
		if c.End || c.Next == at {
			return all.String()
		}
		at = c.Next
	}
}

// What a step does comes out as on the server's own runners.
func TestJobs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	o := w.options()
	o.Output = 256 << 10
	o.Runner.Secrets = []workers.Secret{{Name: "OWN", Value: "hunter2-of-the-runner"}}
	w.agent(o)
	for _, test := range []struct {
		id, run string
		timeout time.Duration
		want    queue.JobOutcome
		detail  string
		logs    string
	}{
		{"passes", "cat hello; echo $CI_COMMIT_SHA; test ! -e left; touch left", time.Minute, queue.JobPassed, "", "hello"},
		{"is-clean", "test ! -e left && ls -a", time.Minute, queue.JobPassed, "", "hello"},
		{"fails", "echo about to; exit 3", time.Minute, queue.JobFailed, "exit status 3", "about to"},
		{"not-there", "no-such-command", time.Minute, queue.JobInfra, "a command is not there", "not found"},
		{"hangs", "trap '' TERM; echo deaf; sleep 300", time.Second, queue.JobTimeout, "timed out after 1s", "deaf"},
		{"daemon", "(trap '' TERM HUP; sleep 300) >/dev/null 2>&1 & echo started", time.Minute, queue.JobPassed, "", "started"},
		{"rubbish", `printf '\377\000\033[31mred\033[0m\r\n\nKEY is %s\n' "$KEY"`, time.Minute, queue.JobPassed, "", "KEY is ***"},
		{"colours", `printf '\033]0;a title\007\033[2J\033[31;1mred\033[0m\033]8;;http://x\033\\link\033]8;;\033\\ a\bb\r\nseen\342\200\256 \303(\n'`, time.Minute, queue.JobPassed, "", "seen"},
		{"binary", "head -c 12000 /dev/urandom; echo; echo after it", time.Minute, queue.JobPassed, "", "\nafter it"},
		{"own-secret", `echo "OWN is $OWN"`, time.Minute, queue.JobPassed, "", "OWN is ***"},
		{"floods", "yes 'a line of a flood' | head -c 3000000; echo; exit 1", time.Minute, queue.JobFailed, "exit status 1", "a part of the output is left out"},
	} {
		w.run(queue.BuildID(test.id), test.run, test.timeout)
		d := w.done(queue.BuildID(test.id))
		want := test.want
		if want == queue.JobTimeout {
			want = queue.JobFailed
		}
		log := w.log(queue.BuildID(test.id))
		if d.Outcome != want || !strings.Contains(d.Detail, test.detail) || !strings.Contains(log, test.logs) {
			t.Errorf("%s: %+v\n%.3000s", test.id, d, log)
		}
		if strings.Contains(log, "sqjt-") || strings.Contains(log, "hunter2") || strings.ContainsAny(log, "\x1b\x00\x07\x08\u202e") || !utf8.ValidString(log) || len(log) > 200<<10 {
			t.Errorf("%s: a log of %d bytes shows what it must not:\n%.500s", test.id, len(log), log)
		}
	}
}

// Answers that are lost, cut or come twice change nothing of what comes out.
func TestBadNetwork(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	n := 0
	var mu sync.Mutex
	w.agent(w.options())
	w.breaks(func(rw http.ResponseWriter, r *http.Request) bool {
		mu.Lock()
		n++
		turn := n % 5
		mu.Unlock()
		if strings.HasPrefix(r.URL.Path, "/git/") || r.URL.Path == "/api/v4/jobs/request" {
			return false
		}
		switch turn {
		case 0: // nothing arrives
			panic(http.ErrAbortHandler)
		case 1: // it arrives, and the answer is lost
			body, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(strings.NewReader(string(body)))
			w.c.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		case 2:
			rw.WriteHeader(http.StatusBadGateway)
			return true
		}
		return false
	})
	w.run("b1", "for i in 1 2 3 4 5 6 7 8; do echo line $i; sleep 0.1; done; exit 1", time.Minute)
	if d := w.done("b1"); d.Outcome != queue.JobFailed {
		t.Errorf("%+v", d)
	}
	log := w.log("b1")
	for i := 1; i <= 8; i++ {
		if strings.Count(log, "line "+strconv.Itoa(i)+"\n") != 1 {
			t.Errorf("line %d:\n%s", i, log)
		}
	}
	w.breaks(nil)
}

// A job that the server cancels ends on the machine, whatever it does.
func TestCancelled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.agent(w.options())
	pid := filepath.Join(t.TempDir(), "pid")
	w.run("b1", "trap '' TERM; echo $$ > "+pid+"; while :; do sleep 1; done", time.Minute)
	running := alive(w, pid)
	w.must(w.pool.Stop(t.Context(), "b1"))
	if d := w.done("b1"); d.Outcome != queue.JobStopped {
		t.Errorf("%+v", d)
	}
	w.until("its process ends", func() bool { return !running() })
	w.run("b2", "true", time.Minute)
	if d := w.done("b2"); d.Outcome != queue.JobPassed {
		t.Errorf("%+v", d)
	}
}

// alive waits until a process has written its number, and returns whether it runs.
func alive(w *world, path string) func() bool {
	w.t.Helper()
	n := 0
	w.until("the step runs", func() bool {
		raw, _ := os.ReadFile(path)
		n, _ = strconv.Atoi(strings.TrimSpace(string(raw)))
		return n > 0
	})
	return func() bool {
		raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", n))
		if err != nil {
			return syscall.Kill(n, 0) == nil && !isLinux()
		}
		_, rest, _ := strings.Cut(string(raw), ") ")
		return !strings.HasPrefix(rest, "Z")
	}
}

func isLinux() bool { _, err := os.Stat("/proc/self/stat"); return err == nil }

// An agent that is killed in whatever phase leaves no process behind when it starts again;
// its job is given up at once, and the next one runs.
func TestKilled(t *testing.T) {
	t.Parallel()
	if !isLinux() {
		t.Skip("processes are looked at in /proc")
	}
	w := newWorld(t)
	dir := t.TempDir()
	start := func() *exec.Cmd {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "AGENT_SERVER="+w.base, "AGENT_TOKEN="+w.token, "AGENT_DIR="+dir)
		cmd.Stderr = os.Stderr
		w.must(cmd.Start())
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		return cmd
	}
	kill := func(cmd *exec.Cmd) {
		w.must(cmd.Process.Kill())
		_ = cmd.Wait()
	}
	cmd := start()
	w.joined()
	kill(cmd) // while it asks
	cmd = start()
	w.until("it asks again", func() bool { return len(w.c.Machines()) == 1 && w.c.Machines()[0].Asking > 0 })

	pid := filepath.Join(t.TempDir(), "pid")
	w.run("running", "trap '' TERM HUP; echo $$ > "+pid+"; sleep 300", time.Minute)
	running := alive(w, pid)
	kill(cmd)
	if !running() {
		t.Fatal("the step ends with the agent: there is nothing to be found")
	}
	cmd = start()
	if d := w.done("running"); d.Outcome != queue.JobInfra {
		t.Errorf("%+v", d)
	}
	w.until("the orphan ends", func() bool { return !running() })

	// While it fetches: the server holds git's answer.
	held, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	w.breaks(func(rw http.ResponseWriter, r *http.Request) bool {
		if strings.HasPrefix(r.URL.Path, "/git/") {
			once.Do(func() { close(held) })
			select {
			case <-release:
			case <-r.Context().Done():
			}
		}
		return false
	})
	w.run("fetching", "true", time.Minute)
	<-held
	kill(cmd)
	close(release)
	w.breaks(nil)
	start()
	if d := w.done("fetching"); d.Outcome != queue.JobInfra {
		t.Errorf("%+v", d)
	}
	w.run("after", "cat hello", time.Minute)
	if d := w.done("after"); d.Outcome != queue.JobPassed {
		t.Errorf("%+v\n%s", d, w.log("after"))
	}
}

// process starts an agent in a process of its own.
func (w *world) process(dir string) (kill func()) {
	w.t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "AGENT_SERVER="+w.base, "AGENT_TOKEN="+w.token, "AGENT_DIR="+dir)
	cmd.Stderr = os.Stderr
	w.must(cmd.Start())
	var once sync.Once
	kill = func() { once.Do(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }) }
	w.t.Cleanup(kill)
	return kill
}

// holds has the next request that is meant wait for good, before or after the server has
// taken it, and returns a channel that is closed when it is there.
func (w *world) holds(meant func(r *http.Request, body string) bool, taken bool) (there chan struct{}, release func()) {
	there, let := make(chan struct{}), make(chan struct{})
	var once sync.Once
	w.breaks(func(rw http.ResponseWriter, r *http.Request) bool {
		if strings.HasPrefix(r.URL.Path, "/git/") {
			return false
		}
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		if !meant(r, string(body)) {
			return false
		}
		first := false
		once.Do(func() { first = true })
		if !first {
			return false
		}
		if taken {
			w.c.ServeHTTP(httptest.NewRecorder(), r)
		}
		close(there)
		select {
		case <-let:
		case <-r.Context().Done():
		}
		panic(http.ErrAbortHandler)
	})
	return there, sync.OnceFunc(func() { w.breaks(nil); close(let) })
}

// An agent that is killed while it sends output, or the end, leaves one outcome: that which
// the server has taken, or none of the step's. Nothing of it runs on, and the next job does.
func TestKilledWhileItTells(t *testing.T) {
	t.Parallel()
	if !isLinux() {
		t.Skip("processes are looked at in /proc")
	}
	w := newWorld(t)
	isTrace := func(r *http.Request, body string) bool {
		return r.Method == http.MethodPatch && strings.Contains(body, "half way")
	}
	isEnd := func(r *http.Request, body string) bool {
		return r.Method == http.MethodPut && strings.Contains(body, `"state":"failed"`)
	}
	for _, test := range []struct {
		id    queue.BuildID
		meant func(*http.Request, string) bool
		taken bool
		want  queue.JobOutcome
	}{
		{"trace-lost", isTrace, false, queue.JobInfra},
		{"trace-taken", isTrace, true, queue.JobInfra},
		{"end-lost", isEnd, false, queue.JobInfra},
		{"end-taken", isEnd, true, queue.JobFailed},
	} {
		dir := t.TempDir()
		there, release := w.holds(test.meant, test.taken)
		kill := w.process(dir)
		w.until("it asks", func() bool {
			for _, m := range w.c.Machines() {
				if m.Asking > 0 {
					return true
				}
			}
			return false
		})
		pid := filepath.Join(t.TempDir(), "pid")
		run := "trap '' TERM; echo half way; exit 4"
		if strings.HasPrefix(string(test.id), "trace") {
			run = "trap '' TERM; echo $$ > " + pid + "; echo half way; sleep 300"
		}
		w.run(test.id, run, time.Minute)
		<-there
		running := func() bool { return false }
		if strings.HasPrefix(string(test.id), "trace") {
			running = alive(w, pid)
		}
		kill()
		release()
		again := w.process(dir)
		if d := w.done(test.id); d.Outcome != test.want {
			t.Errorf("%s: %+v\n%s", test.id, d, w.log(test.id))
		}
		w.until("the orphan ends", func() bool { return !running() })
		next := test.id + "-next"
		w.run(next, "cat hello", time.Minute)
		if d := w.done(next); d.Outcome != queue.JobPassed {
			t.Errorf("%s: %+v\n%s", next, d, w.log(next))
		}
		ends := 0
		w.mu.Lock()
		for _, e := range w.events {
			if x, ok := e.(queue.BuildDone); ok && x.Build == test.id {
				ends++
			}
		}
		w.mu.Unlock()
		if ends != 1 {
			t.Errorf("%s has ended %d times", test.id, ends)
		}
		again()
	}
}

// Drained, an agent finishes its job and takes no other; told to end, it ends its job and
// says so. A token that is revoked ends it.
func TestEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a, err := agent.New(w.options())
	w.must(err)
	ended := make(chan error, 1)
	go func() { ended <- a.Run(context.Background()) }()
	w.joined()
	pid := filepath.Join(t.TempDir(), "pid")
	w.run("last", "echo $$ > "+pid+"; sleep 0.5; echo finished", time.Minute)
	alive(w, pid)
	a.Drain()
	w.must(<-ended)
	if d := w.done("last"); d.Outcome != queue.JobPassed {
		t.Errorf("%+v", d)
	}

	a, err = agent.New(w.options())
	w.must(err)
	ctx, cancel := context.WithCancel(context.Background())
	go func() { ended <- a.Run(ctx) }()
	w.until("it asks", func() bool {
		for _, m := range w.c.Machines() {
			if m.Asking > 0 {
				return true
			}
		}
		return false
	})
	pid = filepath.Join(t.TempDir(), "pid")
	w.run("aborted", "trap '' TERM HUP INT; echo $$ > "+pid+"; while :; do sleep 1; done", time.Minute)
	running := alive(w, pid)
	cancel()
	w.must(<-ended)
	if running() {
		t.Error("the step outlives the agent")
	}
	if d := w.done("aborted"); d.Outcome != queue.JobInfra || !strings.Contains(d.Detail, "runner_system_failure") {
		t.Errorf("%+v", d)
	}

	o := w.options()
	o.Token = "glrt-nobody"
	a, err = agent.New(o)
	w.must(err)
	if err := a.Run(context.Background()); err != agent.ErrRefused {
		t.Errorf("%v", err)
	}
	if _, err := a.Verify(t.Context()); err != agent.ErrRefused {
		t.Errorf("%v", err)
	}
}
