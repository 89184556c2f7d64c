package github

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/forgetest"
)

// limited is a GitHub of which only the limits are simulated.
type limited struct {
	mu     sync.Mutex
	answer func(*http.Request) *http.Response // nil: 200
	hold   chan struct{}                      // not nil: answers wait for it
	paths  []string                           // asked for, in order
	at     []time.Time
}

func (l *limited) RoundTrip(r *http.Request) (*http.Response, error) {
	l.mu.Lock()
	l.paths, l.at = append(l.paths, r.URL.Path), append(l.at, time.Now())
	answer, hold := l.answer, l.hold
	l.mu.Unlock()
	if hold != nil {
		<-hold
	}
	if answer != nil {
		return answer(r), nil
	}
	return respond(200, "{}"), nil
}

// asked returns the paths that were asked for so far, in order.
func (l *limited) asked() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.paths)
}

func respond(status int, body string, header ...string) *http.Response {
	h := http.Header{}
	for i := 0; i < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body))}
}

func ask(ctx context.Context, b *budget, method, path string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://github"+path, nil)
	if err != nil {
		return nil, err
	}
	return b.RoundTrip(req)
}

func refusedFor(t *testing.T, err error, want time.Duration, words string) {
	t.Helper()
	var transient *forge.Transient
	if !errors.As(err, &transient) || transient.After != want || !strings.Contains(err.Error(), words) {
		t.Errorf("%v, %+v; want %v, %q", err, transient, want, words)
	}
}

func TestPausesAreObeyed(t *testing.T) {
	reset := func(d time.Duration) string { return strconv.FormatInt(time.Now().Add(d).Unix(), 10) }
	for name, c := range map[string]struct {
		answer func() *http.Response
		wait   time.Duration
		why    string
	}{
		"429":              {func() *http.Response { return respond(429, "", "Retry-After", "90") }, 90 * time.Second, "too many"},
		"429 without time": {func() *http.Response { return respond(429, "") }, time.Minute, "too many"},
		"hourly limit": {func() *http.Response {
			return respond(403, "", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", reset(1000*time.Second))
		}, 1000 * time.Second, "hourly limit"},
		"hourly limit that has ended meanwhile": {func() *http.Response {
			return respond(403, "", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", reset(-time.Second))
		}, time.Second, "hourly limit"},
		"secondary, timed":  {func() *http.Response { return respond(403, "", "Retry-After", "30") }, 30 * time.Second, "secondary"},
		"secondary":         {func() *http.Response { return respond(403, `{"message":"You have exceeded a secondary rate limit."}`) }, time.Minute, "secondary"},
		"a plain 403":       {func() *http.Response { return respond(403, `{"message":"Resource not accessible by integration"}`) }, 0, ""},
		"503 is not a sign": {func() *http.Response { return respond(503, "", "Retry-After", "90") }, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				github := &limited{}
				shared := NewShared(github, 0)
				b := shared.of(7)
				github.answer = func(*http.Request) *http.Response { return c.answer() }
				resp, err := ask(t.Context(), b, "GET", "/a")
				if err != nil {
					t.Fatal(err)
				}
				want, _ := io.ReadAll(c.answer().Body)
				if body, err := io.ReadAll(resp.Body); err != nil || string(body) != string(want) {
					t.Errorf("the answer reads %q, %v", body, err)
				}
				github.answer = nil
				began := time.Now()
				_, err = ask(t.Context(), shared.of(7), "GET", "/b")
				if c.wait == 0 {
					if err != nil {
						t.Error(err)
					}
					return
				}
				if c.wait <= patience {
					if took := time.Since(began); err != nil || took != c.wait {
						t.Errorf("a short pause: %v after %v", err, took)
					}
					return
				}
				refusedFor(t, err, c.wait, c.why)
				if _, err := ask(t.Context(), shared.of(8), "GET", "/c"); err != nil {
					t.Errorf("another installation: %v", err)
				}
				time.Sleep(c.wait - 2*time.Second)
				before := time.Now()
				if _, err := ask(t.Context(), b, "GET", "/d"); err != nil || time.Since(before) != 2*time.Second {
					t.Errorf("near the end of the pause: %v after %v", err, time.Since(before))
				}
			})
		})
	}
}

func TestPausesWithoutTimeDouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		github := &limited{answer: func(*http.Request) *http.Response { return respond(429, "") }}
		b := NewShared(github, 0).of(7)
		for _, want := range []time.Duration{1, 2, 4, 8, 16, 16} {
			if _, err := ask(t.Context(), b, "GET", "/"); err != nil {
				t.Fatal(err)
			}
			_, err := ask(t.Context(), b, "GET", "/")
			refusedFor(t, err, want*time.Minute, "too many")
			time.Sleep(want * time.Minute)
		}
		github.answer = nil
		if _, err := ask(t.Context(), b, "GET", "/"); err != nil {
			t.Fatal(err)
		}
		github.answer = func(*http.Request) *http.Response { return respond(429, "") }
		if _, err := ask(t.Context(), b, "GET", "/"); err != nil {
			t.Fatal(err)
		}
		_, err := ask(t.Context(), b, "GET", "/")
		refusedFor(t, err, time.Minute, "too many")
	})
}

func TestTheRestIsKeptForPeople(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		left := 1001
		reset := strconv.FormatInt(time.Now().Add(time.Hour).Unix(), 10)
		github := &limited{}
		github.answer = func(*http.Request) *http.Response {
			left--
			return respond(200, "{}", "X-RateLimit-Limit", "5000", "X-RateLimit-Remaining", strconv.Itoa(left), "X-RateLimit-Reset", reset)
		}
		b := NewShared(github, 0).of(7)
		behind := background(t.Context())
		for range 2 { // the second answer tells of 999 left
			if _, err := ask(behind, b, "GET", "/"); err != nil {
				t.Fatal(err)
			}
		}
		_, err := ask(behind, b, "GET", "/")
		refusedFor(t, err, time.Hour, "kept for commands")
		if _, err := ask(t.Context(), b, "GET", "/"); err != nil {
			t.Errorf("a command: %v", err)
		}
		time.Sleep(time.Hour)
		if _, err := ask(behind, b, "GET", "/"); err != nil {
			t.Errorf("in the next hour: %v", err)
		}
	})
}

func TestAnswersThatOvertakeOneAnother(t *testing.T) {
	b := NewShared(&limited{}, 0).of(7)
	header := func(left, reset string) *http.Response {
		return respond(200, "", "X-RateLimit-Limit", "5000", "X-RateLimit-Remaining", left, "X-RateLimit-Reset", reset)
	}
	for _, x := range []struct {
		resp *http.Response
		want int
	}{
		{header("10", "2000"), 10}, {header("11", "2000"), 10}, {header("4999", "5600"), 4999}, {header("9", "2000"), 4999},
		{respond(200, "", "X-RateLimit-Limit", "30", "X-RateLimit-Remaining", "1", "X-RateLimit-Reset", "9000", "X-RateLimit-Resource", "search"), 4999},
	} {
		if err := b.learn(x.resp); err != nil || b.remaining != x.want {
			t.Errorf("%v: %d left, want %d; %v", x.resp.Header, b.remaining, x.want, err)
		}
	}
}

func TestChangesArePaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		github := &limited{}
		shared := NewShared(github, 60) // a burst of 20, then one a second
		start := time.Now()
		var wg sync.WaitGroup
		for i := range 30 {
			wg.Go(func() {
				if _, err := ask(t.Context(), shared.of(7), []string{"POST", "PATCH"}[i%2], "/"); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		if got := len(github.at); got != 20 {
			t.Errorf("%d at once, want 20", got)
		}
		if _, err := ask(t.Context(), shared.of(7), "GET", "/read"); err != nil || time.Now() != start {
			t.Errorf("a read waits for changes: %v", err)
		}
		wg.Wait()
		if took := time.Since(start); took != 10*time.Second {
			t.Errorf("30 changes in %v, want 10 s", took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := ask(ctx, shared.of(7), "POST", "/"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
	})
}

// What is more urgent is written first, however long the others have waited.
func TestVerdictsAreWrittenFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		github := &limited{}
		b := NewShared(github, 60).of(7) // a burst of 20, then one a second
		var wg sync.WaitGroup
		writes := func(n int, u forge.Urgency, path string) {
			for range n {
				wg.Go(func() {
					if _, err := ask(forge.WithUrgency(t.Context(), u), b, "PATCH", path); err != nil {
						t.Error(err)
					}
				})
			}
			synctest.Wait()
		}
		writes(60, forge.Patiently, "/progress")
		writes(10, forge.Usually, "/answer")
		time.Sleep(1500 * time.Millisecond)
		writes(5, forge.Urgently, "/verdict")
		began := len(github.asked())
		if began != 21 {
			t.Errorf("%d of the first", began)
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if got := strings.Join(github.asked()[began:], ""); got != strings.Repeat("/verdict", 5) {
			t.Errorf("the next are %s", got)
		}
		wg.Wait()
		if got := strings.Join(github.asked()[began+5:began+14], ""); got != strings.Repeat("/answer", 9) {
			t.Errorf("then come %s", got)
		}
		if len(github.asked()) != 75 || len(b.writers) != 0 {
			t.Errorf("%d written, %d still wait", len(github.asked()), len(b.writers))
		}
	})
}

func TestPeopleComeFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		github := &limited{hold: make(chan struct{})}
		b := NewShared(github, 0).of(7)
		var wg sync.WaitGroup
		asks := func(n int, ctx context.Context, path string) {
			for range n {
				wg.Go(func() {
					if _, err := ask(ctx, b, "GET", path); err != nil {
						t.Error(err)
					}
				})
			}
			synctest.Wait()
		}
		behind := background(t.Context())
		asks(10, behind, "/poll")
		asks(40, t.Context(), "/command")
		if got := strings.Count(strings.Join(github.paths, " "), "/poll"); got != backgroundAtOnce || len(github.paths) != atOnce {
			t.Errorf("%d of %d under way are polls", got, len(github.paths))
		}
		close(github.hold)
		wg.Wait()
		// The last commands may be let through before polls and yet be seen after them.
		if last := strings.Join(github.paths[len(github.paths)-6-atOnce/4:], ""); strings.Count(last, "/poll") != 6 {
			t.Errorf("the last ones: %s", last)
		}
		if b.flying != 0 || b.behind != 0 || b.waiting != 0 || b.asked != 50 {
			t.Errorf("%+v", b)
		}
	})
}

// GitHub's limits on what creates content are not met, however much there is to
// say: what is too much is put off, and what is only read is not.
func TestPacingKeepsWithinTheLimitsOnContent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var meter forgetest.Creation
		github := &limited{}
		refused, said := 0, 0
		github.answer = func(r *http.Request) *http.Response {
			mu.Lock()
			defer mu.Unlock()
			if r.Method != http.MethodPost {
				return respond(200, "{}")
			}
			if wait := meter.Take(time.Now()); wait > 0 {
				refused++
				return respond(403, "", "Retry-After", strconv.Itoa(int(wait.Seconds())+1))
			}
			said++
			return respond(201, "{}")
		}
		shared := NewShared(github, 60)
		var wg sync.WaitGroup
		for range 1200 {
			wg.Go(func() {
				for {
					_, err := ask(t.Context(), shared.of(7), "POST", "/repos/o/r/issues/1/comments")
					var transient *forge.Transient
					if !errors.As(err, &transient) {
						if err != nil {
							t.Error(err)
						}
						return
					}
					time.Sleep(transient.After)
				}
			})
		}
		start := time.Now()
		time.Sleep(30 * time.Minute)
		now := time.Now()
		for _, method := range []string{"GET", "PATCH"} {
			if _, err := ask(t.Context(), shared.of(7), method, "/repos/o/r/issues/comments/1"); err != nil || time.Since(now) > time.Second {
				t.Errorf("%s waits for what creates content: %v after %v", method, err, time.Since(now))
			}
		}
		wg.Wait()
		if took := time.Since(start); refused > 0 || said != 1200 || took > 150*time.Minute {
			t.Errorf("%d of 1200 said, %d refused, in %v", said, refused, took)
		}
	})
}

