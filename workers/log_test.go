package workers

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

func TestFollowALiveLog(t *testing.T) {
	t.Parallel()
	logs, err := OpenLogs(t.TempDir(), 10, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if err := logs.begin("b1"); err != nil {
		t.Fatal(err)
	}
	log, err := logs.Open("b1")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := log.Follow(ctx, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("nothing to read yet: %v", err)
	}
	want := ""
	go func() {
		for range 100 {
			_ = logs.add("b1", []byte(strings.Repeat("x", 1000)+"\n"))
		}
		logs.end("b1")
	}()
	for range 100 {
		want += strings.Repeat("x", 1000) + "\n"
	}
	got, cursor := "", int64(0)
	for {
		c, err := log.Follow(t.Context(), cursor)
		if err != nil {
			t.Fatal(err)
		}
		got, cursor = got+c.Text, c.Next
		if c.End {
			break
		}
	}
	if got != want {
		t.Errorf("read %d bytes, want %d", len(got), len(want))
	}
	if c, err := log.Read(cursor + 5); err != nil || !strings.HasPrefix(c.Text, "x") || len(c.Text) != chunkBytes || c.End {
		t.Errorf("a cursor past the end: %d bytes, %v", len(c.Text), err)
	}
	if err := logs.add("b1", []byte("late")); !errors.Is(err, ErrNoLog) {
		t.Errorf("after the end: %v", err)
	}
}

func TestLogsAreRemoved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	logs, err := OpenLogs(dir, 3, 2500)
	if err != nil {
		t.Fatal(err)
	}
	if err := logs.begin("live"); err != nil {
		t.Fatal(err)
	}
	for i, id := range []queue.BuildID{"a", "b", "c", "d"} {
		if err := errors.Join(logs.begin(id), logs.add(id, make([]byte, 1000))); err != nil {
			t.Fatal(err)
		}
		logs.end(id)
		then := time.Now().Add(time.Duration(i-10) * time.Minute)
		if err := os.Chtimes(filepath.Join(dir, logName(id)), then, then); err != nil {
			t.Fatal(err)
		}
	}
	logs.end("live")
	for id, kept := range map[queue.BuildID]bool{"a": false, "b": false, "c": true, "d": true, "live": true} {
		if _, err := logs.Open(id); (err == nil) != kept {
			t.Errorf("%s: %v", id, err)
		}
	}
}

func TestLogNames(t *testing.T) {
	t.Parallel()
	for _, id := range []queue.BuildID{"", "../../etc/passwd", "a/b", "a.b", queue.BuildID(strings.Repeat("a", 65))} {
		if n := logName(id); !strings.HasPrefix(n, "x.") || strings.ContainsAny(n, "/\\") {
			t.Errorf("%q: %s", id, n)
		}
	}
	if n := logName("0123456789abcdef"); n != "0123456789abcdef.log" {
		t.Error(n)
	}
}
