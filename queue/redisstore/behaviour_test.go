package redisstore_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/redisstore"
)

func TestOpenErrors(t *testing.T) {
	for url, want := range map[string]string{
		"":                             "URL",
		"http://:secret@host":          "URL",
		"redis://:secret@host:x/":      "URL",
		"redis://:secret@127.0.0.1:1":  "refused",
		"rediss+cluster://:secret@%zz": "URL",
	} {
		_, err := redisstore.Open(t.Context(), redisstore.Options{URL: url})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", url, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the error tells the password: %v", url, err)
		}
	}
}

func TestDurabilityOf(t *testing.T) {
	for _, test := range []struct {
		name   string
		config map[string]string
		want   []string // "" alone: nothing to say
	}{
		{"ours", map[string]string{"appendonly": "yes", "appendfsync": "always", "maxmemory": "0", "maxmemory-policy": "noeviction"}, nil},
		{"default", map[string]string{"appendonly": "no", "appendfsync": "everysec", "maxmemory": "0"}, []string{"since its last snapshot"}},
		{"every second", map[string]string{"appendonly": "yes", "appendfsync": "everysec", "maxmemory": "0"}, []string{"two seconds"}},
		{"no sync", map[string]string{"appendonly": "yes", "appendfsync": "no", "maxmemory": "0"}, []string{"half a minute"}},
		{"silent", map[string]string{}, []string{"appendonly is off"}},
		{"cache", map[string]string{"appendonly": "no", "maxmemory": "1000", "maxmemory-policy": "allkeys-lru"}, []string{"snapshot", "allkeys-lru"}},
		{"unlimited cache", map[string]string{"appendonly": "yes", "appendfsync": "always", "maxmemory": "0", "maxmemory-policy": "allkeys-lru"}, nil},
	} {
		got := redisstore.DurabilityOf(test.config)
		if (got == "") != (len(test.want) == 0) {
			t.Errorf("%s: %q", test.name, got)
		}
		for _, want := range test.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %q does not say %q", test.name, got, want)
			}
		}
	}
}

