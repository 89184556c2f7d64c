package cargo_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/cargo"
	"github.com/submitqueue/submitqueue/conflict/conflicttest"
	"github.com/submitqueue/submitqueue/conflict/index"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// A target that neither change sees alone must be a conflict: the merged graph
// has something that is in neither of theirs.
func TestWhatTwoChangesMakeTogether(t *testing.T) {
	base := conflicttest.New(workspace)
	root := base.Content("Cargo.toml")
	member := func(more string) *conflicttest.Tree {
		return base.With("Cargo.toml", replace(t, root, `"tools/gen"`, `"tools/gen", `+more))
	}
	edge := func(from, path string) *conflicttest.Tree {
		p := from + "/Cargo.toml"
		return base.With(p, base.Content(p)+"\n[dependencies.x]\npackage = \"new\"\npath = \""+path+"\"\n")
	}
	newCrate := func(dir, name string) *conflicttest.Tree {
		return base.With(dir+"/Cargo.toml", pkg(name, "")).With(dir+"/src/lib.rs", "")
	}
	for name, tt := range map[string]struct {
		a, b *conflicttest.Tree
		want bool
	}{
		"each adds a crate":                        {newCrate("crates/n1", "n1"), newCrate("crates/n2", "n2"), false},
		"both add one of a name":                   {newCrate("crates/n1", "new"), newCrate("crates/n2", "new"), true},
		"one depends on what the other adds":       {edge("tools/gen", "../../libs/new"), newCrate("libs/new", "new"), true},
		"one depends on what the other edits":      {edge("libs/helper", "../plain"), base.With("libs/plain/src/lib.rs", "x"), true},
		"one depends on what the other deletes":    {edge("libs/helper", "../plain"), base.Without("libs/plain"), true},
		"one adds a glob, the other its match":     {member(`"extra/*"`), newCrate("extra/two", "two"), true},
		"each adds a member by name":               {member(`"m1"`).With("m1/Cargo.toml", pkg("m1", "")), member(`"m2"`).With("m2/Cargo.toml", pkg("m2", "")), false},
		"one drops the glob that the other needs":  {base.With("Cargo.toml", replace(t, root, `"crates/*", `, "")), newCrate("crates/n1", "n1"), true},
		"one excludes what the other adds":         {base.With("Cargo.toml", replace(t, root, `exclude = [`, `exclude = ["crates/n1", `)), newCrate("crates/n1", "n1"), true},
		"one takes what the other changes":         {base.With("Cargo.toml", replace(t, root, `"libs/helper",`, `"libs/helper", version = "0.1",`)), newCrate("crates/n1", "n1").With("crates/n1/Cargo.toml", pkg("n1", "[dependencies]\nhelp.workspace = true\n")), true},
		"a nested crate and a file of it":          {base.With("crates/base/new/Cargo.toml", "[workspace]\n"+pkg("nested", "")), base.With("crates/base/new/data.txt", ""), true},
		"a nested workspace over a new crate":      {base.With("crates/Cargo.toml", "[workspace]\n"), newCrate("crates/n1", "n1"), true},
		"a new test of one, a library of another":  {base.With("libs/plain/tests/n.rs", ""), base.With("libs/helper/src/lib.rs", "x"), false},
		"a circle that two changes close":          {edge("libs/helper", "../plain"), edge("libs/plain", "../helper"), true},
		"profiles under a new crate":               {base.With("Cargo.toml", root+"opt-level = 1\n"), newCrate("crates/n1", "n1"), true},
		"a shared dependency and an unrelated one": {base.With("libs/plain/src/lib.rs", "x"), base.With("crates/odd/Cargo.toml", base.Content("crates/odd/Cargo.toml")+"\n[features]\nf = []\n"), false},
	} {
		main := mustAnalyze(t, settings, base)
		x := index.New()
		for id, tree := range map[queue.ChangeID]conflict.Tree{"a": tt.a, "b": tt.b} {
			snap := mustAnalyze(t, settings, tree)
			if snap.Unknown != "" {
				t.Errorf("%s: %s: %s", name, id, snap.Unknown)
			}
			x.Put(id, conflict.FootprintOf(main, snap, "m"))
		}
		if got := x.Conflict("a", "b"); got != tt.want {
			t.Errorf("%s: conflict %v", name, got)
		}
	}
}

