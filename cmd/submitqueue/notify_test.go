package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/submitqueue/submitqueue/app/api"
	"github.com/submitqueue/submitqueue/app/notify"
	"github.com/submitqueue/submitqueue/queue/storetest"
)

// heard is what a webhook has got.
type heard struct {
	mu     sync.Mutex
	got    []notify.Message
	answer int // 0: it never answers
}

func (h *heard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var m notify.Message
	if json.NewDecoder(r.Body).Decode(&m) != nil {
		return
	}
	h.mu.Lock()
	h.got = append(h.got, m)
	answer := h.answer
	h.mu.Unlock()
	if answer == 0 {
		<-r.Context().Done()
		return
	}
	w.WriteHeader(answer)
}

func (h *heard) set(answer int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.answer = answer
}

// all returns the texts so far, with their kinds in front, each once: what fails is
// sent again.
func (h *heard) all() (out []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, m := range h.got {
		out = append(out, m.Kind+" "+m.Text)
	}
	return slices.Compact(out)
}

// A server that is killed while a receiver has a message tells it again when it is back,
// and nothing of what was before it was asked to tell. A receiver that fails shows on the
// queue, and no secret in the log.
func TestNotifications(t *testing.T) {
	storetest.OneOf(t, 2)
	t.Parallel()
	in := &heard{}
	receiver := httptest.NewServer(in)
	t.Cleanup(receiver.Close)
	t.Cleanup(receiver.CloseClientConnections)
	c := newCrashed(t, 4)
	c.write(filepath.Dir(c.bare), "hook", receiver.URL+"/SECRETPATH?k=SECRETQUERY#kinds=all&secret=SECRETSECRETSECRET\n")
	c.start()
	c.ask(t.Context(), 0)
	c.allDecided(1)
	c.end(syscall.SIGTERM)

	c.flags = []string{"--notify", "webhook=@" + filepath.Join(filepath.Dir(c.bare), "hook")}
	c.start()
	c.ask(t.Context(), 1)
	first := "landed #2 Add good-1"
	c.until("the landing is told", func() bool { return len(in.all()) > 0 })
	c.end(syscall.SIGKILL)
	in.set(http.StatusBadGateway)
	c.start()
	c.until("the queue says that nothing arrives", func() bool {
		var q api.Queue
		return c.get("/api/queue", &q) == nil && strings.Contains(fmt.Sprint(q.Trouble), "notifications to webhook-") &&
			strings.Contains(fmt.Sprint(q.Trouble), "502 Bad Gateway")
	})
	in.set(http.StatusOK)
	c.ask(t.Context(), 3)
	c.until("the rejection is told", func() bool { return strings.HasPrefix(in.all()[len(in.all())-1], "rejected") })
	got := in.all()
	if len(got) != 2 || !strings.HasPrefix(got[0], first) || !strings.HasPrefix(got[1], "rejected #3 Add bad-3") || !strings.Contains(got[1], "failed in test") {
		t.Errorf("told were\n%s", strings.Join(got, "\n"))
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.got[0].ID != in.got[1].ID || !strings.HasPrefix(in.got[0].URL, "http://127.0.0.1:") {
		t.Errorf("sent twice: %+v, %+v", in.got[0], in.got[1])
	}
	c.end(syscall.SIGTERM)
	if log := c.log.String(); strings.Contains(log, "SECRET") || !strings.Contains(log, "notifications are sent") {
		t.Errorf("the log says\n%s", log)
	}
}

// A wrong --notify is an error of usage, which does not print what is secret.
func TestWrongNotify(t *testing.T) {
	cmd := exec.Command("submitqueue", "serve", "--forge", "local", "--repo", "x", "--notify", "slack=ftp://SECRET/")
	cmd.Env = append(cmd.Environ(), "SUBMITQUEUE_DATA="+t.TempDir())
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "--notify: notification target 1: its address is no http:// or https:// one") || strings.Contains(string(out), "SECRET") {
		t.Errorf("%v: %s", err, out)
	}
}
