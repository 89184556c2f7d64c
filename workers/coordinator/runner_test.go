package coordinator_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"io/fs"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/workers"
	"github.com/submitqueue/submitqueue/workers/coordinator"
	"github.com/submitqueue/submitqueue/workers/protocol"
)

const commit = "4f0c2d6b8a1e3f5079b2c4d6e8fa0b1c2d3e4f50"

// bench is a pool behind a coordinator, with a clock of seconds.
type bench struct {
	t     *testing.T
	pool  *workers.Pool
	c     *coordinator.Coordinator
	reg   *coordinator.Registry
	dir   string
	o     coordinator.Options
	base  string
	token string
	wrap  func(*workers.Pool) workers.Source // nil: the pool itself

	mu     sync.Mutex
	events []queue.Body
}

func newBench(t *testing.T, change ...func(*coordinator.Options)) *bench {
	t.Helper()
	b := &bench{t: t, dir: t.TempDir()}
	b.reg = coordinator.NewRegistry(b.dir)
	var err error
	if b.token, err = b.reg.Add("box", []string{"linux", "gpu"}, false, time.Now()); err != nil {
		t.Fatal(err)
	}
	b.o = coordinator.Options{Runners: b.reg, Dir: filepath.Join(b.dir, "uploads"), Hold: 5 * time.Second, Server: "http://127.0.0.1",
		RepoURL: func(queue.Build) string { return "http://127.0.0.1/git/shop.git" },
		Files: func(context.Context, queue.Build) (fs.FS, error) {
			return fstest.MapFS{"go.mod": {Data: []byte("module example.com/shop\n")}}, nil
		},
		Secrets: []workers.Secret{{Name: "DEPLOY_KEY", Value: "hunter2-hunter2"}}, Log: slog.New(slog.DiscardHandler)}
	for _, f := range change {
		f(&b.o)
	}
	b.start(0)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.mu.Lock()
		c := b.c
		b.mu.Unlock()
		c.ServeHTTP(w, r)
	}))
	b.base = s.URL + "/api/v4/"
	t.Cleanup(func() {
		b.stop()
		s.Close()
	})
	return b
}

// start starts a pool and a coordinator. Runners may take so long to come.
func (b *bench) start(await time.Duration) {
	b.t.Helper()
	pool, err := workers.NewPool(workers.PoolOptions{Dir: filepath.Join(b.dir, "pool"), Lease: 5 * time.Second, Await: await, Log: slog.New(slog.DiscardHandler)})
	b.must(err)
	if b.o.Source = pool; b.wrap != nil {
		b.o.Source = b.wrap(pool)
	}
	c, err := coordinator.New(b.o)
	b.must(err)
	b.mu.Lock()
	b.pool, b.c, b.events = pool, c, nil
	b.mu.Unlock()
	go func() {
		for e := range pool.Events() {
			b.mu.Lock()
			if b.pool == pool { // what a process says that is gone, nobody hears
				b.events = append(b.events, e)
			}
			b.mu.Unlock()
		}
	}()
}

func (b *bench) stop() {
	_ = b.c.Close()
	_ = b.pool.Close(context.Background())
}

// kill has another process start while this one has not said a word: it is closed only
// when the test ends.
func (b *bench) kill() {
	b.t.Helper()
	c, pool := b.c, b.pool
	b.t.Cleanup(func() {
		_ = c.Close()
		_ = pool.Close(context.Background())
	})
	b.start(time.Minute)
}

func eventsOf[T queue.Body](b *bench) (out []T) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.events {
		if x, ok := e.(T); ok {
			out = append(out, x)
		}
	}
	return out
}

func (b *bench) until(what string, is func() bool) {
	b.t.Helper()
	for end := time.Now().Add(3 * time.Minute); !is(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			b.t.Fatalf("waited in vain for: %s", what)
		}
	}
}

// done waits for a build's end.
func (b *bench) done(id queue.BuildID) (d queue.BuildDone) {
	b.t.Helper()
	b.until("the end of "+string(id), func() bool {
		for _, x := range eventsOf[queue.BuildDone](b) {
			if x.Build == id {
				d = x
				return true
			}
		}
		return false
	})
	return d
}

// result waits for the one result of a build.
func (b *bench) result(id queue.BuildID) (queue.JobDone, queue.BuildDone) {
	b.t.Helper()
	d := b.done(id)
	var found []queue.JobDone
	for _, x := range eventsOf[queue.JobDone](b) {
		if x.Build == id {
			found = append(found, x)
		}
	}
	if len(found) != 1 {
		b.t.Fatalf("%d results: %+v", len(found), found)
	}
	return found[0], d
}

