package mirror_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/forge/forgetest"
	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/storetest"
)

// A limit on the refs of a push is learned from the refusal, whatever it is; it outlives
// a restart, and is tried again after a day.
func TestRefsGoInParts(t *testing.T) {
	t.Parallel()
	for _, most := range []int{1, 2, 5, 20} {
		t.Run(fmt.Sprint(most), func(t *testing.T) {
			storetest.OneOf(t, 3)
			t.Parallel()
			s := must(forgetest.New(forgetest.Options{}))(t)
			t.Cleanup(func() { _ = s.Close() })
			hub, r := shop(t, s)
			commit := queue.CommitID(must(hub.Commit("acme", forgetest.Commit{Branch: "main", Message: "first", Files: map[string]string{"f": "1\n"}}))(t))
			dir := filepath.Join(t.TempDir(), "m")
			open := func() (*mirror.Mirror, mirror.OwnRefs) {
				m := must(mirror.Open(t.Context(), dir))(t)
				must(m.Remotes.FetchBranch(t.Context(), r, "main"))(t)
				return m, mirror.OwnRefs{Mirror: m, Forge: at{remote: r}}
			}
			pushes := func() int { return len(s.Requests("POST", "/acme/shop.git/git-receive-pack")) }
			push := func(own mirror.OwnRefs, round, want int) {
				t.Helper()
				var moves []mirror.RefMove
				for i := range 22 {
					moves = append(moves, mirror.RefMove{Branch: fmt.Sprintf("q/%d/%02d", round, i), Commit: commit})
				}
				before := pushes()
				fresh, each, err := own.Push(t.Context(), moves)
				if err != nil {
					t.Fatal(err)
				}
				for i := range moves {
					if !fresh[i] || each[i] != nil {
						t.Errorf("%s: fresh %v, %v", moves[i].Branch, fresh[i], each[i])
					}
				}
				if found := must(own.List(t.Context(), fmt.Sprintf("q/%d/", round)))(t); len(found) != len(moves) {
					t.Errorf("%d refs are there", len(found))
				}
				if got := pushes() - before; got != want {
					t.Errorf("round %d: %d pushes, want %d", round, got, want)
				}
			}
			hub.LimitPushes(most)
			m, own := open()
			parts := (22 + most - 1) / most
			push(own, 1, 1+parts)
			push(own, 2, parts)
			_ = m.Close()
			m, own = open()
			push(own, 3, parts)
			_ = m.Close()
			old := time.Now().Add(-25 * time.Hour)
			if err := os.Chtimes(filepath.Join(dir, "refs-per-push"), old, old); err != nil {
				t.Fatal(err)
			}
			hub.LimitPushes(0)
			m, own = open()
			defer m.Close()
			push(own, 4, 1)
		})
	}
}

// A refusal of another kind is no limit, nor is one that does not answer the push.
func TestLimitOfAnotherPush(t *testing.T) {
	t.Parallel()
	for _, said := range []string{
		"- Pushes can not update more than 20 branches or tags.", "- Pushes can not update more than 0 branches or tags.",
		"- Pushes can not update more than 99999999999999999999 branches or tags.", "- Changes must be made through a pull request.",
	} {
		hub, m, r, base, _ := recorded(t)
		hub.RefusePushes("q/a", forgetest.Refusal{Reason: "push declined due to repository rule violations", Said: []string{"error: GH013: Repository rule violations found for refs/heads/q/a.", said}}, 1)
		own := mirror.OwnRefs{Mirror: m, Forge: at{remote: r}}
		_, each, err := own.Push(t.Context(), []mirror.RefMove{{Branch: "q/a", Commit: base}, {Branch: "q/b", Commit: base}})
		if err != nil || each[0] == nil || !strings.Contains(each[0].Error(), "rule violations") {
			t.Errorf("%q: %v, %v", said, each, err)
		}
	}
}

// Where CI tests only so many refs of a push, those that it is to test go by as many at a
// time, after all others.
func TestRefsThatAreTestedGoApart(t *testing.T) {
	t.Parallel()
	s := must(forgetest.New(forgetest.Options{}))(t)
	t.Cleanup(func() { _ = s.Close() })
	hub, r := shop(t, s)
	r.Refs = 3
	commit := queue.CommitID(must(hub.Commit("acme", forgetest.Commit{Branch: "main", Message: "first", Files: map[string]string{"f": "1\n"}}))(t))
	m := must(mirror.Open(t.Context(), filepath.Join(t.TempDir(), "m")))(t)
	defer m.Close()
	must(m.Remotes.FetchBranch(t.Context(), r, "main"))(t)
	own := mirror.OwnRefs{Mirror: m, Forge: at{remote: r}}
	push := func(want int, moves ...mirror.RefMove) {
		t.Helper()
		before := len(s.Requests("POST", "/acme/shop.git/git-receive-pack"))
		fresh, each, err := own.Push(t.Context(), moves)
		if err != nil || len(fresh) != len(moves) || len(each) != len(moves) {
			t.Fatalf("%v, %v, %v", fresh, each, err)
		}
		for i, move := range moves {
			if each[i] != nil || move.Commit != "" && !fresh[i] {
				t.Errorf("%s: fresh %v, %v", move.Branch, fresh[i], each[i])
			}
		}
		if got := len(s.Requests("POST", "/acme/shop.git/git-receive-pack")) - before; got != want {
			t.Errorf("%d pushes, want %d", got, want)
		}
	}
	var moves []mirror.RefMove
	for i := range 4 {
		moves = append(moves, mirror.RefMove{Branch: fmt.Sprintf("side/%d", i), Commit: commit, Quiet: true}, mirror.RefMove{Branch: fmt.Sprintf("q/%d", i), Commit: commit})
	}
	push(1+2, append(moves, mirror.RefMove{Branch: "q/gone"})...)
	if found := must(own.List(t.Context(), "q/"))(t); len(found) != 4 {
		t.Errorf("%d refs are there", len(found))
	}
	push(1, mirror.RefMove{Branch: "q/9", Commit: commit})
	push(1, mirror.RefMove{Branch: "q/9"}, mirror.RefMove{Branch: "q/0"})
}
