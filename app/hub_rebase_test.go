package app_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/forge/forgetest"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation"
)

// three makes a branch of three commits by ann and bob that each change the same
// file.
func (h *hub) three(branch string, second string) (number int, heads []string) {
	h.Helper()
	for i, user := range []string{"ann", "bob", "ann"} {
		files := map[string]string{branch: fmt.Sprintf("%d\n", i)}
		if i == 1 && second != "" {
			files[second] = "x\n"
		}
		c := forgetest.Commit{Branch: branch, Message: fmt.Sprintf("part %d\n\nWhy %d.", i, i), Files: files}
		if i == 2 && second != "" {
			c.Delete = []string{second}
		}
		heads = append(heads, must(h.Commit(user, c)))
	}
	return must(h.OpenPull("ann", branch, "main", "Three parts")), heads
}

func TestRebaseLands(t *testing.T) {
	h := newHub(t, hubOptions{files: methods("method: rebase")})
	h.proven()
	n, heads := h.three("topic", "")
	h.push("ada", "main", map[string]string{"meanwhile": "m\n"})
	before := h.Head("main")
	h.Comment("ann", n, "/land")
	h.landed(n, "by rebase, as 3 commits. Each of them was verified.", "moved to the last of them")
	authors := func(from, to string) string {
		return git(t, h.Dir(), "log", "--reverse", "--format=%an %ae %ad %s", from+".."+to)
	}
	if got, want := authors(before, "main"), authors(heads[0]+"^", heads[2]); got != want {
		t.Errorf("on main\n%s\nwant\n%s", got, want)
	}
	last := git(t, h.Dir(), "log", "-1", "--format=%B", "main")
	if want := fmt.Sprintf("part 2\n\nWhy 2.\n\nChange: %s\nHead: %s", h.change(n).ID, heads[2]); last != want {
		t.Errorf("the last says\n%s\nwant\n%s", last, want)
	}
	builds := map[string]bool{}
	for _, note := range must(h.store.History(t.Context(), hubQueue, 1000)) {
		if note.What == "build-passed" || note.What == "build-asked" {
			builds[string(note.Commit)] = true
		}
	}
	for commit := range strings.FieldsSeq(git(t, h.Dir(), "rev-list", before+"..main")) {
		if !builds[commit] {
			t.Logf("builds of %v", builds)
			t.Errorf("nothing ran on %s", commit)
		}
	}
	h.green()
	h.seen()
}

// By semi-linear the commits are made anew like by rebase, and main's first-parent line has
// one more: the merge, which was verified, and which says what merges say.
func TestSemiLinearLands(t *testing.T) {
	h := newHub(t, hubOptions{files: methods("methods: [semi-linear]")})
	h.proven()
	n, heads := h.three("topic", "bad") // its second commit is red
	h.push("ada", "main", map[string]string{"meanwhile": "m\n"})
	before := h.Head("main")
	h.Comment("ann", n, "/land method=semi-linear")
	h.landed(n, "by semi-linear merge: its commits on top of `main`, and one that merges them", "moved to that commit")
	if line := git(t, h.Dir(), "rev-list", "--first-parent", before+"..main"); line != h.Head("main") {
		t.Errorf("main's line has\n%s", line)
	}
	got := git(t, h.Dir(), "log", "--reverse", "--format=%an %ae %ad %s", before+"..main^2")
	if want := git(t, h.Dir(), "log", "--reverse", "--format=%an %ae %ad %s", heads[0]+"^.."+heads[2]); got != want {
		t.Errorf("merged was\n%s\nwant\n%s", got, want)
	}
	if base := git(t, h.Dir(), "merge-base", "main^1", "main^2"); base != before {
		t.Errorf("the commits stand on %s, want %s", base, before)
	}
	want := fmt.Sprintf("Merge #%d: Three parts\n\nChange: %s\nHead: %s", n, h.change(n).ID, heads[2])
	if last := git(t, h.Dir(), "log", "-1", "--format=%B", "main"); last != want {
		t.Errorf("it says\n%s\nwant\n%s", last, want)
	}
	h.green()
	h.seen()
}