// An event that this version cannot read is set aside, and stops nobody.
func TestUnreadableEvent(t *testing.T) {
	m := miniredis.RunT(t)
	s, err := redisstore.Open(t.Context(), redisstore.Options{URL: "redis://" + m.Addr(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const text = `{"head":{"id":"x","at":5},"name":"FromTheFuture","body":{}}`
	if _, err := m.XAdd("sq:{q}:inbox", "1700000000000-0", []string{"e", text}); err != nil {
		t.Fatal(err)
	}
	if err := s.Append(t.Context(), "q", queue.Event{ID: "good", At: 6, Body: queue.Capacity{Slots: 3}}); err != nil {
		t.Fatal(err)
	}
	got, err := s.Inbox(t.Context(), "q", "", 10, time.Minute)
	if err != nil || len(got) != 2 {
		t.Fatalf("%v, %v", got, err)
	}
	want := queue.Event{ID: "unread:1700000000000-0", At: 1700000000000, Body: queue.Tick{}}
	if got[0].Event != want || got[1].Event.ID != "good" {
		t.Errorf("inbox %v", got)
	}
	if kept := m.HGet("sq:{q}:unread", "1700000000000-0"); kept != text {
		t.Errorf("kept %q", kept)
	}
}

// Tokens grow even across a Redis that has lost everything, so that no owner
// from before can commit to what comes after.
func TestTokensAfterALoss(t *testing.T) {
	m := miniredis.RunT(t)
	s := mustOpen(t, "redis://"+m.Addr())
	var last int64
	for range 20 {
		token, err := s.Acquire(t.Context(), "q", "a", time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		if token <= last {
			t.Fatalf("token %d after %d", token, last)
		}
		last = token
		m.FlushAll()
		m.SetTime(time.UnixMilli(token + 1)) // a loss takes longer than a millisecond
	}
}

// The bytes of a turn on the wire grow with the turn, not with the queue.
func TestTraffic(t *testing.T) {
	url := startRedis(t)
	s := mustOpen(t, url)
	token, err := s.Acquire(t.Context(), "q", "a", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	version := int64(0)
	cost := func() int {
		t.Helper()
		before := traffic(t, s)
		if err := s.Commit(t.Context(), turnOf(token, version, 20)); err != nil {
			t.Fatal(err)
		}
		version++
		return traffic(t, s) - before
	}
	cost() // loads the script
	small := cost()
	for i := range 5 {
		var put []queue.Record
		for j := range 1000 {
			put = append(put, queue.Record{Ref: queue.Ref{Kind: queue.KindChange, ID: fmt.Sprint(i, "/", j)}, Data: make([]byte, 1000)})
		}
		if err := s.Commit(t.Context(), queue.Turn{Queue: "q", Token: token, Version: version, Put: put}); err != nil {
			t.Fatal(err)
		}
		version++
	}
	if big := cost(); big > small+small/10 {
		t.Errorf("a turn costs %d bytes beside 5,000 changes, %d beside none", big, small)
	}
}

// traffic returns the bytes that the server has read and written.
func traffic(t testing.TB, s *redisstore.Store) int {
	t.Helper()
	info, err := s.Client().Info(t.Context(), "stats").Result()
	if err != nil {
		t.Fatal(err)
	}
	sum := 0
	for _, name := range []string{"total_net_input_bytes:", "total_net_output_bytes:"} {
		_, rest, _ := strings.Cut(info, name)
		n := 0
		if _, err := fmt.Sscan(rest, &n); err != nil {
			t.Fatal(err)
		}
		sum += n
	}
	return sum
}

// turnOf returns a turn that writes n records of a usual size.
func turnOf(token, version int64, n int) queue.Turn {
	turn := queue.Turn{Queue: "q", Token: token, Version: version, Notes: []queue.Note{{What: "turn"}}}
	for i := range n {
		turn.Put = append(turn.Put, queue.Record{
			Ref:  queue.Ref{Kind: queue.KindBuild, ID: fmt.Sprint("b", i)},
			Data: []byte(`{"data":"` + strings.Repeat("x", 500) + `"}`),
		})
	}
	return turn
}

func BenchmarkCommit20(b *testing.B) {
	for name, lines := range map[string][]string{
		"memory": nil,
		"fsync":  {"appendonly yes", "appendfsync always"},
	} {
		b.Run(name, func(b *testing.B) {
			s := mustOpen(b, startRedis(b, lines...))
			token, err := s.Acquire(b.Context(), "q", "a", time.Hour)
			if err != nil {
				b.Fatal(err)
			}
			version := int64(0)
			for b.Loop() {
				if err := s.Commit(b.Context(), turnOf(token, version, 20)); err != nil {
					b.Fatal(err)
				}
				version++
			}
		})
	}
}

func BenchmarkLoad1000(b *testing.B) {
	s := mustOpen(b, startRedis(b))
	token, err := s.Acquire(b.Context(), "q", "a", time.Hour)
	if err != nil {
		b.Fatal(err)
	}
	turn := queue.Turn{Queue: "q", Token: token}
	for i := range 1000 {
		turn.Put = append(turn.Put, queue.Record{Ref: queue.Ref{Kind: queue.KindChange, ID: fmt.Sprint("c", i)},
			Data: []byte(`{"data":"` + strings.Repeat("x", 1000) + `"}`)})
	}
	if err := s.Commit(b.Context(), turn); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, _, err := s.Load(b.Context(), "q"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppendFsync(b *testing.B) {
	s := mustOpen(b, startRedis(b, "appendonly yes", "appendfsync always"))
	i := 0
	for b.Loop() {
		i++
		if err := s.Append(b.Context(), "q", queue.Event{ID: fmt.Sprint(i), Body: queue.Tick{}}); err != nil {
			b.Fatal(err)
		}
	}
}