func (b *bench) log(id queue.BuildID) string {
	b.t.Helper()
	l, err := b.pool.Log(id)
	if err != nil {
		b.t.Fatal(err)
	}
	c, err := l.Read(0)
	if err != nil {
		b.t.Fatal(err)
	}
	return c.Text
}

// join has the pool know a runner before builds come: it asks once, in vain.
func (b *bench) join(r *runner) {
	b.t.Helper()
	ctx, cancel := context.WithCancel(b.t.Context())
	go func() {
		b.until("a slot", func() bool {
			return len(eventsOf[queue.Capacity](b)) > 0 && len(b.c.Machines()) > 0 && b.c.Machines()[0].Asking > 0
		})
		cancel()
	}()
	_, _, _ = r.askIn(ctx)
	b.until("nobody asks", func() bool { return b.c.Machines()[0].Asking == 0 })
}

func (b *bench) run(id queue.BuildID, s config.Step, targets ...string) {
	b.t.Helper()
	j := queue.Job{Step: s}
	for _, t := range targets {
		j.Keys = append(j.Keys, queue.Key{Step: s.Digest(), Target: t, Hash: "h"})
	}
	if err := b.pool.Run(b.t.Context(), queue.Build{ID: id, Commit: commit, Jobs: []queue.Job{j}}, "run/"+string(id)); err != nil {
		b.t.Fatal(err)
	}
}

// runner is a machine that speaks the protocol, driven by verbs.
type runner struct {
	b      *bench
	token  string
	system string
	info   protocol.Info
	header string // of requests; "": in the body only
	job    protocol.Job
	sent   []byte
	eval   string // how its shell runs the script, with %s for the quoted text; "": line by line
}

func (b *bench) runner() *runner {
	return &runner{b: b, token: b.token, system: "s_0123456789ab", header: protocol.HeaderRunnerToken,
		info: protocol.Info{Name: "gitlab-runner", Version: "18.6.0", Platform: "linux", Architecture: "amd64", Executor: "shell", Shell: "bash"}}
}

func (r *runner) send(ctx context.Context, method, path string, head map[string]string, body []byte) (*http.Response, []byte) {
	r.b.t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, r.b.base+path, bytes.NewReader(body))
	if err != nil {
		r.b.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for k, v := range head {
		req.Header.Set(k, v)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, nil
	}
	defer res.Body.Close()
	raw, _ := io.ReadAll(res.Body)
	return res, raw
}

func (r *runner) heads(token string) map[string]string {
	if r.header == "" {
		return nil
	}
	return map[string]string{r.header: token}
}

func (r *runner) askIn(ctx context.Context) (job protocol.Job, status int, raw []byte) {
	r.b.t.Helper()
	q, _ := json.Marshal(protocol.JobRequest{Info: r.info, Token: r.token, SystemID: r.system})
	res, raw := r.send(ctx, "POST", "jobs/request", r.heads(r.token), q)
	if res == nil {
		return job, 0, nil
	}
	if res.StatusCode == http.StatusCreated {
		if err := json.Unmarshal(raw, &job); err != nil {
			r.b.t.Fatal(err)
		}
	}
	return job, res.StatusCode, raw
}

// ask gets the next job.
func (r *runner) ask() protocol.Job {
	r.b.t.Helper()
	job, status, raw := r.askIn(r.b.t.Context())
	if status != http.StatusCreated {
		r.b.t.Fatalf("request: %d %s", status, raw)
	}
	r.job, r.sent = job, nil
	return job
}

func (r *runner) path(rest string) string { return fmt.Sprintf("jobs/%d%s", r.job.ID, rest) }

// print sends output from an offset, and returns the answer.
func (r *runner) printAt(from int, text string) *http.Response {
	r.b.t.Helper()
	res, _ := r.send(r.b.t.Context(), "PATCH", r.path("/trace?debug_trace=false"), map[string]string{"Content-Type": "text/plain", protocol.HeaderJobToken: r.job.Token,
		"Content-Range": fmt.Sprintf("%d-%d", from, from+len(text)-1)}, []byte(text))
	return res
}

