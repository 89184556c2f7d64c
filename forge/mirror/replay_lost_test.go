package mirror_test

import (
	"archive/tar"
	"flag"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/storetest"
)

// history is a random history of a repository: main, a branch, and a side branch
// that both may merge.
type history struct {
	*repo
	t    *rapid.T
	main []queue.CommitID
	held map[queue.CommitID]map[string]string // what is known to be in commits
	n    int
}

// Few files of few lines, so that edits meet.
const (
	historyFiles = 3
	historyLines = 24
)

func (h *history) trees(c queue.CommitID) map[string]string {
	if known, ok := h.held[c]; ok {
		return known
	}
	out := map[string]string{}
	h.held[c] = out
	for r := tar.NewReader(strings.NewReader(h.run("", "archive", "--format=tar", string(c)))); ; {
		file, err := r.Next()
		if err != nil {
			return out
		}
		text, _ := io.ReadAll(r)
		if file.Typeflag == tar.TypeReg {
			out[file.Name] = string(text)
		}
	}
}

// edit makes a change of one kind to what a commit holds.
func (h *history) edit(at queue.CommitID) files {
	h.n++
	now := h.trees(at)
	var paths []string
	for p := range now {
		paths = append(paths, p)
	}
	slices.Sort(paths)
	path := rapid.SampledFrom(paths).Draw(h.t, "path")
	switch rapid.SampledFrom([]string{"line", "line", "line", "add", "rename", "delete", "same"}).Draw(h.t, "edit") {
	case "add":
		return files{fmt.Sprintf("new%d", h.n): fmt.Sprintf("%d\n", h.n)}
	case "rename":
		return files{path: "-", fmt.Sprintf("moved%d", h.n): now[path]}
	case "delete":
		if len(paths) > 2 {
			return files{path: "-"}
		}
	case "same": // what others may write, too
		return files{"common": fmt.Sprintf("%d\n", rapid.IntRange(0, 2).Draw(h.t, "common"))}
	}
	text := strings.Split(now[path], "\n")
	text[rapid.IntRange(0, len(text)-1).Draw(h.t, "line")] = fmt.Sprintf("edit %d", h.n)
	return files{path: strings.TrimSuffix(strings.Join(text, "\n"), "\n") + "\n"}
}

// make makes a commit that holds what its first parent holds, with a change.
func (h *history) make(message string, change files, parents ...queue.CommitID) queue.CommitID {
	var b strings.Builder
	fmt.Fprintf(&b, "commit refs/heads/made\nmark :1\ncommitter A <a@x> 1700000000 +0000\ndata %d\n%s\n", len(message), message)
	if len(parents) == 0 {
		b.Reset()
		fmt.Fprintf(&b, "reset refs/heads/made\ncommit refs/heads/made\nmark :1\ncommitter A <a@x> 1700000000 +0000\ndata %d\n%s\n", len(message), message)
	}
	for i, p := range parents {
		fmt.Fprintf(&b, "%s %s\n", []string{"from", "merge"}[min(i, 1)], p)
	}
	for path, content := range change {
		if content == "-" {
			fmt.Fprintf(&b, "D %s\n", path)
			continue
		}
		fmt.Fprintf(&b, "M 100644 inline %s\ndata %d\n%s\n", path, len(content), content)
	}
	made := queue.CommitID(h.run(b.String()+"get-mark :1\n", "fast-import", "--quiet", "--force"))
	now := map[string]string{}
	if len(parents) > 0 {
		now = maps.Clone(h.trees(parents[0]))
	}
	for path, content := range change {
		if now[path] = content; content == "-" {
			delete(now, path)
		}
	}
	h.held[made] = now
	return made
}

