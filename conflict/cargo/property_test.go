package cargo_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/cargo"
	"github.com/submitqueue/submitqueue/conflict/conflicttest"
	"github.com/submitqueue/submitqueue/conflict/index"
	"github.com/submitqueue/submitqueue/queue"
)

// edits is a change: path → content, "" to delete.
type edits map[string]string

func (e edits) on(tree *conflicttest.Tree) *conflicttest.Tree {
	for p, content := range e {
		if content == "" {
			tree = tree.Without(p)
		} else {
			tree = tree.With(p, content)
		}
	}
	return tree
}

// randomEdits returns a change that a person might make.
func randomEdits(r *rand.Rand, base *conflicttest.Tree) edits {
	e := edits{}
	paths := base.Paths()
	for range 1 + r.IntN(2) {
		p := paths[r.IntN(len(paths))]
		n := r.IntN(12)
		switch r.IntN(9) {
		case 0:
			e[fmt.Sprintf("crates/n%d/Cargo.toml", n)] = pkg(fmt.Sprint("n", n), fmt.Sprintf("[dependencies]\nc%d.workspace = true\n", r.IntN(4)))
			e[fmt.Sprintf("crates/n%d/src/lib.rs", n)] = "//\n"
		case 1:
			e[fmt.Sprintf("crates/n%d/src/x%d.rs", n, r.IntN(3))] = "// x\n"
		case 2:
			dir := paths[r.IntN(len(paths))]
			e[dirOf(dir)+fmt.Sprintf("/new%d.rs", r.IntN(3))] = "//\n"
		case 3:
			e[p] = ""
		case 4:
			e["Cargo.toml"] = base.Content("Cargo.toml") + fmt.Sprintf("c%d_new = { path = \"crates/n%d\", package = \"n%d\" }\n", n, n, n)
		case 5:
			m := fmt.Sprintf("libs/c%d/Cargo.toml", n)
			if base.Content(m) != "" {
				e[m] = base.Content(m) + fmt.Sprintf("\n[dependencies.n%d]\npath = \"../../crates/n%d\"\n", n, n)
			}
		case 6:
			e[fmt.Sprintf("crates/c0/sub%d/Cargo.toml", n)] = pkg(fmt.Sprint("sub", n), "[workspace]\n")
		default:
			e[p] = base.Content(p) + fmt.Sprintf("\n# %d\n", r.IntN(100))
		}
	}
	return e
}

func dirOf(p string) string {
	for i := len(p) - 1; i > 0; i-- {
		if p[i] == '/' {
			return p[:i]
		}
	}
	return "top"
}

// Of two changes that do not conflict, each target of both together is as it
// is on main or with one of them: nothing that was not built.
func TestNoConflictMeansNoNewHash(t *testing.T) {
	rounds := 400
	if testing.Short() {
		rounds = 150
	}
	a := cargo.New()
	analyze := func(tree conflict.Tree) *conflict.Snapshot {
		s, err := conflict.Analyze(t.Context(), a, settings, tree)
		must(t, err)
		return s
	}
	independent := 0
	for round := range rounds {
		r := rand.New(rand.NewPCG(uint64(round), 7))
		base := conflicttest.New(generated(uint64(round % 9)))
		one, two := randomEdits(r, base), randomEdits(r, base)
		shared := false
		for p := range one {
			_, both := two[p]
			shared = shared || both
		}
		main, first, second := analyze(base), analyze(one.on(base)), analyze(two.on(base))
		if shared || main.Unknown != "" || first.Unknown != "" || second.Unknown != "" {
			continue
		}
		x := index.New()
		x.Put("1", conflict.FootprintOf(main, first, "m"))
		x.Put("2", conflict.FootprintOf(main, second, "m"))
		if x.Conflict("1", "2") {
			continue
		}
		independent++
		known := map[queue.TargetHash]bool{}
		for _, s := range []*conflict.Snapshot{main, first, second} {
			for _, h := range s.Targets() {
				known[h] = true
			}
		}
		merged := analyze(two.on(one.on(base)))
		for _, h := range merged.Targets() {
			if !known[h] {
				t.Errorf("round %d: %s was never built: %v | %v %s", round, h.Target, one, two, merged.Unknown)
			}
		}
	}
	if independent < rounds/10 {
		t.Errorf("only %d of %d pairs were independent", independent, rounds)
	}
	t.Logf("%d of %d pairs were independent", independent, rounds)
}
