package bench

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestReadersOfABench(t *testing.T) {
	t.Parallel()
	var asked, known atomic.Int64
	enough := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == 40 {
			close(enough)
		}
		w.Header().Set("ETag", `"x"`)
		switch {
		case r.Header.Get("Authorization") != "Bearer secret":
			w.WriteHeader(http.StatusUnauthorized)
		case r.Header.Get("If-None-Match") == `"x"`:
			known.Add(1)
			w.WriteHeader(http.StatusNotModified)
		default:
			_, _ = w.Write(make([]byte, 100))
		}
	}))
	defer s.Close()
	stop := watchers{s.URL, "secret", 3, time.Millisecond}.start(t.Context())
	<-enough
	r, err := stop()
	if err != nil || r.Answers < 30 || int64(r.Same) > known.Load() || r.Same == 0 || r.Bytes != 100*int64(r.Answers-r.Same) || !strings.Contains(r.words(), "3 had ") {
		t.Errorf("%v, %s", err, r.words())
	}
	if err := new(readers).ask(t.Context(), s.URL, "wrong", map[string]string{}); err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("a refused reader: %v", err)
	}
}
