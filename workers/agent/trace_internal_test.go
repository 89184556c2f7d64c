package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/submitqueue/submitqueue/workers"
	"github.com/submitqueue/submitqueue/workers/protocol"
)

// fakeServer answers a job's messages without a network, so that time can be a test's own.
type fakeServer struct {
	mu     sync.Mutex
	away   func() bool // no answer comes
	trace  []byte
	beats  int
	ends   []protocol.Update
	forgot bool // the job is not known any more
	asked  int
}

func (f *fakeServer) RoundTrip(r *http.Request) (*http.Response, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var body []byte
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body)
	}
	f.asked++
	if f.away != nil && f.away() {
		return nil, errors.New("no route to host")
	}
	answer := func(status int) (*http.Response, error) {
		return &http.Response{StatusCode: status, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
	}
	if f.forgot {
		return answer(http.StatusForbidden)
	}
	if r.Method == http.MethodPatch {
		var from, to int
		_, _ = fmt.Sscanf(r.Header.Get("Content-Range"), "%d-%d", &from, &to)
		if from != len(f.trace) || to-from+1 != len(body) {
			return nil, errors.New("a piece out of order")
		}
		f.trace = append(f.trace, body...)
		return answer(http.StatusAccepted)
	}
	var u protocol.Update
	if err := json.Unmarshal(body, &u); err != nil {
		return nil, err
	}
	if u.State == protocol.StateRunning {
		f.beats++
	} else {
		f.ends = append(f.ends, u)
	}
	return answer(http.StatusOK)
}

// bench is a slot of an agent whose server is fake.
func bench(t *testing.T, change ...func(*Options)) (*slot, *fakeServer) {
	t.Helper()
	f := &fakeServer{}
	o := Options{Server: "https://queue.example.com", Token: "glrt-x", Dir: t.TempDir(), Output: 1 << 20, Every: 3 * time.Second, Patience: time.Hour, HTTP: &http.Client{Transport: f}, Log: slog.New(slog.DiscardHandler)}
	for _, c := range change {
		c(&o)
	}
	return &slot{agent: &Agent{o: o, drained: make(chan struct{})}, number: 1, log: o.Log}, f
}

var aJob = protocol.Job{ID: 7, Token: "sqjt-7"}

func traceOf(t *testing.T, s *slot, gone context.CancelCauseFunc) *trace {
	t.Helper()
	tr, err := newTrace(s, aJob, workers.Mask([]string{"hunter2-hunter2"}), gone)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tr.close)
	return tr
}

// A gigabyte of output takes neither memory nor disk: what is too much is left out of the
// middle. What comes last is kept, and no part of a secret shows at the seams.
func TestGigabyteOfOutput(t *testing.T) {
	s, f := bench(t, func(o *Options) { o.Output = 4 << 20 })
	tr := traceOf(t, s, nil)
	flood := bytes.Repeat([]byte("KEY is hunter2-hunter2, and a line goes on for a while\n"), 600)
	before := heap()
	fmt.Fprintln(tr, "the first line")
	for sent := 0; sent < 1<<30; sent += len(flood) {
		_, _ = tr.Write(flood)
	}
	fmt.Fprintln(tr, "the last line")
	if grown := heap() - before; grown > 16<<20 {
		t.Errorf("%d MiB of memory are held", grown>>20)
	}
	tr.end()
	tr.flush(t.Context())
	out := tr.end()
	got := string(f.trace)
	if out.Bytesize != int64(len(got)) || out.Bytesize > 4<<20+32<<10 || out.Checksum != fmt.Sprintf("crc32:%08x", crc32.ChecksumIEEE(f.trace)) || !tr.partly() {
		t.Errorf("%+v of %d bytes", out, len(got))
	}
	if !strings.HasPrefix(got, "the first line\n") || !strings.HasSuffix(got, "\nthe last line\n") || !strings.Contains(got, "a part of the output is left out") {
		t.Errorf("%.200s … %s", got, got[max(0, len(got)-200):])
	}
	if strings.Contains(got, "hunter2") {
		t.Error("a secret is shown")
	}
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse)
}

// A gigabyte without a line's end is no exception.
func TestOneEndlessLine(t *testing.T) {
	s, f := bench(t)
	tr := traceOf(t, s, nil)
	zeros := make([]byte, 1<<20)
	before := heap()
	for range 1 << 10 {
		_, _ = tr.Write(zeros)
	}
	if grown := heap() - before; grown > 16<<20 {
		t.Errorf("%d MiB of memory are held", grown>>20)
	}
	tr.end()
	tr.flush(t.Context())
	if n := len(f.trace); n > 1<<20+32<<10 {
		t.Errorf("%d bytes are sent", n)
	}
}

// fullDisk is a file on a disk that takes so many bytes more.
type fullDisk struct {
	file
	room int
}

func (d *fullDisk) WriteAt(p []byte, at int64) (int, error) {
	n := min(len(p), d.room)
	d.room -= n
	m, err := d.file.WriteAt(p[:n], at)
	if err == nil && n < len(p) {
		err = syscall.ENOSPC
	}
	return m, err
}

