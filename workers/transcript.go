package workers

import (
	"bytes"
	"io"
	"sync"

	"github.com/submitqueue/submitqueue/workers/report"
)

// maxLine is the longest line that is read; the rest of it is left out.
const maxLine = 256 << 10

// transcript takes the raw output of one step: line by line it goes to the
// report's reader, and cleaned and masked to the log and the tail.
type transcript struct {
	mu     sync.Mutex // the copier may outlive the step when its pipe cannot be closed
	closed bool
	line   []byte // the line that has not ended
	long   bool   // line is full
	report *report.Report
	tidy   func(string) string
	batch  bytes.Buffer
	log    *window
	tail   report.Tail
}

func newTranscript(log io.Writer, limit int64, read *report.Report, mask func(string) string) *transcript {
	return &transcript{
		report: read,
		tidy:   func(s string) string { return mask(clean(s)) },
		log:    newWindow(log, limit),
	}
}

// Write takes output. It never fails.
func (t *transcript) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(p)
	if t.closed {
		return n, nil
	}
	for len(p) > 0 {
		part, rest, ended := bytes.Cut(p, []byte{'\n'})
		if room := maxLine - len(t.line); len(part) > room {
			part, t.long = part[:room], true
		}
		t.line = append(t.line, part...)
		if ended {
			t.take()
		}
		p = rest
	}
	t.flush()
	return n, nil
}

// take reads the line that is complete.
func (t *transcript) take() {
	line := string(t.line)
	if t.long {
		// A secret may be cut in two: its first half must not show.
		line = line[:len(line)-len(line)/8] + " [... line cut]"
	}
	t.line, t.long = t.line[:0], false
	if t.report == nil {
		t.say(t.tidy(line))
		return
	}
	for _, l := range t.report.Line(line, t.tidy) {
		t.say(l)
	}
}

func (t *transcript) say(line string) {
	t.tail.Add(line)
	t.batch.WriteString(line)
	t.batch.WriteByte('\n')
}

// notice adds a line of ours.
func (t *transcript) notice(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.say("[submitqueue] " + t.tidy(line))
	t.flush()
}

func (t *transcript) flush() {
	_, _ = t.log.Write(t.batch.Bytes()) // never fails
	t.batch.Reset()
}

// finishReading takes the last line, if it did not end: the report is complete.
func (t *transcript) finishReading() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.readLast()
}

// finishLine takes the last line, if it did not end.
func (t *transcript) finishLine() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.line) > 0 {
		t.take()
	}
	t.flush()
}

func (t *transcript) readLast() {
	if len(t.line) > 0 {
		t.take()
	}
	t.flush()
	t.closed = true
}

// end returns the tail so far.
func (t *transcript) end() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.readLast()
	return t.tail.String()
}

// finish writes the end of the log, ignores all output from now on, and returns
// the tail.
func (t *transcript) finish() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.readLast()
	t.log.finish()
	return t.tail.String()
}
