package agent

import (
	"bytes"
	"context"
	"fmt"
	"hash/crc32"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/submitqueue/submitqueue/workers/protocol"
)

// pieceBytes is the most that is sent at once.
const pieceBytes = 1 << 20

// trace keeps a job's output in a file and sends it. Write never waits for the server.
type trace struct {
	slot  *slot
	job   protocol.Job
	mask  func(string) string
	limit int64
	gone  context.CancelCauseFunc // the server has cancelled the job, or does not know it

	mu   sync.Mutex
	file *os.File
	size int64
	sum  uint32
	line []byte
	cut  bool

	sent int64
	beat time.Time
}

func newTrace(s *slot, j protocol.Job, mask func(string) string, gone context.CancelCauseFunc) (*trace, error) {
	f, err := os.CreateTemp(s.agent.o.Dir, "trace-*")
	if err != nil {
		return nil, err
	}
	_ = os.Remove(f.Name()) // it ends with the process
	return &trace{slot: s, job: j, mask: mask, limit: s.agent.o.Output, gone: gone, file: f, beat: time.Now()}, nil
}

// maxMasked is the longest line that waits for its end before it is masked and sent.
const maxMasked = 64 << 10

// Write takes output. It never fails: a log that cannot be kept is no reason to end a job.
func (t *trace) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(p)
	for len(p) > 0 {
		part, rest, ended := bytes.Cut(p, []byte{'\n'})
		t.line = append(t.line, part...)
		if ended {
			t.line = append(t.line, '\n')
		}
		if ended || len(t.line) > maxMasked {
			t.keep()
		}
		p = rest
	}
	return n, nil
}

// keep masks and writes the line so far.
func (t *trace) keep() {
	raw := []byte(t.mask(string(t.line)))
	t.line = t.line[:0]
	if room := t.limit - t.size; int64(len(raw)) > room {
		if t.cut {
			return
		}
		t.cut = true
		raw = append(raw[:max(room, 0)], "\n[the rest of the output is left out: there is too much]\n"...)
	}
	n, err := t.file.WriteAt(raw, t.size)
	if err != nil {
		t.cut, t.limit = true, t.size // a full disk, say: the end is told with what there is
	}
	t.sum = crc32.Update(t.sum, crc32.IEEETable, raw[:n])
	t.size += int64(n)
}

func (t *trace) say(format string, args ...any) { fmt.Fprintf(t, format+"\n", args...) }

// pump sends what comes until ctx ends.
func (t *trace) pump(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if next := t.flush(ctx); next > 0 && next != every {
				every = next
				tick.Reset(every)
			}
		}
	}
}

// flush sends what was not sent yet, or a heartbeat where there is nothing. It returns how
// long the server wants it to wait, if it says so.
func (t *trace) flush(ctx context.Context) (every time.Duration) {
	for range 1 + int(t.limit/pieceBytes) {
		t.mu.Lock()
		n := min(t.size-t.sent, pieceBytes)
		raw := make([]byte, n)
		_, err := t.file.ReadAt(raw, t.sent)
		from := t.sent
		t.mu.Unlock()
		if n == 0 || err != nil {
			break
		}
		status, head, err := t.slot.agent.send(ctx, http.MethodPatch, fmt.Sprintf("jobs/%d/trace", t.job.ID), http.Header{
			"Content-Type": {"text/plain"}, http.CanonicalHeaderKey(protocol.HeaderJobToken): {t.job.Token}, "Content-Range": {fmt.Sprintf("%d-%d", from, from+n-1)}}, bytes.NewReader(raw), nil)
		if err != nil {
			return 0 // again later
		}
		t.beat = time.Now()
		every = t.heed(status, head)
		switch status {
		case http.StatusAccepted:
			t.sent = from + n
		case http.StatusRequestedRangeNotSatisfiable:
			_, end, _ := strings.Cut(head.Get("Range"), "-")
			at, err := strconv.ParseInt(end, 10, 64)
			if err != nil || at == from || at < 0 || at > t.size {
				return every // nothing that can be gone on with
			}
			t.sent = at
		default:
			return every
		}
	}
	if time.Since(t.beat) > min(30*time.Second, 10*t.slot.agent.o.Every) {
		status, head, err := t.slot.agent.call(ctx, http.MethodPut, fmt.Sprintf("jobs/%d", t.job.ID), t.job.Token, protocol.HeaderJobToken,
			protocol.Update{Token: t.job.Token, Info: t.slot.agent.info(), State: protocol.StateRunning}, nil)
		if err == nil {
			t.beat = time.Now()
			every = t.heed(status, head)
		}
	}
	return every
}

// heed takes in what the server says of the job.
func (t *trace) heed(status int, head http.Header) (every time.Duration) {
	state := protocol.State(head.Get(protocol.HeaderJobStatus))
	switch {
	case status == http.StatusForbidden || status == http.StatusNotFound:
		t.gone(errUnknown)
	case state == protocol.StateCanceled || state == protocol.StateCanceling || state == protocol.StateFailed:
		t.gone(errCanceled)
	}
	if n, err := strconv.Atoi(head.Get(protocol.HeaderUpdateInterval)); err == nil && n > 0 && n < 900 {
		return min(time.Duration(n)*time.Second, t.slot.agent.o.Every)
	}
	return 0
}

// end completes the output: no line waits any more.
func (t *trace) end() (out protocol.Output) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.line) > 0 {
		t.keep()
	}
	return protocol.Output{Checksum: fmt.Sprintf("crc32:%08x", t.sum), Bytesize: t.size}
}

func (t *trace) close() { _ = t.file.Close() }
