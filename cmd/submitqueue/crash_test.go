package main

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/app/api"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/client"
	"github.com/submitqueue/submitqueue/queue/storetest"
)

var crashSeed = flag.Uint64("crash.seed", 0, "seed of TestKilledServer; 0: another each time")

// crashed is a repository whose server is killed again and again. Branch N of
// it adds a file; every fourth adds a file called bad-N, which its test refuses.
type crashed struct {
	*testing.T
	ctx    context.Context
	data   string
	bare   string
	redis  string   // as serve takes it; "": auto
	flags  []string // of the server, further ones
	wrap   func(*exec.Cmd)
	server *exec.Cmd
	log    strings.Builder
}

func newCrashed(t *testing.T, branches int) *crashed {
	t.Helper()
	return newCrashedWith(t, branches, "")
}

// newCrashedWith has a test that begins with some lines of shell.
func newCrashedWith(t *testing.T, branches int, first string) *crashed {
	t.Helper()
	_, err := exec.LookPath("redis-server")
	storetest.Need(t, "redis", err == nil) // what is in memory does not outlive a kill
	c := &crashed{T: t, ctx: t.Context(), data: filepath.Join(t.TempDir(), "data"), bare: filepath.Join(t.TempDir(), "x.git")}
	w := t.TempDir()
	c.git(w, "init", "-q", "-b", "main")
	c.write(w, ".submitqueue.yml", "version: 1\nsteps:\n  - name: test\n    run: sh ./test.sh\n    timeout: 1m\n")
	c.write(w, "test.sh", first+"for f in bad-*; do test ! -e $f || { echo $f; exit 1; }; done\n")
	c.git(w, "add", "-A")
	c.git(w, "commit", "-qm", "first")
	for n := range branches {
		c.git(w, "checkout", "-q", "-b", branch(n), "main")
		c.write(w, file(n), "x\n")
		c.git(w, "add", "-A")
		c.git(w, "commit", "-qm", "Add "+file(n))
	}
	c.git(w, "checkout", "-q", "main")
	c.git(w, "clone", "-q", "--bare", w, c.bare)
	t.Cleanup(func() { c.end(syscall.SIGKILL) })
	return c
}

func branch(n int) string { return fmt.Sprintf("branch-%d", n) }

func bad(n int) bool { return n%4 == 3 }

func file(n int) string {
	if bad(n) {
		return fmt.Sprintf("bad-%d", n)
	}
	return fmt.Sprintf("good-%d", n)
}

func (c *crashed) write(dir, name, text string) {
	c.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		c.Fatal(err)
	}
}

func (c *crashed) git(dir string, args ...string) string {
	c.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@x",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@x")
	out, err := cmd.CombinedOutput()
	if err != nil {
		c.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// start starts the server on what is there, and waits until it answers.
func (c *crashed) start() {
	c.Helper()
	mustRemove(c.T, client.PathOf(c.data))
	c.server = exec.Command("submitqueue", "serve", "--forge", "local", "--repo", c.bare, "--redis", cmp.Or(c.redis, "auto"), "--data", c.data, "--listen", "127.0.0.1:0")
	c.server.Args = append(c.server.Args, c.flags...)
	c.server.Env = append(os.Environ(), "REDIS_URL=auto", "GIT_CONFIG_GLOBAL=/dev/null", "SUBMITQUEUE_ISOLATE=none")
	c.server.Stderr = &c.log
	if c.wrap != nil {
		c.wrap(c.server)
	}
	if err := c.server.Start(); err != nil {
		c.Fatal(err)
	}
	if !appears(client.PathOf(c.data), 30*time.Second) {
		c.end(syscall.SIGKILL)
		c.Fatalf("the server does not start:\n%s", c.log.String())
	}
}

func mustRemove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
}

// end ends the server and returns its exit status.
func (c *crashed) end(s os.Signal) int {
	if c.server == nil {
		return 0
	}
	_ = c.server.Process.Signal(s) // it may have ended
	_ = c.server.Wait()
	code := c.server.ProcessState.ExitCode()
	c.server = nil
	return code
}

// get asks the server, which may not answer, because it is being killed.
func (c *crashed) get(path string, out any) error {
	f, err := client.ReadFile(c.data)
	if err != nil {
		return err
	}
	client := client.Client{Base: f.URL, Token: f.Token}
	return client.Get(c.ctx, path, out)
}

// ask asks to land branch n, again and again until a server says that it will;
// by its key it is one command, however often it is taken in.
func (c *crashed) ask(ctx context.Context, n int) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for ctx.Err() == nil && !c.asked(ctx, n) {
		<-tick.C
	}
}

func (c *crashed) asked(ctx context.Context, n int) bool {
	f, err := client.ReadFile(c.data)
	if err != nil {
		return false
	}
	body := fmt.Sprintf(`{"branch":%q}`, branch(n))
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, f.URL+"/api/land", strings.NewReader(body))
	if err != nil {
		return false
	}
	r.Header.Set("Authorization", "Bearer "+f.Token)
	r.Header.Set("Idempotency-Key", branch(n))
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return false
	}
	res.Body.Close()
	return res.StatusCode == http.StatusAccepted
}

