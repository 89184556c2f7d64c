package speculation

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// drawnHistories says which histories TestHistories makes.
var drawnHistories = flag.String("histories", "0:300", "seeds FROM:TO of the histories that TestHistories makes; TO is not among them")

// TestHistories makes the histories of a range of seeds, on all cores, and holds
// each against the world's own truth: no commit of main is red, no sound change is
// rejected, each change has one verdict, none lands twice, and none is stuck.
// It leaves out what TestAnyHistory checks of turns (the same turn from what is
// stored, caches made again), and so makes many more.
//
// The night's run: go test ./speculation -run 'TestHistories$' -histories 0:100000 -timeout 2h -v
//
// A history is the same whenever its seed is: what fails is told with the command
// that makes just that one again, with all that happened in it.
func TestHistories(t *testing.T) {
	soakRange(t, "TestHistories", "histories", *drawnHistories, soak)
}

// TestHistoriesThatFailed makes those again that have found something: a change that came
// back and waited for an approval that nobody named (60001), an answer that was written
// while it did not hold and never written again (82051), and audits that did not see all
// of the world (the others: a merge by push; what a build was for; the main that it was
// asked for).
func TestHistoriesThatFailed(t *testing.T) {
	for _, seed := range []int64{54227, 55373, 60001, 61114, 79821, 82051} {
		if _, why := soak(seed, nil); why != "" {
			t.Errorf("seed %d: %s", seed, why)
		}
	}
}

// soakRange makes the histories of a range of seeds, on all cores.
func soakRange(t *testing.T, name, option, seeds string, soak func(seed int64, log *[]string) (turns int, why string)) {
	t.Helper()
	from, to := mustRange(t, option, seeds)
	var next, done atomic.Int64
	var events atomic.Int64
	next.Store(from)
	var mu sync.Mutex
	bad := int64(-1) // the first that fails
	var wg sync.WaitGroup
	begin := time.Now()
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for {
				seed := next.Add(1) - 1
				mu.Lock()
				over := bad >= 0 && seed > bad
				mu.Unlock()
				if seed >= to || over {
					return
				}
				turns, why := soak(seed, nil)
				events.Add(int64(turns))
				if n := done.Add(1); n%1000 == 0 {
					t.Logf("%d of %d histories, %.0f a second", n, to-from, float64(n)/time.Since(begin).Seconds())
				}
				if why == "" {
					continue
				}
				mu.Lock()
				if bad < 0 || seed < bad {
					bad = seed
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	took := time.Since(begin)
	t.Logf("%d histories of %d turns in %s, %.0f a second", done.Load(), events.Load(), took.Round(time.Second/10), float64(done.Load())/took.Seconds())
	if bad < 0 {
		return
	}
	var log []string
	_, why := soak(bad, &log)
	t.Errorf("the history of seed %d fails, after %d that do not: %s\nTo make it again: go test ./speculation -run '%s$' -%s %d:%d\n%s",
		bad, bad-from, why, name, option, bad, bad+1, strings.Join(log, "\n"))
}

func mustRange(t *testing.T, option, s string) (from, to int64) {
	t.Helper()
	a, b, ok := strings.Cut(s, ":")
	from, err := strconv.ParseInt(a, 10, 64)
	to, err2 := strconv.ParseInt(b, 10, 64)
	if !ok || err != nil || err2 != nil || from < 0 || to <= from {
		t.Fatalf("-%s %s is not FROM:TO", option, s)
	}
	return from, to
}

// soak makes the history of a seed. It returns how many turns that took, and why the
// history fails, if it does. log takes what happened in it.
func soak(seed int64, log *[]string) (turns int, why string) {
	chance := rand.New(rand.NewPCG(uint64(seed), 0x5eed))
	return lived(log, func() *history {
		return newHistory(stopping{}, func(n int, _ string) int { return chance.IntN(n) })
	}, func(h *history) { h.live(40) })
}

// lived makes one history.
func lived(log *[]string, begin func() *history, live func(*history)) (turns int, why string) {
	var h *history
	defer func() {
		switch x := recover().(type) {
		case nil:
		case failure:
			why = string(x)
		default:
			why = fmt.Sprintf("panic: %v\n%s", x, debug.Stack())
		}
		if h != nil {
			turns = h.turns
			if log != nil {
				*log = h.log
			}
		}
	}()
	h = begin()
	h.audit.brief, h.audit.mute = true, log == nil
	live(h)
	h.audit.final()
	return h.turns, ""
}

// failure is why a history fails.
type failure string

// stopping is a test that ends with the first failure, by a panic.
type stopping struct{}

func (stopping) Helper()                           {}
func (stopping) Logf(string, ...any)               {}
func (stopping) Fatalf(format string, args ...any) { panic(failure(fmt.Sprintf(format, args...))) }
