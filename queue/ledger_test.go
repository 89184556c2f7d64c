package queue_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/submitqueue/submitqueue/queue"
)

// evidence reads failures as people write them: "f" failed, "t" timed out, one
// build and one minute each; " " is a minute without one; "+" repeats the build
// before.
func evidence(script string) []queue.Failure {
	var failures []queue.Failure
	build := 'a'
	for i, c := range script {
		if c == ' ' {
			continue
		}
		f := queue.Failure{At: minute(i), Timeout: c == 't'}
		if c == '+' {
			f.Timeout = failures[len(failures)-1].Timeout
		} else {
			build++
		}
		f.Build = queue.BuildID(build)
		failures = append(failures, f)
	}
	return failures
}

// minute returns the instant n minutes after the first one of a script.
func minute(n int) queue.Instant {
	return queue.Instant(1_700_000_000_000).Add(time.Duration(n) * time.Minute)
}

func TestDecisive(t *testing.T) {
	for _, test := range []struct {
		failures string
		now      int // minute
		retries  int
		passed   bool
		want     bool
	}{
		{"", 0, 0, false, false},
		{"f", 0, 0, false, true},
		{"f", 59, 0, false, true},
		{"f", 60, 0, false, false}, // expired
		{"f", 1, 1, false, false},  // is to fail again
		{"ff", 1, 1, false, true},
		{"ff", 60, 1, false, false}, // the first has expired
		{"ff", 60, 0, false, true},
		{"ff", 61, 0, false, false},
		{"ff", 1, 2, false, false},
		{"fff", 2, 2, false, true},

		{"t", 0, 0, false, false}, // one time-out is infrastructure
		{"tt", 1, 0, false, true},
		{"tt", 60, 0, false, false}, // one again
		{"tt", 1, 1, false, true},
		{"tt", 1, 2, false, false},
		{"ttt", 2, 2, false, true},
		{"ft", 1, 0, false, true},
		{"ft", 1, 1, false, false}, // the time-out does not count yet
		{"ftt", 2, 2, false, true},
		{"tft", 2, 2, false, true},
		{"f" + "                              " + "t", 60, 0, false, false}, // what failed has expired

		{"f+", 1, 1, false, false}, // one build counts once
		{"f+f", 2, 1, false, true},
		{"t+", 1, 0, false, false},
		{"t+t", 2, 0, false, true},

		{"f", 0, 0, true, false}, // a pass wins
		{"ffff", 3, 0, true, false},
		{"tt", 1, 0, true, false},
	} {
		e := queue.Entry{Failures: evidence(test.failures)}
		if test.passed {
			e.Passed = minute(0)
		}
		if got := e.Decisive(minute(test.now), test.retries); got != test.want {
			t.Errorf("%q at %d min with %d retries, passed %v: decisive %v", test.failures, test.now, test.retries, test.passed, got)
		}
	}
}

// A failure that decides was seen on two hosts where there are two.
func TestDecisiveHosts(t *testing.T) {
	for _, test := range []struct {
		failures string // host of each, "!" after it: alone, "*": the tool's, "~": with caches, "-": not known
		retries  int
		want     bool
	}{
		{"m1", 0, false},
		{"m1!", 0, true},
		{"-", 0, true},
		{"m1 m1 m1", 1, false},
		{"m1 m2", 1, true},
		{"m1 m2", 2, false},
		{"m1! m1", 1, false}, // there is another one by now
		{"m1 m1!", 1, true},
		{"- m1", 1, false}, // perhaps the same one
		{"m1 -", 1, true},
		{"m1 m2 m2", 2, true},

		{"m1*", 0, false},
		{"m1* m1*", 1, false},
		{"m1* m2*", 1, true},
		{"m1*!", 0, true},
		{"m1* m2", 0, false}, // one failure on m2; what m1 could not run is nobody's
		{"m1* m2 m3", 1, true},
		{"m1* m2!", 0, true},
		{"m1* m2!", 1, false},

		{"m1!~", 0, false}, // it may be what others have left
		{"-~ -~ -~", 1, false},
		{"m1~ m2~", 1, false},
		{"m1~ m2", 1, true},
		{"m1~ m1!", 0, true},
	} {
		var e queue.Entry
		for i, f := range strings.Fields(test.failures) {
			host := strings.Trim(f, "!*~-")
			e.Failures = append(e.Failures, queue.Failure{At: minute(i), Build: queue.BuildID(fmt.Sprint(i)), Host: host,
				Alone: strings.Contains(f, "!"), Tool: strings.Contains(f, "*"), Cached: strings.Contains(f, "~")})
		}
		if got := e.Decisive(minute(10), test.retries); got != test.want {
			t.Errorf("%q with %d retries: decisive %v", test.failures, test.retries, got)
		}
	}
}

