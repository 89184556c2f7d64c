package bench

import (
	"testing"
	"time"
)

// polled fails if calls were made that no webhook caused. Where a run takes so long that the server
// asks again for what the host did not answer at the start, one round of them is its right: one
// call for the list and one for each change.
func polled(t *testing.T, f map[string]any, began time.Time) {
	t.Helper()
	const again, round = 20 * time.Second, 1 + 3*4 + 6
	if n := f["refresh"].(float64); n > round || n != 0 && time.Since(began) < again {
		t.Errorf("%v calls that no webhook caused: %v", n, f["routes"])
	}
}

func TestBenchCalls(t *testing.T) {
	t.Parallel()
	withRedis(t)
	began := time.Now()
	f := bench(t, "calls", "--pending", "4", "--land", "6", "--full", "5", "--probes", "2", "--build", "300ms")
	if n := f["calls_per_landed"].(float64); n <= 0 || n*6/(6+4) > 12 { // few land here: those that wait at the end were asked about as well
		t.Errorf("%v calls for each landed change: %v", n, f["routes"])
	}
	polled(t, f, began)
	if n := f["comment_to_builds_seconds"].(map[string]any)["max"].(float64); n <= 0 {
		t.Errorf("from a comment to builds: %v", f)
	}
}

// On GitLab, nothing is asked for that no webhook causes either.
func TestBenchCallsOnGitLab(t *testing.T) {
	t.Parallel()
	withRedis(t)
	began := time.Now()
	f := bench(t, "calls", "--forge", "gitlab", "--pending", "4", "--land", "6", "--full", "5", "--probes", "2", "--build", "300ms")
	if n := f["calls_per_landed"].(float64); n <= 0 || n*6/(6+4) > 14 || f["forge"] != "gitlab" {
		t.Errorf("%v calls for each landed change: %v", n, f["routes"])
	}
	polled(t, f, began)
	if f["notes_per_landed"].(float64) <= 0 {
		t.Errorf("%v notes for each landed change", f["notes_per_landed"])
	}
	if n := f["comment_to_builds_seconds"].(map[string]any)["max"].(float64); n <= 0 {
		t.Errorf("from a comment to builds: %v", f)
	}
}

func TestBenchCallsWithRequirements(t *testing.T) {
	t.Parallel()
	withRedis(t)
	f := bench(t, "calls", "--requirements", "--pending", "4", "--land", "6", "--probes", "0", "--build", "300ms")
	asked, _ := f["routes"].(map[string]any)["POST /api/graphql"].(float64)
	if n := f["calls_per_landed"].(float64); n <= 0 || n*6/(6+4) > 12 || asked < 6 || f["requirements"] != true {
		t.Errorf("%v calls for each landed change: %v", n, f["routes"])
	}
}

func TestBenchHooks(t *testing.T) {
	t.Parallel()
	withRedis(t)
	f := bench(t, "hooks", "--rate", "50", "--for", "1s", "--killed", "9")
	n := func(name string) float64 { return f[name].(float64) }
	// A disk that takes seconds for a sync has some spooled: they count as taken.
	if n("sent") != n("stored")+n("spooled") || n("refused") != 0 || n("lost") != 0 || n("failed") == 0 {
		t.Errorf("%v", f)
	}
}

// By squash, each landing moves a head before main, and both are counted.
func TestBenchCallsBySquash(t *testing.T) {
	t.Parallel()
	withRedis(t)
	f := bench(t, "calls", "--method", "squash", "--pending", "4", "--land", "6", "--probes", "0", "--build", "300ms")
	if n := f["pushes_per_landed"].(float64); f["method"] != "squash" || n <= 0 || n > 3 {
		t.Errorf("%v pushes for each change that landed by %v", n, f["method"])
	}
}
