package upload_test

import (
	"context"
	"crypto/rand"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/forge/mirror/upload"
	"github.com/submitqueue/submitqueue/queue"
)

// A large repository comes over a slow line: an upload that goes on is not cut off, however long
// it takes. git would begin anew, and never have all of it. One that nobody reads ends.
func TestALongUpload(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	noise := make([]byte, 16<<20)
	_, _ = rand.Read(noise)
	head := w.commit("", "a", string(noise))
	ended := make(chan struct{}, 10)
	h, err := upload.New(upload.Options{Dir: filepath.Join(t.TempDir(), "views"), Limit: 6 * time.Second, Log: slog.New(slog.DiscardHandler), Access: func(string) (upload.Grant, bool) {
		return upload.Grant{Commit: queue.CommitID(head), Objects: func(context.Context) (string, error) { return filepath.Join(w.repo, "objects"), nil }}, true
	}})
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(rw, r)
		ended <- struct{}{}
	}))
	t.Cleanup(s.Close)
	ask := func() io.ReadCloser {
		want := "want " + head + " ofs-delta\n"
		body := packetOf(want) + "0000" + packetOf("done\n")
		q, _ := http.NewRequestWithContext(t.Context(), "POST", s.URL+"/git/shop.git/git-upload-pack", strings.NewReader(body))
		q.SetBasicAuth("x", "job-1")
		res, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		return res.Body
	}
	body := ask()
	defer body.Close()
	total := 0
	for piece := make([]byte, 1<<20); ; {
		n, err := io.ReadFull(body, piece)
		total += n
		if err != nil {
			break
		}
		time.Sleep(400 * time.Millisecond) // 16 of these are longer than the limit
	}
	if total < len(noise) {
		t.Errorf("it was cut off after %d bytes of %d", total, len(noise))
	}
	<-ended
	unread := ask()
	defer unread.Close()
	select {
	case <-ended:
	case <-time.After(3 * time.Minute):
		t.Error("an upload that nobody reads goes on")
	}
}

func packetOf(line string) string {
	const hex = "0123456789abcdef"
	n := len(line) + 4
	return string([]byte{hex[n>>12&15], hex[n>>8&15], hex[n>>4&15], hex[n&15]}) + line
}