// decided returns how many changes have a verdict.
func (c *crashed) decided() (n int) {
	var q api.Queue
	if c.get("/api/queue", &q) != nil {
		return -1
	}
	for _, ch := range q.Recent {
		if ch.Final {
			n++
		}
	}
	return n
}

// allDecided waits until all changes have a verdict.
func (c *crashed) allDecided(branches int) {
	c.Helper()
	c.until("all are decided", func() bool { return c.decided() >= branches })
}

// until waits for something that the server does.
func (c *crashed) until(what string, holds func() bool) {
	c.Helper()
	for end := time.Now().Add(3 * time.Minute); !holds(); {
		if time.Now().After(end) {
			var q json.RawMessage
			_ = c.get("/api/queue", &q)
			c.Fatalf("not so: %s: %s\n%s", what, q, tailOf(c.log.String(), 4000))
		}
		<-time.After(50 * time.Millisecond)
	}
}

// TestKilledServer kills the server at random moments while branches land, and
// starts it again: each has one verdict, main is green at each commit, nothing
// landed twice, nothing is lost.
func TestKilledServer(t *testing.T) {
	t.Parallel()
	branches, kills := 16, 12
	if testing.Short() {
		branches, kills = 4, 2
	}
	seed := *crashSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("again with: -crash.seed=%d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	c := newCrashed(t, branches)
	asking, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer func() { stop(); wg.Wait() }()
	c.start()
	wg.Go(func() {
		for n := range branches {
			c.ask(asking, n)
		}
	})
	for range kills {
		moment := time.After(time.Duration(r.IntN(1500)) * time.Millisecond)
		for alive := true; alive && c.decided() < branches; {
			select {
			case <-moment:
				alive = false
			case <-time.After(50 * time.Millisecond):
			}
		}
		c.end(syscall.SIGKILL)
		c.start()
	}
	c.allDecided(branches)
	c.checkMain(branches)
}

// checkMain looks at main itself, and at the history of verdicts.
func (c *crashed) checkMain(branches int) {
	c.Helper()
	seen := map[string]bool{}
	for commit := range strings.FieldsSeq(c.git(c.bare, "rev-list", "--first-parent", "main")) {
		dir := c.TempDir()
		c.git(c.bare, "--work-tree="+dir, "checkout", "-q", "-f", commit, "--", ".")
		step := exec.Command("sh", "test.sh")
		step.Dir = dir
		if out, err := step.CombinedOutput(); err != nil {
			c.Errorf("commit %s on main is red: %s", commit, out)
		}
		id := c.git(c.bare, "log", "-1", "--format=%(trailers:key=Change,valueonly)", commit)
		if id != "" && seen[id] {
			c.Errorf("change %s landed twice", id)
		}
		seen[id] = true
	}
	files := c.git(c.bare, "ls-tree", "--name-only", "main")
	for n := range branches {
		if landed := strings.Contains("\n"+files+"\n", "\n"+file(n)+"\n"); landed == bad(n) {
			c.Errorf("%s: landed is %t", branch(n), landed)
		}
	}
	var notes []api.Note
	if err := c.get("/api/history?max=500", &notes); err != nil {
		c.Fatal(err)
	}
	verdicts, requests := map[string]int{}, map[int]bool{}
	for _, note := range notes {
		switch note.What {
		case "landed", "rejected", "cancelled", "nothing-to-land":
			verdicts[note.Change]++
			requests[note.Number] = true
		}
	}
	for id, n := range verdicts {
		if n != 1 {
			c.Errorf("change %s has %d verdicts", id, n)
		}
	}
	if len(requests) != branches {
		c.Errorf("%d requests have verdicts, want %d", len(requests), branches)
	}
}

func tailOf(s string, n int) string { return s[max(0, len(s)-n):] }

// TestStoppedServer sends SIGTERM in the middle: the server ends soon, without
// an error, and the next one carries on.
func TestStoppedServer(t *testing.T) {
	t.Parallel()
	const branches = 4
	c := newCrashed(t, branches)
	c.start()
	for n := range branches {
		c.ask(t.Context(), n)
		if n%2 == 0 {
			continue
		}
		began := time.Now()
		if code := c.end(syscall.SIGTERM); code != 0 {
			t.Errorf("exit status %d\n%s", code, tailOf(c.log.String(), 2000))
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("it took %v to stop", took)
		}
		c.start()
	}
	for end := time.Now().Add(3 * time.Minute); c.decided() < branches; {
		if time.Now().After(end) {
			t.Fatalf("not all are decided\n%s", tailOf(c.log.String(), 4000))
		}
		<-time.After(50 * time.Millisecond)
	}
	for n := range branches {
		c.ask(t.Context(), n) // the same command: it was followed
	}
	if requests := strings.Fields(c.git(c.bare, "for-each-ref", "--format=%(refname)", "refs/submitqueue/requests/")); len(requests) != branches {
		t.Errorf("commands that were given again have made requests: %v", requests)
	}
	c.checkMain(branches)
}