// print sends more output.
func (r *runner) print(text string) *http.Response {
	r.b.t.Helper()
	res := r.printAt(len(r.sent), text)
	if res == nil || res.StatusCode != http.StatusAccepted {
		r.b.t.Fatalf("trace: %+v", res)
	}
	r.sent = append(r.sent, text...)
	return res
}

// begin prints what a runner and the first line of the script do.
func (r *runner) begin() {
	r.b.t.Helper()
	r.print("Running with gitlab-runner 18.6.0\x1b[0;m\nFetching changes...\n" + r.mark() + " begin " + commit + "\n")
}

func (r *runner) mark() string {
	r.b.t.Helper()
	_, rest, _ := strings.Cut(r.job.Steps[0].Script[0], `echo "`)
	mark, _, ok := strings.Cut(rest, " begin")
	if !ok {
		r.b.t.Fatalf("script %q", r.job.Steps[0].Script)
	}
	return mark
}

func (r *runner) update(u protocol.Update) *http.Response {
	r.b.t.Helper()
	u.Token = r.job.Token
	if u.State != protocol.StateRunning && u.Output == (protocol.Output{}) {
		u.Output = protocol.Output{Checksum: fmt.Sprintf("crc32:%08x", crc32.ChecksumIEEE(r.sent)), Bytesize: int64(len(r.sent))}
	}
	raw, _ := json.Marshal(u)
	res, _ := r.send(r.b.t.Context(), "PUT", r.path(""), nil, raw)
	return res
}

// end reports how the script has ended, as the stock runner does: all of the trace is
// sent first, and once more where the server asks for that.
func (r *runner) end(code int) *http.Response {
	r.b.t.Helper()
	u := protocol.Update{State: protocol.StateSuccess}
	if code != 0 {
		u = protocol.Update{State: protocol.StateFailed, Failure: protocol.ScriptFailure, ExitCode: code}
	}
	for range 2 {
		res := r.update(u)
		if res != nil && res.StatusCode == http.StatusPreconditionFailed {
			all := string(r.sent)
			r.sent = nil
			r.print(all)
			continue
		}
		if res == nil || res.StatusCode != http.StatusOK {
			r.b.t.Fatalf("update: %+v", res)
		}
		return res
	}
	r.b.t.Fatal("the trace is never what it should be")
	return nil
}

// upload sends a report file.
func (r *runner) upload(format, name string, content []byte) *http.Response {
	r.b.t.Helper()
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	part, _ := w.CreateFormFile("file", name)
	_, _ = part.Write(content)
	_ = w.Close()
	res, _ := r.send(r.b.t.Context(), "POST", r.path("/artifacts?artifact_format="+format+"&artifact_type=archive"),
		map[string]string{"Content-Type": w.FormDataContentType(), protocol.HeaderJobToken: r.job.Token}, form.Bytes())
	return res
}

// execute runs the job as the shell executor does: a script that stops at the first line
// that fails, in a checkout with files (path, content, ...), with the job's variables. It
// returns what it printed.
func (r *runner) execute(shell string, files ...string) (out string, code int) {
	r.b.t.Helper()
	dir := r.b.t.TempDir()
	r.b.must(os.MkdirAll(filepath.Join(dir, "co", ".git"), 0o755))
	r.b.must(os.WriteFile(filepath.Join(dir, "co", ".git", "HEAD"), []byte(commit+"\n"), 0o644))
	for i := 0; i < len(files); i += 2 {
		path := filepath.Join(dir, "co", files[i])
		r.b.must(os.MkdirAll(filepath.Dir(path), 0o755))
		r.b.must(os.WriteFile(path, []byte(files[i+1]), 0o644))
	}
	text := strings.Join(r.job.Steps[0].Script, "\n")
	if r.eval != "" {
		text = fmt.Sprintf(r.eval, "'"+strings.ReplaceAll(text, "'", `'\''`)+"'")
	}
	cmd := exec.CommandContext(r.b.t.Context(), shell, "-c", "set -e\n"+text)
	cmd.Dir = filepath.Join(dir, "co")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}
	for _, v := range r.job.Variables {
		if v.File {
			path := filepath.Join(dir, v.Key)
			r.b.must(os.WriteFile(path, []byte(v.Value), 0o600))
			v.Value = path
		}
		cmd.Env = append(cmd.Env, v.Key+"="+v.Value)
	}
	raw, err := cmd.CombinedOutput()
	if x, ok := err.(*exec.ExitError); ok {
		return string(raw), x.ExitCode()
	}
	r.b.must(err)
	return string(raw), 0
}

func (b *bench) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}
