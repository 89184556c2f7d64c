package forgetest

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestLooseIsAsGit makes commits without git and with it: they are the same, as is what
// is read of them, and the refs are where git sees them. A fake whose commits are not
// git's would test nothing.
func TestLooseIsAsGit(t *testing.T) {
	s, err := New(Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	round := 0
	rapid.Check(t, func(t *rapid.T) {
		round++
		repo, err := s.AddRepository("acme", fmt.Sprintf("loose%d", round), "main")
		if err != nil {
			t.Fatal(err)
		}
		r, from, ctx := repo.store, "", t.Context()
		var made []string
		for i := range rapid.IntRange(1, 4).Draw(t, "commits") {
			path := rapid.SampledFrom([]string{"a", "a.b", "a0", "b", "d/a", "d/e/f", "d.x", "d/e.f", "d0/z"})
			c := newCommit{from: from, sign: "ann <ann@users.example> 1700000000 +0000",
				message: rapid.SampledFrom([]string{"one", "one\n", "two \nlines\n\nbody\n[skip ci]", "\n\nlate\n"}).Draw(t, "message"),
				files:   rapid.MapOfN(path, rapid.SampledFrom([]string{"x", "y\n", "z\x00"}), 0, 4).Draw(t, "files"),
				gone:    rapid.SliceOfN(path, 0, 2).Draw(t, "gone")}
			if i > 1 && rapid.Bool().Draw(t, "merge") {
				c.merge = made[0]
			}
			id, err := r.makeLoose(c)
			if err != nil {
				t.Fatalf("%+v: %v", c, err)
			}
			git, _, err := r.fastImport(ctx, []newCommit{c})
			if err != nil {
				t.Fatal(err)
			}
			if git[0] != id {
				t.Fatalf("%+v is %s, and by git %s", c, id, git[0])
			}
			out, err := r.git(ctx, strings.NewReader(id+"\n"), "log", "--no-walk", "--stdin", infoFormat)
			if err != nil {
				t.Fatal(err)
			}
			if ours, theirs := r.infosOf(ctx, []string{id}), parseInfo(out); !reflect.DeepEqual(ours, theirs) {
				t.Fatalf("%q is read as %+v, and by git as %+v", c.message, ours, theirs)
			}
			out, err = r.git(ctx, nil, "log", "-1", "--format=%B", id)
			if err != nil {
				t.Fatal(err)
			}
			if text, err := r.message(ctx, id); err != nil || strings.TrimSpace(text) != strings.TrimSpace(string(out)) {
				t.Fatalf("the message %q is read as %q (%v), and by git as %q", c.message, text, err, out)
			}
			done, err := r.transactHere(fmt.Sprintf("update refs/heads/main %s %s\nupdate refs/heads/d/%d %s\n", id, orZero(from), i, id))
			if !done || err != nil {
				t.Fatalf("the refs did not move: %v, %v", done, err)
			}
			if done, err := r.transactHere(fmt.Sprintf("update refs/heads/d %s\n", id)); done {
				t.Fatalf("a branch is where others are below it: %v", err)
			}
			if done, _ := r.transactHere(fmt.Sprintf("update refs/heads/main %s %s\n", id, strings.Repeat("1", 40))); done {
				t.Fatal("a ref moved from where it was not")
			}
			from, made = id, append(made, id)
		}
		out, err := r.git(ctx, nil, "for-each-ref", "--format=%(objectname) %(refname)")
		if err != nil {
			t.Fatal(err)
		}
		if ours, packed := r.eachRef(); packed || ours != string(out) {
			t.Fatalf("refs are %s, and by git %s", ours, out)
		}
	})
}
