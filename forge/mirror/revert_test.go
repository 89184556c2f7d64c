package mirror_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
)

func TestRevertTakesBackWhatOneCommitDid(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	base := r.commit("main", "base", files{"f": lines(20, nil), "g": "g\n"})
	culprit := r.commit("main", "culprit", files{"f": lines(20, map[int]string{3: "bad"}), "g": "g\n", "new": "n\n"}, base)
	later := r.commit("main", "later", files{"f": lines(20, map[int]string{3: "bad", 15: "later"}), "g": "h\n", "new": "n\n"}, culprit)
	over := r.commit("over", "over", files{"f": lines(20, map[int]string{3: "worse"}), "g": "g\n", "new": "n\n"}, culprit)
	gone := r.commit("gone", "gone", files{"f": lines(20, nil), "g": "g\n", "new": "-"}, culprit)
	m := r.fetched("main", "over", "gone")

	take := mirror.Pick{Head: culprit, Revert: culprit, Message: "Revert \"culprit\"\n\nThis reverts it.\n", Date: queue.Instant(1)}
	take.Parent = later
	got := must(m.Merges.MergeWave(t.Context(), []mirror.Pick{take}))(t)[0]
	wanted := r.commit("want", "want", files{"f": lines(20, map[int]string{15: "later"}), "g": "h\n", "new": "-"}, later)
	want := queue.TreeID(strings.TrimSpace(r.run("", "rev-parse", string(wanted)+"^{tree}")))
	if want != got.Tree || !got.Clean() {
		t.Errorf("%+v, want the tree %s", got, want)
	}
	if again := must(m.Merges.MergeWave(t.Context(), []mirror.Pick{take}))(t)[0]; again.Commit != got.Commit {
		t.Errorf("made twice: %s and %s", got.Commit, again.Commit)
	}
	take.Parent = over
	if got := must(m.Merges.MergeWave(t.Context(), []mirror.Pick{take}))(t)[0]; got.Clean() || !slices.Equal(got.Conflicts, []string{"f"}) {
		t.Errorf("over a later edit of the same line: %+v", got)
	}
	take.Parent = gone
	if got := must(m.Merges.MergeWave(t.Context(), []mirror.Pick{take}))(t)[0]; !got.Empty {
		t.Errorf("where it is gone already: %+v", got)
	}
	take.Parent, take.Revert = later, base
	if got := must(m.Merges.MergeWave(t.Context(), []mirror.Pick{take}))(t)[0]; got.Refused == "" {
		t.Errorf("of the first commit: %+v", got)
	}
}

func TestPast(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	base := r.commit("main", "base", files{"f": "1\n"})
	side := r.commit("side", "side", files{"f": "1\n", "g": "1\n"}, base)
	next := r.commit("main", "next (#7)", files{"f": "1\n", "g": "1\n"}, base, side)
	m := r.fetched("main")
	line, whole := past(t, m, next, 10)
	if !whole || !slices.Equal(line, []queue.CommitID{next, base}) {
		t.Errorf("%v, whole %t", line, whole)
	}
	if line, whole := past(t, m, next, 1); whole || len(line) != 1 {
		t.Errorf("%v, whole %t", line, whole)
	}
}

func past(t *testing.T, m *mirror.Mirror, tip queue.CommitID, most int) (ids []queue.CommitID, whole bool) {
	t.Helper()
	line, whole, err := m.History.Past(t.Context(), tip, most)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range line {
		if l.Author == "" {
			t.Errorf("%s has no author", l.Commit)
		}
		ids = append(ids, l.Commit)
	}
	return ids, whole
}
