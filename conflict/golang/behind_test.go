package golang_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/conflicttest"
	"github.com/submitqueue/submitqueue/conflict/golang"
	"github.com/submitqueue/submitqueue/queue/config"
)

// A test may read a file that no package owns, and be it a link to a file of another
// package: what it reads is in its hash.
func TestAnUnownedLinkIsReadThrough(t *testing.T) {
	base := conflicttest.New(workspace).With("b/schema.sql", "1").
		WithMode("config/schema.sql", conflict.ModeLink, "../shared/schema.sql").WithMode("shared", conflict.ModeLink, "b").
		WithMode("up", conflict.ModeLink, ".").WithMode("tools/loop", conflict.ModeLink, "loop")
	ignoring := config.Analysis{Ignore: []string{"b/*.sql"}}
	if got := affected(t, ignoring, base, base.With("b/schema.sql", "2")); !slices.Equal(got, []string{"./b"}) {
		t.Errorf("an ignored file affects %q", got)
	}
	for _, s := range []config.Analysis{{}, settings, {Barrier: []string{"config/**"}, Unowned: config.UnownedTarget}} {
		a := golang.New(golang.Options{})
		main, err := conflict.Analyze(t.Context(), a, s, base)
		must(t, err)
		for name, to := range map[string]*conflicttest.Tree{
			"an edit":         base.With("b/schema.sql", "2"),
			"another way":     base.Without("shared").WithMode("shared", conflict.ModeLink, "c").With("c/schema.sql", "1"),
			"a way into void": base.Without("shared"),
		} {
			want := mustAnalyze(t, s, to)
			f := conflict.FootprintOf(main, want, "m")
			reader := "./a" // any target may read it
			if s.Unowned == config.UnownedTarget && s.Barrier == nil {
				reader = config.TargetUnowned
			}
			if !slices.Contains(f.Affected, reader) {
				t.Errorf("%+v: %s affects %q", s, name, f.Affected)
			}
			got, err := conflict.Advance(t.Context(), a, s, main, to, conflicttest.Changes(base, to))
			must(t, err)
			if d := cmp.Diff(want.Targets(), got.Targets()); d != "" {
				t.Errorf("%+v: %s is followed to other hashes: %s", s, name, d)
			}
		}
	}
}
