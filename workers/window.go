package workers

import (
	"fmt"
	"io"
)

// window passes on the first half of its limit at once, keeps the last half in memory, and
// writes it at the end, after a notice of how much was left out.
type window struct {
	out  io.Writer
	head int64 // how many bytes may still be passed on
	keep int   // size of ring when it is full
	ring []byte
	pos  int   // next place in a full ring
	lost int64 // bytes that fell out of the ring
	err  error // the first error of out; nothing is written after it
}

func newWindow(out io.Writer, limit int64) *window {
	return &window{out: out, head: limit - limit/2, keep: int(limit / 2)}
}

// Write never fails: a log that cannot be written is no reason to stop a step.
// The error is in err.
func (w *window) Write(p []byte) (int, error) {
	n := len(p)
	if w.head > 0 {
		pass := p[:min(int64(len(p)), w.head)]
		w.emit(pass)
		w.head -= int64(len(pass))
		p = p[len(pass):]
	}
	if over := len(p) - w.keep; over > 0 {
		w.lost += int64(over)
		p = p[over:]
	}
	if room := w.keep - len(w.ring); room > 0 {
		fill := p[:min(room, len(p))]
		w.ring = append(w.ring, fill...)
		p = p[len(fill):]
	}
	w.lost += int64(len(p))
	for len(p) > 0 {
		c := copy(w.ring[w.pos:], p)
		p = p[c:]
		w.pos = (w.pos + c) % w.keep
	}
	return n, nil
}

// finish writes the end of the log.
func (w *window) finish() {
	if w.lost > 0 {
		w.emit(fmt.Appendf(nil, "\n[... %d bytes of output left out ...]\n", w.lost))
	}
	w.emit(w.ring[min(w.pos, len(w.ring)):])
	w.emit(w.ring[:min(w.pos, len(w.ring))])
	w.ring, w.pos, w.lost = nil, 0, 0
}

func (w *window) emit(p []byte) {
	if w.err == nil && len(p) > 0 {
		_, w.err = w.out.Write(p)
	}
}
