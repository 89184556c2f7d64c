package mirror_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
)

func together(heads ...queue.CommitID) (picks []mirror.Pick, message string) {
	message = "Merge #1 and #2\n\n#1: a\n#2: b\n\n"
	for i, h := range heads {
		picks = append(picks, pick("", h))
		message += fmt.Sprintf("Change: %d.aa\nHead: %s\n", i+1, h)
	}
	return picks, message
}

// A merge of two heads has the tree of merging one after the other, main and both
// heads as parents, and is recognised by its trailers; everywhere it is the same.
func TestMergeTogether(t *testing.T) {
	t.Parallel()
	r, m, base, a, b, _ := world(t)
	picks, message := together(a, b)
	got := must(m.Merges.MergeTogether(t.Context(), base, picks, message))(t)
	if other := must(r.fetched("a", "b").Merges.MergeTogether(t.Context(), base, picks, message))(t); other.Commit != got.Commit {
		t.Errorf("another mirror makes %+v, not %+v", other, got)
	}
	chain := must(m.Merges.MergeChain(t.Context(), base, picks))(t)
	if got.Tree != chain[1].Tree || got.Tree == "" {
		t.Errorf("the tree is %s, one after the other %s", got.Tree, chain[1].Tree)
	}
	if err := m.Objects.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	shown := &repo{t, m.Dir()}
	shown.run("", "fsck", "--strict", string(got.Commit))
	if parents := shown.run("", "log", "-1", "--format=%P", string(got.Commit)); parents != fmt.Sprintf("%s %s %s", base, a, b) {
		t.Errorf("parents %s", parents)
	}
	line, forced, err := m.History.FirstParents(t.Context(), base, got.Commit)
	if err != nil || forced || len(line) != 1 {
		t.Fatalf("line %+v, forced %t, %v", line, forced, err)
	}
	l := line[0]
	if l.Change != "1.aa" || l.Head != a || len(l.Also) != 1 || l.Also[0] != (queue.Carried{Change: "2.aa", Head: b}) ||
		fmt.Sprint(l.Merged) != fmt.Sprint([]queue.CommitID{a, b}) {
		t.Errorf("recognised as %+v", l)
	}
}

// A change onto such a merge is merged by the newest history that both have.
func TestMergeOntoAMergeTogether(t *testing.T) {
	t.Parallel()
	r, m, base, a, b, _ := world(t)
	picks, message := together(a, b)
	got := must(m.Merges.MergeTogether(t.Context(), base, picks, message))(t)
	r.commit("d", "d", files{"new": "more\n"}, b)
	later := r.fetched("a", "b", "d")
	again := must(later.Merges.MergeTogether(t.Context(), base, picks, message))(t)
	d := queue.CommitID(r.run("", "rev-parse", "d"))
	next := must(later.Merges.MergeChain(t.Context(), again.Commit, []mirror.Pick{pick("", d)}))(t)
	if again.Commit != got.Commit || !next[0].Clean() || next[0].Empty {
		t.Fatalf("on %s: %+v", got.Commit, next)
	}
	if contained := must(later.Merges.MergeChain(t.Context(), again.Commit, []mirror.Pick{pick("", b)}))(t); !contained[0].Empty || !contained[0].Contained {
		t.Errorf("what has landed with it: %+v", contained)
	}
}

func TestMergeTogetherThatDoesNotMerge(t *testing.T) {
	t.Parallel()
	_, m, base, a, b, c := world(t)
	picks, message := together(a, c)
	if got := must(m.Merges.MergeTogether(t.Context(), base, picks, message))(t); got.Clean() || strings.Join(got.Conflicts, " ") != "f" {
		t.Errorf("in conflict: %+v", got)
	}
	picks, message = together(a, b, a)
	if got := must(m.Merges.MergeTogether(t.Context(), base, picks, message))(t); got.Clean() || !got.Empty {
		t.Errorf("one twice: %+v", got)
	}
	if _, err := m.Merges.MergeTogether(t.Context(), base, picks, " "); err == nil {
		t.Error("no message was taken")
	}
}