// An analyzer that has seen other trees says what a fresh one says.
func TestCachesChangeNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	old := cargo.New()
	for seed := range uint64(4) {
		tree := conflicttest.New(generated(seed))
		for range 25 {
			tree = edited(r, tree)
			got, err := conflict.Analyze(t.Context(), old, settings, tree)
			must(t, err)
			want := mustAnalyze(t, settings, tree)
			if d := cmp.Diff(want.Targets(), got.Targets()); d != "" || want.Unknown != got.Unknown {
				t.Fatalf("%q, %q: %s", want.Unknown, got.Unknown, d)
			}
		}
	}
}

func edited(r *rand.Rand, tree *conflicttest.Tree) *conflicttest.Tree {
	paths := tree.Paths()
	p := paths[r.IntN(len(paths))]
	switch r.IntN(6) {
	case 0:
		return tree.Without(p)
	case 1:
		return tree.With(strings.TrimSuffix(p, "/Cargo.toml")+"_x/y.rs", "// y")
	case 2:
		return tree.With(p, tree.Content(paths[r.IntN(len(paths))]))
	}
	return tree.With(p, tree.Content(p)+fmt.Sprintf("\n# %d\n", r.IntN(9)))
}

func TestEveryFileIsInAKey(t *testing.T) {
	steps := []config.Step{{Name: "unit", Run: "cargo test -p {targets}", Scope: config.ScopeTargets}}
	for _, files := range []map[string]string{workspace, locked, generated(3), generated(4)} {
		for _, s := range []config.Analysis{{}, settings} {
			base := conflicttest.New(files)
			main := mustAnalyze(t, s, base)
			if main.Unknown != "" {
				t.Fatal(main.Unknown)
			}
			for _, path := range base.Paths() {
				change := mustAnalyze(t, s, base.With(path, base.Content(path)+"\n[zzz]\nx = 1\n"))
				if len(conflict.Keys(main, change, steps, steps)) == 0 {
					t.Errorf("%+v: editing %s asks for no key", s, path)
				}
			}
		}
	}
}

// BenchmarkGraph analyzes 2,000 crates of four files, all read before.
func BenchmarkGraph(b *testing.B) {
	a, tree := cargo.New(), conflicttest.New(manyCrates(2000))
	b.ReportAllocs()
	for b.Loop() {
		snap, err := conflict.Analyze(b.Context(), a, config.Analysis{}, tree)
		must(b, err)
		if len(snap.Targets()) != 2000 {
			b.Fatalf("%d targets: %s", len(snap.Targets()), snap.Unknown)
		}
	}
}

// BenchmarkGraphCold is the same for an analyzer that has read nothing.
func BenchmarkGraphCold(b *testing.B) {
	tree := conflicttest.New(manyCrates(2000))
	b.ReportAllocs()
	for b.Loop() {
		_, err := conflict.Analyze(b.Context(), cargo.New(), config.Analysis{}, tree)
		must(b, err)
	}
}

// manyCrates returns a workspace of crates in layers, each on up to five
// others and two of 500 external packages.
func manyCrates(n int) map[string]string {
	files := map[string]string{"Cargo.toml": "[workspace]\nmembers = [\"crates/*\"]\n"}
	lock := strings.Builder{}
	lock.WriteString(lockHead)
	for i := range n {
		dir := fmt.Sprintf("crates/c%04d", i)
		deps, names := "[dependencies]\n", []string{}
		for k := 5; k >= 1; k-- {
			if i >= k*k {
				deps += fmt.Sprintf("c%04d = { path = \"../c%04d\" }\n", i-k*k, i-k*k)
				names = append(names, fmt.Sprintf("c%04d", i-k*k))
			}
		}
		for _, j := range []int{i % 250, i%250 + 250} {
			deps += fmt.Sprintf("e%03d = \"1\"\n", j)
			names = append(names, fmt.Sprintf("e%03d", j))
		}
		files[dir+"/Cargo.toml"] = pkg(fmt.Sprintf("c%04d", i), deps)
		for _, f := range []string{"src/lib.rs", "src/part.rs", "tests/it.rs"} {
			files[dir+"/"+f] = "pub fn f() { println!(\"x/y\"); }\n"
		}
		lock.WriteString(entry(fmt.Sprintf("c%04d", i), "0.1.0", "", names...))
	}
	for j := range 500 {
		var deps []string
		if j > 2 {
			deps = []string{fmt.Sprintf("e%03d", j/2)}
		}
		lock.WriteString(entry(fmt.Sprintf("e%03d", j), "1.0.0", registry+"checksum = \"x\"\n", deps...))
	}
	files["Cargo.lock"] = lock.String()
	return files
}
