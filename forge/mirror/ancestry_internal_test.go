package mirror

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/submitqueue/submitqueue/queue"
)

// grownHistory is a random history: main gains merges of branches that begin anywhere,
// have main or each other merged in, or have a root of their own.
type grownHistory struct {
	dir     string
	in      strings.Builder
	commits int
}

func (h *grownHistory) commit(ref string, date int, parents ...int) int {
	h.commits++
	fmt.Fprintf(&h.in, "commit refs/heads/%s\nmark :%d\ncommitter A <a@x> %d +0000\ndata 1\nx\n", ref, h.commits, date)
	for i, p := range parents {
		fmt.Fprintf(&h.in, "%s :%d\n", []string{"from", "merge"}[min(i, 1)], p)
	}
	return h.commits
}

func (h *grownHistory) git(t *rapid.T, stdin string, args ...string) string {
	cmd := exec.Command("git", append([]string{"--git-dir=" + h.dir}, args...)...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.Output()
	if err != nil && cmd.ProcessState.ExitCode() != 1 { // merge-base: there is none
		t.Fatalf("git %v: %v", args, err)
	}
	return string(out)
}

// The merge base that an ancestry finds is git's, whatever the history, and it finds
// those of changes that began on the line.
func TestAncestryFindsGitsMergeBase(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	tries, found := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		tries++
		h := &grownHistory{dir: filepath.Join(root, fmt.Sprint(tries))}
		m, err := Open(ctx, h.dir)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		pick := func(n int, what string) int { return rapid.IntRange(0, n-1).Draw(t, what) }
		date := func() int { return 1_700_000_000 + pick(5, "date") } // clocks are wrong
		line := []int{h.commit("r0", date())}
		all := []int{line[0]}
		grow := func() {
			tip := line[len(line)-1]
			from := all[pick(len(all), "from")]
			own := []int{}
			for i := range 1 + pick(3, "own") {
				parents := []int{from}
				switch pick(8, "kind") {
				case 0:
					parents = append(parents, all[pick(len(all), "merged")])
				case 1:
					parents = append(parents, tip)
				case 2:
					if i == 0 {
						parents = nil
					}
				}
				if len(parents) == 2 && parents[1] == from {
					parents = parents[:1]
				}
				from = h.commit(fmt.Sprint("b", h.commits), date(), parents...)
				own = append(own, from)
			}
			all = append(all, own...)
			if pick(3, "lands") > 0 && from != tip {
				line = append(line, h.commit(fmt.Sprint("r", h.commits), date(), tip, from))
				all = append(all, line[len(line)-1])
			}
		}
		for range 1 + pick(6, "steps before") {
			grow()
		}
		known := []int{}
		for range 1 + pick(4, "looks") {
			known = append(known, line[len(line)-1])
			for range pick(5, "steps") {
				grow()
			}
		}
		marks := filepath.Join(h.dir, "marks")
		h.git(t, h.in.String(), "fast-import", "--quiet", "--force", "--export-marks="+marks)
		ids := map[int]queue.CommitID{}
		for text := range strings.Lines(h.git(t, "", "for-each-ref", "--format=%(refname) %(objectname)")) {
			var n int
			name, id, _ := strings.Cut(strings.TrimSpace(text), " ")
			if _, err := fmt.Sscanf(name[len("refs/heads/")+1:], "%d", &n); err != nil {
				t.Fatal(err)
			}
			ids[n+1] = queue.CommitID(id)
		}
		for i, tip := range known {
			m.History.noteBranch("main", ids[tip])
			if i == 0 { // what came before is not read, as of a long history
				first, err := m.Objects.info(ctx, ids[tip])
				if err != nil {
					t.Fatal(err)
				}
				if pick(2, "long") == 0 {
					m.History.ancestries.by["main"] = &ancestry{line: []queue.CommitID{ids[tip]}, since: map[queue.CommitID]int{ids[tip]: 0}, whole: len(first.parents) == 0}
				}
			}
			for range 10 {
				ours, theirs := ids[all[pick(len(all), "ours")]], ids[all[pick(len(all), "theirs")]]
				if pick(2, "on the tip") == 0 {
					ours = ids[tip]
				}
				want := strings.Fields(h.git(t, "", "merge-base", "--all", string(ours), string(theirs)))
				base, ok, err := m.History.ancestries.base(ctx, m.History, ours, theirs)
				if err != nil || ok && (len(want) != 1 || want[0] != string(base)) {
					t.Fatalf("the base of %s and %s is %s, %v; git says %v", ours, theirs, base, err, want)
				}
				if ok {
					found++
				}
				if base, ok, err := m.History.mergeBase(ctx, ours, theirs); err != nil || ok && (len(want) != 1 || want[0] != string(base)) {
					t.Fatalf("the base of %s and %s is %s, %v, %v; git says %v", ours, theirs, base, ok, err, want)
				}
			}
		}
	})
	if found < tries*5 {
		t.Errorf("%d bases were found in %d histories", found, tries)
	}
}