func TestDecisiveWithoutBuilds(t *testing.T) {
	e := queue.Entry{Failures: []queue.Failure{{At: 1}, {At: 2}}}
	if !e.Decisive(3, 1) {
		t.Error("failures that name no build count each")
	}
}

func TestExpires(t *testing.T) {
	for _, test := range []struct {
		failures string
		now      int
		want     queue.Instant
	}{
		{"", 0, 0},
		{"f", 0, minute(60)},
		{"f", 59, minute(60)},
		{"f", 60, 0},
		{"f t", 1, minute(60)},
		{"f t", 60, minute(62)},
		{"f t", 62, 0},
	} {
		e := queue.Entry{Failures: evidence(test.failures)}
		if got := e.Expires(minute(test.now)); got != test.want {
			t.Errorf("%q at %d min: expires at %v, want %v", test.failures, test.now, got.Time(), test.want.Time())
		}
	}
}

// A failure counts until the run that repeats it has ended and been held against main, also
// where each of them takes longer than an hour.
func TestLongRunsDecide(t *testing.T) {
	e := queue.Entry{Failures: []queue.Failure{{Build: "a", Began: minute(0), At: minute(90)}, {Build: "b", Began: minute(90), At: minute(180)}}}
	for _, now := range []int{180, 270, 449} {
		if !e.Decisive(minute(now), 1) || e.Expires(minute(now)) != minute(450) {
			t.Errorf("at %d min: decisive %v, expires at %v", now, e.Decisive(minute(now), 1), e.Expires(minute(now)).Time())
		}
	}
	if e.Decisive(minute(450), 1) {
		t.Error("the first counts for longer than four times its run")
	}
}

// Between two instants that Expires returns, time changes nothing: a server that wakes up then
// misses no change of Decisive. And it only ever takes evidence away.
func TestExpiresMissesNothing(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		script := rapid.StringMatching(`[ft][ft ]{0,8}`).Draw(r, "failures")
		retries := rapid.IntRange(0, 3).Draw(r, "retries")
		e := queue.Entry{Failures: evidence(script)}
		wake := minute(len(script))
		was := e.Decisive(wake, retries)
		for now := wake; now <= minute(len(script)+61); now = now.Add(20 * time.Second) {
			next := e.Expires(wake)
			if next != 0 && now >= next {
				wake, was = next, e.Decisive(next, retries) && was
			}
			if got := e.Decisive(now, retries); got != was {
				r.Fatalf("%q: decisive %v at %v, %v at the last wake-up", script, got, now.Time(), was)
			}
		}
		if was {
			r.Fatalf("%q is decisive for ever", script)
		}
	})
}

func TestSetID(t *testing.T) {
	a, b, c := queue.Key{Step: "s", Target: "a", Hash: "h"}, queue.Key{Step: "s", Target: "b", Hash: "h"}, queue.Key{Step: "t", Target: "a", Hash: "h"}
	if queue.SetID([]queue.Key{a}) != a.ID() {
		t.Error("the set of one key is not the key")
	}
	seen := map[queue.Digest][]queue.Key{}
	for _, set := range [][]queue.Key{nil, {a}, {b}, {c}, {a, b}, {a, c}, {b, c}, {a, b, c}} {
		id := queue.SetID(set)
		if other, twice := seen[id]; twice {
			t.Errorf("%v and %v have one id", set, other)
		}
		seen[id] = set
		if got := queue.OpaqueID(set); got == id != (len(set) != 1) {
			t.Errorf("%v fails together as %s and is named %s", set, got, id)
		}
	}
	rapid.Check(t, func(r *rapid.T) {
		keys := rapid.SliceOfN(rapid.Make[queue.Key](), 0, 8).Draw(r, "keys")
		before := slices.Clone(keys)
		want := queue.SetID(keys)
		if !slices.Equal(keys, before) {
			r.Fatal("SetID changes its argument")
		}
		rand.New(rand.NewPCG(rapid.Uint64().Draw(r, "order"), 0)).Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
		if got := queue.SetID(keys); got != want {
			r.Fatalf("%v: another order has another id", before)
		}
	})
}
