package bench

import "testing"

// Seconds of trouble: nothing is lost, doubled or stopped.
func TestBenchOutage(t *testing.T) {
	t.Parallel()
	withRedis(t)
	f := bench(t, "outage", "--for", "3s", "--seeds", "3-4", "--changes", "3", "--areas", "2", "--share", "0.6", "--build", "300ms", "--keep-hooks")
	for _, r := range f["runs"].([]any) {
		run := r.(map[string]any)
		if run["wrong"] != nil || run["stopped"] != nil || run["failed"].(float64) == 0 {
			t.Errorf("%v", run)
		}
	}
}

func TestSeeds(t *testing.T) {
	for text, want := range map[string]int{"7": 1, "1-50": 50, "0-0": 1, "5-4": 0, "": 0, "a": 0, "1-": 0, "-3": 0, "1-99999": 0} {
		if got, err := seedsOf(text); len(got) != want || (err == nil) != (want > 0) {
			t.Errorf("%q: %d seeds, %v", text, len(got), err)
		}
	}
}

func TestBenchOutageOfGitLab(t *testing.T) {
	t.Parallel()
	withRedis(t)
	f := bench(t, "outage", "--forge", "gitlab", "--for", "3s", "--seeds", "3", "--changes", "3", "--areas", "2", "--share", "0.6", "--build", "300ms", "--keep-hooks")
	for _, r := range f["runs"].([]any) {
		run := r.(map[string]any)
		if run["wrong"] != nil || run["stopped"] != nil || run["failed"].(float64) == 0 {
			t.Errorf("%v", run)
		}
	}
}
