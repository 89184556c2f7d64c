package app

import (
	"io"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
)

// eventWrite bounds one write on a live page: a reader that does not read is
// cut off.
const eventWrite = 15 * time.Second

// events is the stream that keeps pages live: it says "changed" whenever any queue has
// changed, not more often than Pace, and the page fetches itself again. A comment every
// Beat keeps proxies from closing the stream. The stream ends within a Beat when its
// reader may not read any more.
func (s *Server) events(c echo.Context) error {
	w := c.Response()
	unhurried(w)
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	changed := s.o.Source.Changed() // before the first byte: what changes from here on is told
	w.WriteHeader(http.StatusOK)
	if err := say(w, "retry: 2000\n\n"); err != nil {
		return nil
	}
	beat := time.NewTicker(s.o.Beat)
	defer beat.Stop()
	for {
		select {
		case <-c.Request().Context().Done():
			return nil
		case <-s.closing:
			return nil
		case <-beat.C:
			if !s.still(c) {
				return nil
			}
			if err := say(w, ": alive\n\n"); err != nil {
				return nil
			}
		case <-changed:
			if !s.still(c) {
				return nil
			}
			changed = s.o.Source.Changed() // before the page reads: nothing falls between
			if err := say(w, "event: changed\ndata: {}\n\n"); err != nil {
				return nil
			}
			if !s.rest(c) {
				return nil
			}
		}
	}
}

// rest waits for Pace, and reports false when the stream is to end.
func (s *Server) rest(c echo.Context) bool {
	pace := time.NewTimer(s.o.Pace)
	defer pace.Stop()
	select {
	case <-c.Request().Context().Done():
		return false
	case <-s.closing:
		return false
	case <-pace.C:
		return true
	}
}

func say(w *echo.Response, text string) error {
	rc := http.NewResponseController(w)
	_ = rc.SetWriteDeadline(time.Now().Add(eventWrite))
	if _, err := io.WriteString(w, text); err != nil {
		return err
	}
	return rc.Flush()
}
