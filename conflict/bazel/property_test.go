package bazel_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/bazel"
	"github.com/submitqueue/submitqueue/conflict/checkout"
	"github.com/submitqueue/submitqueue/conflict/conflicttest"
	"github.com/submitqueue/submitqueue/queue/storetest"
)

// edits are random changes of a repository of packages p0 to p5, each with a
// file of macros that loads the one of the package before.
func edit(r *rand.Rand, t *conflicttest.Tree) *conflicttest.Tree {
	p := r.IntN(6)
	dir := fmt.Sprintf("p%d", p)
	switch r.IntN(7) {
	case 0:
		return t.With(fmt.Sprintf("%s/f%d.txt", dir, r.IntN(3)), fmt.Sprint(r.IntN(3)))
	case 1:
		return t.Without(fmt.Sprintf("%s/f%d.txt", dir, r.IntN(3)))
	case 2:
		return t.With(dir+"/m.bzl", macros(p, r.IntN(3)))
	case 3:
		return t.With(dir+"/BUILD", build(p, r.IntN(6), r.IntN(2) == 0))
	case 4:
		return t.With(dir+"/sub/BUILD", fmt.Sprintf("filegroup(name = \"s\", srcs = [\"%d.txt\"])\n", r.IntN(2)))
	case 5:
		return t.Without(dir + "/sub/BUILD")
	default:
		return t.With(dir+"/sub/g.txt", fmt.Sprint(r.IntN(3)))
	}
}

func macros(p, tag int) string {
	text := "B = []\n"
	if p > 0 {
		text = fmt.Sprintf("load(\"//p%d:m.bzl\", B = \"T\")\n", p-1)
	}
	return text + fmt.Sprintf("T = B[:1] + [\"t%d\"]\ndef lib(name, **kw):\n    native.filegroup(name = name, tags = T, **kw)\n", tag)
}

func build(p, dep int, globs bool) string {
	srcs := "[\"f0.txt\"]"
	if globs {
		srcs = "glob([\"**/*.txt\"])"
	}
	return fmt.Sprintf("load(\":m.bzl\", \"lib\")\nlib(name = \"l\", srcs = %s + [\"//p%d:l\", \"//p%d/sub:s\"])\n", srcs, dep, p)
}

func packages() *conflicttest.Tree {
	files := map[string]string{"WORKSPACE": ""}
	for p := range 6 {
		files[fmt.Sprintf("p%d/m.bzl", p)] = macros(p, 0)
		files[fmt.Sprintf("p%d/BUILD", p)] = build(p, (p+1)%6, p%2 == 0)
		files[fmt.Sprintf("p%d/f0.txt", p)] = ""
	}
	return conflicttest.New(files)
}

// The analyzer's memory gives the graph that Bazel gives when it is asked for
// all.
func TestRememberedIsFresh(t *testing.T) {
	b := mustOpen(t)
	r := rand.New(rand.NewPCG(3, 4))
	tree, edits := packages(), 5
	if storetest.Required("long") {
		edits = 12
	}
	for range edits {
		for range 1 + r.IntN(3) {
			tree = edit(r, tree)
		}
		remembered, fresh := b.know(tree), b.fresh().know(tree)
		f := conflict.FootprintOf(fresh, remembered, "main")
		if f.All || len(f.Write)+len(f.Read)+len(f.Affected) > 0 {
			t.Fatalf("they differ: %+v", f)
		}
	}
}

// Two checkouts of one tree give the same hashes.
func TestTwoCheckouts(t *testing.T) {
	b, main := mustOpen(t), shop()
	p, err := checkout.Open(filepath.Join(t.TempDir(), "other"), checkout.Options{Size: 1})
	must(t, err)
	other := bench{t, bazel.New(0, p), p}.know(main)
	must(t, p.Close())
	if f := conflict.FootprintOf(b.know(main), other, "main"); f.All || len(f.Write) > 0 {
		t.Errorf("they differ: %+v", f)
	}
}

// An edit of a source affects the targets that depend on it by Bazel's query.
func TestAgainstRdeps(t *testing.T) {
	b, main := mustOpen(t), layers(60, 12)
	main = main.With("defs.bzl", "def lib(name, srcs, deps):\n    native.filegroup(name = name, srcs = srcs + deps)\n") // which needs nothing from elsewhere
	before := b.know(main)
	d, err := b.pool.Checkout(t.Context(), main, nil)
	must(t, err)
	defer d.Release()
	keep, err := d.Keep(bazel.Name, nil)
	must(t, err)
	changed := map[int][]string{}
	for _, i := range []int{0, 1, 7, 30, 59} {
		argv := []string{"bazel", "--nohome_rc", "--noworkspace_rc", "--output_user_root=" + keep + "/root", "--output_base=" + keep + "/base",
			"--host_jvm_args=-Xmx1g", "--max_idle_secs=900", "query", "--noshow_progress", fmt.Sprintf("kind(rule, rdeps(//..., //p%d:r%d.cc))", i*12/60, i)}
		out, err := d.Run(t.Context(), checkout.Program{Argv: argv, Dir: d.Tree})
		must(t, err)
		changed[i] = strings.Fields(string(out))
	}
	d.Release()
	for i, want := range changed {
		f := conflict.FootprintOf(before, b.know(main.With(fmt.Sprintf("p%d/r%d.cc", i*12/60, i), "1")), "main")
		slices.Sort(want)
		if got := slices.Sorted(slices.Values(f.Affected)); !slices.Equal(got, want) {
			t.Errorf("r%d.cc: affected %q, Bazel says %q", i, got, want)
		}
	}
}