// Where the disk is full, what could be kept of the output is sent, and is told with its
// right length and checksum; the step goes on.
func TestOutputOnAFullDisk(t *testing.T) {
	t.Parallel()
	s, f := bench(t)
	tr := traceOf(t, s, nil)
	tr.file = &fullDisk{tr.file, 20_005}
	for i := range 5000 {
		if n, err := fmt.Fprintf(tr, "line %d\n", i); n == 0 || err != nil {
			t.Fatal(n, err)
		}
	}
	tr.end()
	tr.flush(t.Context())
	if out := tr.end(); out.Bytesize != 20_005 || len(f.trace) != 20_005 || out.Checksum != fmt.Sprintf("crc32:%08x", crc32.ChecksumIEEE(f.trace)) || !tr.partly() {
		t.Errorf("%+v, %d bytes came", out, len(f.trace))
	}
}

// A server that is away for most of an hour is told the end of a job when it is back, once; one
// that stays away is given up.
func TestServerAway(t *testing.T) {
	for name, test := range map[string]struct {
		away time.Duration
		told int
	}{"comes back": {50 * time.Minute, 1}, "stays away": {3 * time.Hour, 0}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, f := bench(t)
				begin := time.Now()
				f.away = func() bool { return time.Since(begin) < test.away }
				tr := traceOf(t, s, nil)
				fmt.Fprintln(tr, "what it has said")
				s.tell(t.Context(), s.log, aJob, tr, result{state: protocol.StateSuccess})
				if took := time.Since(begin); len(f.ends) != test.told || test.told > 0 && string(f.trace) != "what it has said\n" || took > time.Hour+time.Minute || took < 50*time.Minute {
					t.Errorf("%+v after %s: %q", f.ends, took, f.trace)
				}
				if f.asked > 500 {
					t.Errorf("the server was asked %d times", f.asked)
				}
			})
		})
	}
}

// A process that is told to end does not wait for a server that is away.
func TestToldToEndWhileTheServerIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, f := bench(t)
		f.away = func() bool { return true }
		ctx, cancel := context.WithCancel(t.Context())
		begin := time.Now()
		time.AfterFunc(time.Minute, cancel)
		s.tell(ctx, s.log, aJob, traceOf(t, s, nil), result{state: protocol.StateSuccess})
		if took := time.Since(begin); took > 2*time.Minute {
			t.Errorf("it waits %s", took)
		}
	})
}

// A quiet job is heard of every half minute. One that the server has given up meanwhile, as
// when this machine has slept for hours, is ended with the first word of it.
func TestQuietAndForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, f := bench(t)
		ctx, gone := context.WithCancelCause(t.Context())
		tr := traceOf(t, s, gone)
		pumping, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); tr.pump(pumping, s.agent.o.Every) }()
		time.Sleep(10 * time.Minute)
		f.mu.Lock()
		if f.beats < 15 || f.beats > 25 {
			t.Errorf("%d words in 10 minutes", f.beats)
		}
		f.forgot = true
		f.mu.Unlock()
		time.Sleep(time.Minute)
		if context.Cause(ctx) != errUnknown {
			t.Errorf("%v", context.Cause(ctx))
		}
		stop()
		<-done
	})
}

// A clock that is set forward or back, by as much as days, changes neither how often a job
// is heard of nor how long its end is told.
func TestClockJumps(t *testing.T) {
	for _, jump := range []time.Duration{-30 * 24 * time.Hour, -time.Hour, time.Hour, 30 * 24 * time.Hour} {
		t.Run(jump.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, f := bench(t)
				tr := traceOf(t, s, nil)
				tr.beat = tr.beat.Add(jump) // as if the clock were set the other way since
				pumping, stop := context.WithCancel(t.Context())
				done := make(chan struct{})
				go func() { defer close(done); tr.pump(pumping, s.agent.o.Every) }()
				time.Sleep(5 * time.Minute)
				stop()
				<-done
				if f.beats < 8 || f.beats > 15 {
					t.Errorf("%d words in 5 minutes", f.beats)
				}
				s.tell(t.Context(), s.log, aJob, tr, result{state: protocol.StateSuccess})
				if len(f.ends) != 1 {
					t.Errorf("%+v", f.ends)
				}
			})
		})
	}
}

// What a machine keeps of files of Git LFS goes when no job has used it for long, and by
// nothing else: a clock that is set back leaves it.
func TestOldContents(t *testing.T) {
	t.Parallel()
	s, _ := bench(t)
	dir := s.agent.contents()
	keep := func(name string, age time.Duration) string {
		path := filepath.Join(dir, name)
		touch(t, path, time.Now().Add(-age))
		return path
	}
	old, young, ahead := keep("a", 31*24*time.Hour), keep("b", time.Hour), keep("c", -24*time.Hour)
	s.agent.dropOld()
	if exists(old) || !exists(young) || !exists(ahead) {
		t.Errorf("old %v, young %v, ahead %v", exists(old), exists(young), exists(ahead))
	}
}

func touch(t *testing.T, path string, at time.Time) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.WriteFile(path, nil, 0o600)
	}
	if err == nil {
		err = os.Chtimes(path, at, at)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func exists(path string) bool { _, err := os.Stat(path); return err == nil }
