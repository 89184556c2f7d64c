package agent

import (
	"bytes"
	"context"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/submitqueue/submitqueue/workers/protocol"
)

// pieceBytes is the most bytes that are sent at once.
const pieceBytes = 1 << 20

// trace keeps a job's output in a file and sends it. Write never waits for the server.
type trace struct {
	slot  *slot
	job   protocol.Job
	mask  func(string) string
	limit int64
	gone  context.CancelCauseFunc // the server has cancelled the job, or does not know it

	mu   sync.Mutex
	file file
	size int64
	sum  uint32
	line []byte
	cut  bool   // the output is too long: from now on only its end is kept
	tail []byte // the end of the output since then, not masked
	late bool   // the beginning of tail is left out
	lost bool   // the file cannot be written, for example on a full disk

	sent   int64
	silent bool // the server has not answered the last request
	beat   time.Time
}

// file is the file that has a trace.
type file interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
}

func newTrace(s *slot, j protocol.Job, mask func(string) string, gone context.CancelCauseFunc) (*trace, error) {
	f, err := os.CreateTemp(s.agent.o.Dir, "trace-*")
	if err != nil {
		return nil, err
	}
	_ = os.Remove(f.Name()) // it ends with the process
	return &trace{slot: s, job: j, mask: mask, limit: s.agent.o.Output, gone: gone, file: f, beat: time.Now()}, nil
}

// tailBytes is how many bytes are kept of the end of an output that is too long: the last lines
// of a step say most about why it failed, and the lines after them how it has ended.
const tailBytes = 16 << 10

// maxMasked is the longest line that waits for its end before it is masked and sent.
const maxMasked = 64 << 10

// Write takes output. It never fails: a log that cannot be kept is no reason to end a job.
func (t *trace) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(p)
	for len(p) > 0 && !t.cut {
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
	if len(p) > tailBytes {
		t.tail, t.late, p = t.tail[:0], true, p[len(p)-tailBytes:]
	}
	t.tail = append(t.tail, p...)
	if len(t.tail) > 4*tailBytes {
		t.tail, t.late = append(t.tail[:0], t.tail[len(t.tail)-tailBytes:]...), true
	}
	return n, nil
}

// keep masks and writes the line so far.
func (t *trace) keep() {
	raw := []byte(t.mask(string(t.line)))
	t.line = t.line[:0]
	if room := t.limit - t.size; int64(len(raw)) > room {
		t.cut = true
		raw = append(raw[:max(room, 0)], "\n[a part of the output is left out: there is too much]\n"...)
	}
	t.write(raw)
}

// write puts the masked output into the file. If that fails, the end of the job is reported
// with the output so far.
func (t *trace) write(raw []byte) {
	if t.lost {
		return
	}
	n, err := t.file.WriteAt(raw, t.size)
	t.sum = crc32.Update(t.sum, crc32.IEEETable, raw[:n])
	t.size += int64(n)
	t.lost = err != nil
}

func (t *trace) say(format string, args ...any) { fmt.Fprintf(t, format+"\n", args...) }

// pump sends new output until ctx ends.
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

// flush sends the new output, and a heartbeat if it has sent nothing for a while. It returns
// how long the server wants it to wait, or 0.
func (t *trace) flush(ctx context.Context) (every time.Duration) {
	for range 2 + int(t.limit/pieceBytes) {
		t.mu.Lock()
		n := min(t.size-t.sent, pieceBytes)
		raw := make([]byte, n)
		_, err := t.file.ReadAt(raw, t.sent)
		from, size := t.sent, t.size
		t.mu.Unlock()
		if n == 0 || err != nil {
			break
		}
		status, head, err := t.slot.agent.send(ctx, http.MethodPatch, fmt.Sprintf("jobs/%d/trace", t.job.ID), http.Header{
			"Content-Type": {"text/plain"}, http.CanonicalHeaderKey(protocol.HeaderJobToken): {t.job.Token}, "Content-Range": {fmt.Sprintf("%d-%d", from, from+n-1)}}, bytes.NewReader(raw), nil)
		if t.silent = err != nil || status >= 500; err != nil {
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
			if err != nil || at == from || at < 0 || at > size {
				return every // no offset to go on from
			}
			t.sent = at
		default:
			return every
		}
	}
	if quiet := time.Since(t.beat); quiet < 0 || quiet > min(30*time.Second, 10*t.slot.agent.o.Every) { // < 0: the clock was set back
		status, head, err := t.slot.agent.call(ctx, http.MethodPut, fmt.Sprintf("jobs/%d", t.job.ID), t.job.Token, protocol.HeaderJobToken,
			protocol.Update{Token: t.job.Token, Info: t.slot.agent.info(), State: protocol.StateRunning}, nil)
		if err == nil {
			t.beat = time.Now()
			every = t.heed(status, head)
		}
	}
	return every
}

// heed takes in the server's answer about the job.
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

// end completes the output: it writes the last line and the tail.
func (t *trace) end() (out protocol.Output) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.line) > 0 {
		t.keep()
	}
	if len(t.tail) > 0 {
		last := t.tail[max(0, len(t.tail)-tailBytes):]
		if t.late || len(last) < len(t.tail) { // it begins within a line, perhaps within a secret
			_, last, _ = bytes.Cut(last, []byte{'\n'})
		}
		for line := range bytes.Lines(last) {
			t.write([]byte(t.mask(string(line))))
		}
		t.tail = nil
	}
	return protocol.Output{Checksum: fmt.Sprintf("crc32:%08x", t.sum), Bytesize: t.size}
}

// partly reports whether not all of the output is sent.
func (t *trace) partly() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.cut || t.lost
}

func (t *trace) close() { _ = t.file.Close() }
