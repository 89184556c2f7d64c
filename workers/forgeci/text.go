package forgeci

import (
	"context"
	"fmt"
	"sync"

	"github.com/submitqueue/submitqueue/workers"
)

// text is the log of a build, in memory: a few lines for each check.
type text struct {
	mu    sync.Mutex
	data  []byte
	ended bool
	more  chan struct{} // closed and replaced when there is more, closed at the end
}

var _ workers.Log = (*text)(nil)

// maxText bounds a log, in bytes: a CI may report without end.
const maxText = 64 << 10

func newText() *text { return &text{more: make(chan struct{})} }

func (t *text) say(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	line := workers.Clean(fmt.Sprintf(format, args...)) + "\n"
	if t.ended || len(t.data)+len(line) > maxText {
		return
	}
	t.data = append(t.data, line...)
	close(t.more)
	t.more = make(chan struct{})
}

func (t *text) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.ended {
		t.ended = true
		close(t.more)
	}
}

// Read implements workers.Log.
func (t *text) Read(cursor int64) (workers.Chunk, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if cursor < 0 || cursor > int64(len(t.data)) {
		cursor = 0
	}
	return workers.Chunk{Text: string(t.data[cursor:]), Next: int64(len(t.data)), End: t.ended}, nil
}

// Follow implements workers.Log.
func (t *text) Follow(ctx context.Context, cursor int64) (workers.Chunk, error) {
	for {
		t.mu.Lock()
		more := t.more
		t.mu.Unlock()
		c, err := t.Read(cursor)
		if err != nil || c.Text != "" || c.End {
			return c, err
		}
		select {
		case <-more:
		case <-ctx.Done():
			return workers.Chunk{}, ctx.Err()
		}
	}
}
