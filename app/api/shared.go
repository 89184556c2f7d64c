package api

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/submitqueue/submitqueue/queue"
)

// sharedFor is how long an answer is given again while its queue has not changed: an
// answer also has durations that count from now. An answer that is older than
// sharedKept is forgotten.
const (
	sharedFor  = 5 * time.Second
	sharedKept = time.Minute
)

// replies are the answers that are the same for all callers: each is made once for a
// version of its queue, and only when a caller asks for it.
type replies struct {
	mu   sync.Mutex
	kept map[string]*reply
}

// reply is one answer. All but done, stamp and began are there once done is closed.
type reply struct {
	stamp string
	began time.Time
	done  chan struct{}
	data  []byte
	tag   string // for ETag
	err   error
}

// StampOf names the state of a queue that is shown; "" where that is not known.
func StampOf(v queue.QueueView) string {
	if v.Version == 0 {
		return ""
	}
	return fmt.Sprint(v.Key, "\x00", v.Version, "\x00", v.Waits, "\x00", strings.Join(v.Trouble, "\x00"))
}

// Shared returns the answer with a name for the facts of a stamp. It makes the answer
// unless another caller has made it, or is making it.
func (s *Handlers) Shared(name, stamp string, render func(io.Writer) error) ([]byte, error) {
	b, err := s.shared(name, stamp, render)
	return b.data, err
}

func (s *Handlers) shared(name, stamp string, render func(io.Writer) error) (*reply, error) {
	now := s.o.Now()
	b := &reply{stamp: stamp, began: now, done: make(chan struct{}), err: ErrPanicked}
	if stamp == "" {
		b.make(render)
		return b, b.err
	}
	c := s.replies
	c.mu.Lock()
	if old := c.kept[name]; old != nil && old.stamp == stamp && now.Sub(old.began) < sharedFor {
		c.mu.Unlock()
		<-old.done
		return old, old.err
	}
	for other, old := range c.kept {
		if now.Sub(old.began) > sharedKept {
			delete(c.kept, other)
		}
	}
	c.kept[name] = b
	c.mu.Unlock()
	b.make(render)
	return b, b.err
}

func (b *reply) make(render func(io.Writer) error) {
	defer close(b.done)
	var out bytes.Buffer
	if b.err = render(&out); b.err == nil {
		b.data = out.Bytes()
		sum := sha256.Sum256(b.data)
		b.tag = `"` + base64.RawURLEncoding.EncodeToString(sum[:16]) + `"`
	}
}

// sharedJSON answers with the value that of makes, unless the caller has it already.
func (s *Handlers) sharedJSON(c echo.Context, name, stamp string, of func() any) error {
	b, err := s.shared(name, stamp, func(w io.Writer) error { return json.NewEncoder(w).Encode(of()) })
	if err != nil {
		return err
	}
	h := c.Response().Header()
	h.Set("Cache-Control", "private, no-cache")
	h.Set("ETag", b.tag)
	for tag := range strings.SplitSeq(c.Request().Header.Get("If-None-Match"), ",") {
		if tag = strings.TrimPrefix(strings.TrimSpace(tag), "W/"); tag == b.tag || tag == "*" {
			return c.NoContent(http.StatusNotModified)
		}
	}
	return c.Blob(http.StatusOK, "application/json", b.data)
}
