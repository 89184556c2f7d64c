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
)

// A limit on the refs of a push is learned from the refusal, whatever it is; it outlives
// a restart, and is tried again after a day.
func TestRefsGoInParts(t *testing.T) {
	t.Parallel()
	for _, most := range []int{1, 2, 5, 20} {
		t.Run(fmt.Sprint(most), func(t *testing.T) {
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