// Requests that end while they wait for their turn do not use it up: those after
// them would wait for nobody. One that would end before its turn is told so.
func TestTurnsOfThoseWhoGaveUpAreNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewShared(&limited{}, 60).of(7)
		var wg sync.WaitGroup
		for range 200 { // 20 go at once, 10 within their time
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), 10500*time.Millisecond)
				defer cancel()
				_, err := ask(ctx, b, "POST", "/")
				if transient := (*forge.Transient)(nil); err != nil && (!errors.As(err, &transient) || transient.After <= 10*time.Second) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if b.asked != 30 {
			t.Errorf("%d were sent, want 30", b.asked)
		}
		ctx, cancel := context.WithCancel(t.Context())
		for range 100 {
			wg.Go(func() { _, _ = ask(ctx, b, "POST", "/") })
		}
		synctest.Wait()
		cancel()
		wg.Wait()
		began := time.Now()
		if _, err := ask(t.Context(), b, "POST", "/"); err != nil || time.Since(began) > 2*time.Second {
			t.Errorf("the next one waits %v, %v", time.Since(began), err)
		}
	})
}

// Requests that were under way together are refused together: that is one refusal.
func TestRefusalsAtOnceAreOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		github := &limited{hold: make(chan struct{}), answer: func(*http.Request) *http.Response { return respond(429, "") }}
		b := NewShared(github, 0).of(7)
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() { _, _ = ask(t.Context(), b, "GET", "/") })
		}
		synctest.Wait()
		close(github.hold)
		wg.Wait()
		_, err := ask(t.Context(), b, "GET", "/")
		refusedFor(t, err, time.Minute, "too many")
	})
}

// A token is asked for as the App: what is left to the App says nothing of what is
// left to the installation.
func TestTokensTellNothingOfTheInstallation(t *testing.T) {
	b := NewShared(&limited{}, 0).of(7)
	answer := func(path, left, reset string) {
		resp := respond(201, "", "X-RateLimit-Limit", "5000", "X-RateLimit-Remaining", left, "X-RateLimit-Reset", reset)
		resp.Request, _ = http.NewRequest("POST", "http://github"+path, nil)
		if err := b.learn(resp); err != nil {
			t.Error(err)
		}
	}
	answer("/repos/o/r", "10", "2000")
	answer("/app/installations/7/access_tokens", "4999", "2600")
	if b.remaining != 10 {
		t.Errorf("%d left, want 10", b.remaining)
	}
}

// One absurd answer does not silence an installation.
func TestNoPauseIsLongerThanGitHubsLimits(t *testing.T) {
	for _, header := range [][]string{{"Retry-After", "9223372036854775807"}, {"Retry-After", "Fri, 31 Dec 9999 23:59:59 GMT"}, {"Retry-After", "99999999999"}, {"X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "99999999999"}} {
		synctest.Test(t, func(t *testing.T) {
			github := &limited{answer: func(*http.Request) *http.Response { return respond(429, "", header...) }}
			b := NewShared(github, 0).of(7)
			if _, err := ask(t.Context(), b, "GET", "/"); err != nil {
				t.Fatal(err)
			}
			_, err := ask(t.Context(), b, "GET", "/")
			refusedFor(t, err, longestPause, "too many")
		})
	}
}

// A caller that gives up waiting for a place wakes those that waited behind it.
func TestGivingUpWakesTheBackground(t *testing.T) {
	for range 200 {
		synctest.Test(t, func(t *testing.T) {
			b := NewShared(&limited{}, 0).of(7)
			var leaves []func()
			for range atOnce {
				leave, err := b.place(t.Context(), false)
				if err != nil {
					t.Fatal(err)
				}
				leaves = append(leaves, leave)
			}
			ctx, cancel := context.WithCancel(t.Context())
			var wg sync.WaitGroup
			wg.Go(func() {
				if leave, err := b.place(ctx, false); err == nil {
					leave()
				}
			})
			wg.Go(func() {
				limit, stop := context.WithTimeout(t.Context(), time.Minute)
				defer stop()
				leave, err := b.place(limit, true)
				if err != nil {
					t.Error("a place is free, and the background sleeps")
					return
				}
				leave()
			})
			synctest.Wait()
			cancel()
			for _, leave := range leaves {
				leave()
			}
			wg.Wait()
		})
	}
}