// A commit on the way that is red keeps the change from landing, however green the
// last one is; skip lets it pass, and says so.
func TestRebaseWithARedCommitOnTheWay(t *testing.T) {
	h := newHub(t, hubOptions{files: methods("methods: [rebase, squash, fast-forward]")})
	h.proven()
	before := h.Head("main")
	n, _ := h.three("topic", "bad")
	for i, method := range []string{"rebase", "fast-forward"} {
		h.Comment("ann", n, "/land method="+method)
		h.until("it is rejected by "+method, func(c *speculation.Core) bool {
			rejected := 0
			for _, ch := range c.State().Changes {
				if ch.Phase == queue.Rejected {
					rejected++
				}
			}
			return rejected == i+1
		})
		h.rejected(n, "failed in `test`", "bad is bad")
	}
	if h.Head("main") != before {
		t.Error("main has moved")
	}
	h.Comment("ann", n, "/land method=squash")
	h.landed(n)
	h.green()
}

// A commit on the way is judged by the steps in its own tree, so whoever edits them
// there, and takes it back, asks for what only an administrator allows.
func TestRebaseWithProtectedPathsOnTheWay(t *testing.T) {
	files := methods("methods: [rebase, fast-forward, squash], retries: 0")
	h := newHub(t, hubOptions{files: files})
	h.proven()
	before := h.Head("main")
	must(h.Commit("ann", forgetest.Commit{Branch: "topic", Message: "sly", Files: map[string]string{
		".submitqueue.yml": strings.Replace(files[".submitqueue.yml"], "sh ./test.sh", "echo fine", 1), "bad": "x\n"}}))
	must(h.Commit("ann", forgetest.Commit{Branch: "topic", Message: "meek", Files: map[string]string{
		".submitqueue.yml": files[".submitqueue.yml"], "a": "a\n"}, Delete: []string{"bad"}}))
	n := must(h.OpenPull("ann", "topic", "main", "Nothing to see"))
	for _, method := range []string{"rebase", "fast-forward"} {
		h.Comment("ann", n, "/land method="+method)
		h.waiting(n, "an administrator must approve this commit", "`.submitqueue.yml`")
		if h.Head("main") != before {
			t.Fatalf("main has moved by %s", method)
		}
		h.Comment("ann", n, "/land cancel")
		h.says(n, "Out of the queue")
	}
	h.Comment("ann", n, "/land method=squash")
	h.landed(n)
	h.green()
}

func TestRebaseSkips(t *testing.T) {
	h := newHub(t, hubOptions{files: methods("method: rebase, intermediate: skip")})
	h.proven()
	n, _ := h.three("topic", "bad")
	h.Comment("ann", n, "/land")
	h.landed(n, "Only the last of them was verified", "`intermediate: skip`")
}

func TestFastForwardLands(t *testing.T) {
	h := newHub(t, hubOptions{files: methods("method: fast-forward")})
	h.proven()
	n, heads := h.three("topic", "")
	h.Comment("ann", n, "/land")
	h.landed(n, "by fast-forward, as 3 commits. Each of them was verified.")
	if h.Head("main") != heads[2] {
		t.Errorf("main is at %s, want %s", h.Head("main"), heads[2])
	}
	late, _ := h.three("late", "")
	h.push("ada", "main", map[string]string{"meanwhile": "m\n"})
	h.Comment("ann", late, "/land")
	h.rejected(late, "does not stand on the branch as it is")
	h.green()
}

// The answer to the push of several commits is lost, with a forged trailer on one
// of them: main shows them, and they are the queue's.
func TestRebaseIsRecognised(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"rebase", "fast-forward"} {
		t.Run(method, func(t *testing.T) {
			h := newHub(t, hubOptions{files: methods("method: " + method)})
			h.proven()
			must(h.Commit("ann", forgetest.Commit{Branch: "topic", Message: "forged\n\nChange: 9.aaaaaaaa\nHead: " + h.Head("main"), Files: map[string]string{"a": "a\n"}}))
			must(h.Commit("ann", forgetest.Commit{Branch: "topic", Message: "second", Files: map[string]string{"a": "b\n"}}))
			n := must(h.OpenPull("ann", "topic", "main", "Forged"))
			h.paused(n)
			h.Comment("ann", n, "/land")
			h.until("it is proven", func(c *speculation.Core) bool {
				s := c.State()
				return len(s.Train) == 1 && len(s.Builds) == 0 && len(s.Links) > 0
			})
			h.boarded(n)
			h.github.Fail(forgetest.Fault{Method: "POST", Path: "/acme/shop.git/git-receive-pack", After: true, Times: 1})
			h.Comment("max", n, "/queue resume")
			h.says(n, "✅ Landed")
			h.seen()
			h.quiet() // that the branch came along may be known later
			h.says(n, "✅ Landed")
			if got := h.notes("outside"); got != 0 {
				t.Errorf("%d commits were taken for somebody else's", got)
			}
		})
	}
}

