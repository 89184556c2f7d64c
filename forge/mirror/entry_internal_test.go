package mirror

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/queue"
)

// sapling is a tree as a map from paths to "<mode> <content>".
type sapling map[string]string

// lengthy is a content that git takes for the same file after an edit.
func lengthy(n, edit int) string {
	var b strings.Builder
	for i := range 12 {
		fmt.Fprintf(&b, "file %d line %d\n", n, i)
	}
	if edit > 0 {
		fmt.Fprintf(&b, "edit %d\n", edit)
	}
	return b.String()
}

var saplingDirs = []string{"", "a/", "a/b/", "c/", "d/", "d/e/"}

func (s sapling) path(r *rand.Rand) string {
	return saplingDirs[r.IntN(len(saplingDirs))] + string("fghab"[r.IntN(5)])
}

func (s sapling) some(r *rand.Rand) string { return slices.Sorted(maps.Keys(s))[r.IntN(len(s))] }

// put has a path, and nothing in its way.
func (s sapling) put(path, what string) {
	for p := range s {
		if strings.HasPrefix(p, path+"/") || strings.HasPrefix(path, p+"/") {
			delete(s, p)
		}
	}
	s[path] = what
}

// change edits at random, as people do.
func (s sapling) change(r *rand.Rand) {
	p := s.some(r)
	_, content, _ := strings.Cut(s[p], " ")
	switch r.IntN(8) {
	case 0, 1:
		s[p] = "100644 " + content + fmt.Sprintf("more %d\n", r.IntN(3))
	case 2, 3:
		s.put(s.path(r), "100644 "+lengthy(r.IntN(40), r.IntN(3)))
	case 4:
		if len(s) > 1 {
			delete(s, p)
		}
	case 5:
		was := s[p]
		delete(s, p)
		s.put(s.path(r), was)
	case 6:
		from, to := saplingDirs[1+r.IntN(5)], saplingDirs[1+r.IntN(5)]
		for _, p := range slices.Sorted(maps.Keys(s)) {
			if rest, ok := strings.CutPrefix(p, from); ok && s[p] != "" {
				was := s[p]
				delete(s, p)
				s.put(to+rest, was)
			}
		}
	case 7:
		s[p] = []string{"100755 ", "120000 ", "100644 "}[r.IntN(3)] + content
	}
}

func (s sapling) commit(b *strings.Builder, branch string, date int, parents ...string) {
	fmt.Fprintf(b, "commit refs/heads/%s\ncommitter A <a@x> %d +0000\ndata 1\nm\n", branch, date)
	for i, p := range parents {
		if p == branch {
			continue // it goes on from there
		}
		fmt.Fprintf(b, "%s refs/heads/%s\n", []string{"from", "merge"}[min(i, 1)], p)
	}
	b.WriteString("deleteall\n")
	for _, p := range slices.Sorted(maps.Keys(s)) {
		mode, content, _ := strings.Cut(s[p], " ")
		fmt.Fprintf(b, "M %s inline %s\ndata %d\n%s\n", mode, p, len(content), content)
	}
	b.WriteString("\n")
}

// A merge made without git must be the one that git makes: renames of files and
// directories, types that change, merges in the history.
func TestMergesHereAreGits(t *testing.T) {
	t.Parallel()
	m, err := Open(t.Context(), filepath.Join(t.TempDir(), "m.git"))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	const n = 400
	r := rand.New(rand.NewPCG(1, 2))
	var script strings.Builder
	for i := range n {
		base := sapling{}
		for range 4 + r.IntN(12) {
			base.put(base.path(r), "100644 "+lengthy(r.IntN(40), 0))
		}
		name := func(s string) string { return fmt.Sprintf("%s%d", s, i) }
		base.commit(&script, name("base"), 100)
		side := map[string]sapling{}
		for _, s := range []string{"ours", "theirs"} {
			side[s] = maps.Clone(base)
			for range 1 + r.IntN(4) {
				side[s].change(r)
			}
			side[s].commit(&script, name(s), 101+r.IntN(3), name("base"))
		}
		if r.IntN(3) == 0 { // ours has merged theirs, or another way round, and both went on
			both := maps.Clone(side["theirs"])
			both.change(r)
			both.commit(&script, name("ours"), 105, name("ours"), name("theirs"))
			side["theirs"].change(r)
			side["theirs"].commit(&script, name("theirs"), 104+r.IntN(3), name("theirs"))
		}
	}
	cmd := exec.Command("git", "--git-dir="+m.Dir(), "fast-import", "--quiet", "--force")
	cmd.Stdin = strings.NewReader(script.String())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %v", out, err)
	}
	out, err := m.repo.git(t.Context(), "for-each-ref", "--format=%(refname:lstrip=2) %(objectname)")
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]queue.CommitID{}
	for line := range strings.Lines(string(out)) {
		name, id, _ := strings.Cut(strings.TrimSpace(line), " ")
		ids[name] = queue.CommitID(id)
	}
	var pairs []pair
	for i := range n {
		pairs = append(pairs, pair{ids[fmt.Sprint("ours", i)], ids[fmt.Sprint("theirs", i)]})
	}
	made := make([]merged, n)
	done := make([]bool, n)
	for i, p := range pairs {
		infos, err := m.Objects.infos(t.Context(), []queue.CommitID{p.ours, p.theirs})
		if err == nil {
			made[i], done[i], err = m.Merges.mergeHere(t.Context(), p, infos[p.ours], infos[p.theirs])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Objects.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("git", "--git-dir="+m.Dir(), "fsck", "--strict", "--no-dangling", "--no-progress").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	want, err := m.Merges.merger.merge(t.Context(), pairs)
	if err != nil {
		t.Fatal(err)
	}
	here, clean := 0, 0
	for i, w := range want {
		if w.refused != "" {
			continue // git fails on it: some versions do on some renames
		}
		if len(w.conflicts) == 0 {
			clean++
		}
		if !done[i] {
			continue
		}
		here++
		if len(w.conflicts) > 0 || made[i].tree != w.tree {
			t.Errorf("pair %d: git makes %s (conflicts %q), we %s", i, w.tree, w.conflicts, made[i].tree)
		}
	}
	t.Logf("%d of %d that merge were merged here", here, clean)
	if here < clean/2 {
		t.Errorf("only %d of %d that merge were merged here", here, clean)
	}
}
