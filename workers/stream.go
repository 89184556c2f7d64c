package workers

import (
	"context"
	"strings"

	"github.com/submitqueue/submitqueue/queue"
)

// Stream carries the events of a Controller of another package: Put never waits for the reader.
// Make one with NewStream.
type Stream struct{ e *events }

// NewStream returns a stream, which Close ends.
func NewStream() *Stream { return &Stream{newEvents()} }

// Put adds events in this order; after Close it drops them.
func (s *Stream) Put(bodies ...queue.Body) { s.e.put(bodies...) }

// Out is the channel for Controller.Events; Close closes it.
func (s *Stream) Out() <-chan queue.Body { return s.e.out }

// Close delivers waiting events to a reader that takes them within a second and before ctx
// ends, and drops the rest. It is called once.
func (s *Stream) Close(ctx context.Context) { s.e.close(ctx) }

// Clean makes hostile text fit for logs and tails: valid UTF-8 without control
// characters but newline and tab.
func Clean(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		b.WriteString(clean(line))
		if strings.HasSuffix(line, "\n") {
			b.WriteByte('\n')
		}
	}
	return b.String()
}