// Changes that land in each of the ways, some on top of others, in one push.
func TestMethodsMixed(t *testing.T) {
	h := newHub(t, hubOptions{files: methods("methods: [rebase, squash]")})
	h.proven()
	before := h.Head("main")
	a, _ := h.three("a", "")
	b, _ := h.three("b", "")
	c := h.pullOn("c", "b", map[string]string{"b": "c\n"})
	d, _ := h.three("d", "")
	h.paused(a)
	h.Comment("ann", a, "/land")
	h.Comment("ann", b, "/land method=rebase")
	h.Comment("ann", c, "/land method=squash")
	h.Comment("ann", d, "/land method=squash")
	h.boarded(a, b, c, d)
	h.Comment("max", a, "/queue resume")
	for _, n := range []int{a, b, c, d} {
		h.landed(n)
	}
	if got := git(t, h.Dir(), "rev-list", "--first-parent", "--count", before+"..main"); got != "6" {
		t.Errorf("%s commits on main's line, want 6", got)
	}
	if got := git(t, h.Dir(), "show", "main:b"); got != "c" {
		t.Errorf("main:b is %q", got)
	}
	h.green()
	h.seen()
	for _, n := range []int{a, b, c, d} {
		if ch := h.change(n); ch.Phase != queue.Landed || slices.Contains(ch.Verdict.Bypassed, ch.ID) {
			t.Errorf("#%d: %+v", n, ch)
		}
	}
}

// A merge of main in a branch in which its author has written something is in none
// of the other commits: by rebase it is refused, with the way out; by squash it lands.
func TestRebaseRefusesWhatAMergeHolds(t *testing.T) {
	h := newHub(t, hubOptions{files: methods("methods: [rebase, squash]")})
	h.proven()
	must(h.Commit("ann", forgetest.Commit{Branch: "topic", Message: "feature", Files: map[string]string{"feature": "f\n"}}))
	h.push("ada", "main", map[string]string{"meanwhile": "m\n"})
	h.proven()
	must(h.Commit("ann", forgetest.Commit{Branch: "topic", Message: "Merge main, and mend it", Merge: "main",
		Files: map[string]string{"meanwhile": "m\n", "fix": "x\n"}}))
	head := h.Head("topic")
	n := must(h.OpenPull("ann", "topic", "main", "Feature"))
	h.Comment("ann", n, "/land method=rebase")
	h.rejected(n, "holds a merge commit with changes of its own (fix)", "land it by squash or merge, or rebase the branch")
	if h.Head("topic") != head {
		t.Error("its branch has moved")
	}
	h.Comment("ann", n, "/land method=squash")
	h.landed(n)
	if got := git(t, h.Dir(), "show", "main:fix"); got != "x" {
		t.Errorf("main has %q", got)
	}
	h.seen()
}

// CI that verifies whatever is on a commit (covers: tree) tells of that commit only,
// not of those on the way to it.
func TestRebaseUnderCIThatCoversTheTree(t *testing.T) {
	t.Parallel()
	for _, covers := range []string{"asked", "tree"} {
		t.Run(covers, func(t *testing.T) {
			files := areasByCI()
			files[".submitqueue.yml"] += "    covers: " + covers + "\nqueue: {method: rebase}\n"
			h := newCIHub(t, files, func(p forgetest.CIPush) []forgetest.CIJob {
				if !strings.HasPrefix(p.Branch, "submitqueue/") {
					return nil
				}
				job := forgetest.CIJob{Name: "test", Conclusion: "success"}
				if p.Has("api/bad") {
					job.Conclusion = "failure"
				}
				return []forgetest.CIJob{job}
			})
			h.proven()
			before := h.Head("main")
			for i := range 3 {
				c := forgetest.Commit{Branch: "topic", Message: fmt.Sprintf("part %d", i), Files: map[string]string{"api/a": fmt.Sprint(i)}}
				switch i {
				case 1:
					c.Files["api/bad"] = "x\n"
				case 2:
					c.Delete = []string{"api/bad"}
				}
				must(h.Commit("ann", c))
			}
			n := must(h.OpenPull("ann", "topic", "main", "Three parts"))
			h.Comment("ann", n, "/land")
			h.rejected(n)
			if now := h.Head("main"); now != before {
				t.Errorf("main has moved from %s to %s", before, now)
			}
			h.seen()
		})
	}
}
