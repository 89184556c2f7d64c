//go:build unix

package chaos

import (
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// merged merges a head into main as the queue does, whatever the test says of it.
func (w *world) merged(t *testing.T, c *change, head string) {
	t.Helper()
	tree, err := w.git(t.Context(), "", "-C", w.dir, "merge-tree", "--write-tree", "refs/heads/main", head)
	if err != nil {
		t.Fatal(err)
	}
	commit, err := w.git(t.Context(), "", "-C", w.dir, "-c", "user.name=q", "-c", "user.email=q@x", "commit-tree", tree, "-p", "refs/heads/main", "-p", head, "-m", c.branch)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.git(t.Context(), "", "-C", w.dir, "update-ref", "refs/heads/main", commit); err != nil {
		t.Fatal(err)
	}
}

// TestAudit breaks each of the promises once, and demands that it is seen.
func TestAudit(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(*testing.T, *world, map[kind]*change)
		want string // "": nothing is wrong
	}{
		"as it should be": {func(t *testing.T, w *world, of map[kind]*change) {
			w.merged(t, of[sound], of[sound].asked[0])
			w.merged(t, of[half], of[half].asked[0])
		}, ""},
		"a bad one": {func(t *testing.T, w *world, of map[kind]*change) { w.merged(t, of[bad], of[bad].asked[0]) }, "of main is red"},
		"both halves": {func(t *testing.T, w *world, of map[kind]*change) {
			for _, c := range w.changes {
				if c.kind == half && c.area == of[half].area {
					w.merged(t, c, c.asked[0])
				}
			}
		}, "of main is red"},
		"twice": {func(t *testing.T, w *world, of map[kind]*change) {
			w.merged(t, of[sound], of[sound].asked[0])
			w.merged(t, of[sound], of[sound].asked[0])
		}, "landed 2 times"},
		"another head": {func(t *testing.T, w *world, of map[kind]*change) {
			if err := w.push(t.Context(), of[sound]); err != nil {
				t.Fatal(err)
			}
			w.merged(t, of[sound], "refs/heads/"+of[sound].branch)
		}, "for which nobody has asked"},
	} {
		t.Run(name, func(t *testing.T) {
			w, err := newWorld(t.Context(), filepath.Join(t.TempDir(), "x.git"), rand.New(rand.NewPCG(3, 3)))
			if err != nil {
				t.Fatal(err)
			}
			of := map[kind]*change{}
			for range 40 {
				c, err := w.next(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if of[c.kind] == nil {
					of[c.kind] = c
				}
			}
			if len(of) != 4 {
				t.Fatalf("only %d kinds of changes are drawn", len(of))
			}
			if err := w.past(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
			c.do(t, w, of)
			l, wrong, err := w.audit(t.Context())
			if err != nil || l.commits < 2 {
				t.Fatal(l, err)
			}
			if found := slices.ContainsFunc(wrong, func(s string) bool { return strings.Contains(s, c.want) }); c.want == "" && len(wrong) > 0 || c.want != "" && !found {
				t.Errorf("%q, want %q", wrong, c.want)
			}
		})
	}
}

func TestVerdicts(t *testing.T) {
	l := landings{heads: map[string]int{"a": 1}}
	on, off := []string{"a"}, []string{"b"}
	for _, c := range []struct {
		change *change
		phase  string
		want   string
	}{
		{&change{kind: sound, asked: on}, "landed", ""},
		{&change{kind: sound, asked: off}, "landed", "main does not have it"},
		{&change{kind: sound, asked: off}, "rejected", "is sound, and was rejected"},
		{&change{kind: sound, asked: off, moves: true}, "rejected", ""},
		{&change{kind: bad, asked: off}, "rejected", ""},
		{&change{kind: bad, asked: on}, "landed", "is bad, and landed"},
		{&change{kind: half, asked: off}, "rejected", ""},
		{&change{kind: clash, asked: off}, "rejected", ""},
		{&change{kind: sound, asked: off}, "cancelled", ""},
	} {
		if got := l.verdict(c.change, c.phase); c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%+v %s: %q, want %q", *c.change, c.phase, got, c.want)
		}
	}
}