// whole is git's own merge of two commits: a tree, or "" where they conflict.
func (h *history) whole(ours, theirs queue.CommitID) string {
	out, err := exec.Command("git", "--git-dir="+h.dir, "-c", "merge.directoryRenames=false", "merge-tree", "--write-tree", string(ours), string(theirs)).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

// take makes the tree of a commit of this repository the content of a new one.
func (h *history) take(tree, message string, change files, parents ...queue.CommitID) queue.CommitID {
	args := []string{"commit-tree", tree, "-m", message}
	for _, p := range parents {
		args = append(args, "-p", string(p))
	}
	c := queue.CommitID(h.run("", args...))
	if len(change) == 0 {
		return c
	}
	made := h.make(message, change, c)
	return queue.CommitID(h.run("", append([]string{"commit-tree", string(made) + "^{tree}"}, args[2:]...)...))
}

// grow goes on from a commit by one step of those that authors take.
func (h *history) grow(at, start queue.CommitID) queue.CommitID {
	switch kind := rapid.SampledFrom([]string{"edit", "edit", "edit", "merge", "evil", "evil", "ours", "revert", "empty", "octopus", "pick"}).Draw(h.t, "step"); kind {
	case "merge", "evil", "ours":
		with := rapid.SampledFrom(h.main).Draw(h.t, "of main")
		if h.run("", "rev-list", "--max-count=1", string(with), "^"+string(at)) == "" {
			break // it has that already
		}
		tree := h.whole(at, with)
		var own files
		if kind == "evil" {
			own = h.edit(at)
		}
		if tree == "" || kind == "ours" { // settled for the branch
			tree = h.run("", "rev-parse", string(at)+"^{tree}")
		}
		return h.take(tree, kind, own, at, with)
	case "revert":
		if at != start {
			before := h.run("", "rev-parse", string(at)+"^")
			return h.take(h.run("", "rev-parse", before+"^{tree}"), "revert", nil, at)
		}
	case "empty":
		return h.take(h.run("", "rev-parse", string(at)+"^{tree}"), "empty", nil, at)
	case "octopus":
		one, two := h.make("one", h.edit(at), at), h.make("two", files{fmt.Sprintf("arm%d", h.n): "arm\n"}, at)
		if tree := h.whole(one, two); tree != "" {
			return h.take(tree, "octopus", nil, at, one, two)
		}
	case "pick": // what main has, in another commit
		with := rapid.SampledFrom(h.main).Draw(h.t, "picked")
		if text, ok := h.trees(with)["common"]; ok {
			return h.make("pick", files{"common": text}, at)
		}
	}
	return h.make("edit", h.edit(at), at)
}

// drawHistory draws a repository whose head has up to six steps of its own.
func drawHistory(t *rapid.T, r *repo) (h *history, main, head queue.CommitID) {
	h = &history{repo: r, t: t, held: map[queue.CommitID]map[string]string{}}
	base := files{}
	for i := range historyFiles {
		base[fmt.Sprintf("f%d", i)] = lines(historyLines, nil)
	}
	h.main = []queue.CommitID{h.make("base", base)}
	for range rapid.IntRange(0, 2).Draw(t, "main before") {
		last := h.main[len(h.main)-1]
		h.main = append(h.main, h.make("main", h.edit(last), last))
	}
	start := h.main[len(h.main)-1]
	for range rapid.IntRange(0, 2).Draw(t, "main after") {
		last := h.main[len(h.main)-1]
		h.main = append(h.main, h.make("main", h.edit(last), last))
	}
	main, head = h.main[len(h.main)-1], start
	for range rapid.IntRange(1, 6).Draw(t, "steps") {
		head = h.grow(head, start)
	}
	h.run("update refs/heads/main "+string(main)+"\nupdate refs/heads/topic "+string(head)+"\n", "update-ref", "--stdin")
	return h, main, head
}

// fewer has rapid draw n times where nobody has asked for another number: what is
// drawn takes some twenty processes.
func fewer(t *testing.T, n int) {
	t.Helper()
	if f := flag.Lookup("rapid.checks"); f.Value.String() == f.DefValue {
		mustNot(t, f.Value.Set(strconv.Itoa(n)))
		t.Cleanup(func() { mustNot(t, f.Value.Set(f.DefValue)) })
	}
}

func mustNot(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// For any history and method: once a head has landed, the branch holds the content
// of the merge of the head onto it.
func TestNothingIsLost(t *testing.T) {
	t.Parallel()
	fewer(t, 40)
	tally := map[string]int{}
	r, m := newRepo(t), openMirror(t)
	rapid.Check(t, func(rt *rapid.T) {
		h, main, head := drawHistory(rt, r)
		r.fetch(m, "main", "topic")
		linear := h.run("", "rev-list", "--min-parents=2", string(head), "^"+string(main)) == ""
		want := h.whole(main, head)
		for name, p := range map[string]mirror.Pick{"merge": {}, "squash": {Squash: true}, "rebase": {Rebase: true}, "semi-linear": {Rebase: true, Joined: true}, "fast-forward": {FastForward: true}} {
			p.Parent, p.Head, p.Message = main, head, "land\n\nChange: 1.aa\nHead: "+string(head)+"\n"
			got := must(m.Merges.MergeWave(t.Context(), []mirror.Pick{p}))(t)[0]
			switch {
			case got.Clean() && string(got.Tree) == want:
				tally[name+" lands"]++
			case got.Clean() && want == "" && linear && p.Rebase:
				tally["rebase of what is there already"]++
			case got.Clean():
				rt.Fatalf("%s: the tree is %s, and that of the merge is %q\n%s", name, got.Tree, want, h.run("", "log", "--graph", "--oneline", string(main), string(head)))
			case got.Refused != "":
				tally[name+" refused"]++
			default:
				tally[name+" conflicts"]++
			}
		}
	})
	t.Log(tally)
	if !storetest.Required("long") { // of a sample, a kind may be missing
		return
	}
	for _, kind := range []string{"merge lands", "squash lands", "rebase lands", "semi-linear lands", "fast-forward lands"} {
		if tally[kind] == 0 {
			t.Errorf("no history in which %s", kind)
		}
	}
}

// A head on top of one that has landed by squash brings all that it adds to
// that one, and nothing else, by squash and by rebase.
func TestNothingIsLostOfAStack(t *testing.T) {
	storetest.OneOf(t, 2)
	t.Parallel()
	fewer(t, 20)
	r, m := newRepo(t), openMirror(t)
	tally := map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		h, main, low := drawHistory(rt, r)
		head := low
		for range rapid.IntRange(1, 3).Draw(rt, "steps on top") {
			head = h.grow(head, low)
		}
		h.run("update refs/heads/high "+string(head)+"\n", "update-ref", "--stdin")
		r.fetch(m, "main", "topic", "high")
		landed := must(m.Merges.MergeWave(t.Context(), []mirror.Pick{{Parent: main, Head: low, Squash: true, Message: "low\n"}}))(t)[0]
		if !landed.Clean() || landed.Empty {
			return
		}
		flush(t, m)
		here := &history{repo: &repo{t, m.Dir()}, t: rt}
		shadow := here.run("", "commit-tree", string(landed.Tree), "-m", "shadow", "-p", string(landed.Commit), "-p", string(low))
		want := here.whole(queue.CommitID(shadow), head)
		linear := here.run("", "rev-list", "--min-parents=2", string(head), "^"+string(main), "^"+string(low)) == ""
		for name, p := range map[string]mirror.Pick{"squash": {Squash: true}, "rebase": {Rebase: true}} {
			p.Parent, p.Head, p.Below, p.Message = landed.Commit, head, low, "land\n"
			got := must(m.Merges.MergeWave(t.Context(), []mirror.Pick{p}))(t)[0]
			switch {
			case got.Clean() && string(got.Tree) == want:
				tally[name+" lands"]++
			case got.Clean() && (want != "" || name != "rebase" || !linear):
				rt.Fatalf("%s: the tree is %s, and that of what it adds is %q\n%s", name, got.Tree, want, here.run("", "log", "--graph", "--oneline", string(landed.Commit), string(head)))
			}
		}
	})
	t.Log(tally)
	if storetest.Required("long") && (tally["squash lands"] == 0 || tally["rebase lands"] == 0) {
		t.Error("nothing has landed")
	}
}
