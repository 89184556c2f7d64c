package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/submitqueue/submitqueue/queue/storetest"
)

// A door is something that only the functions with these names may do. gate.go of
// package speculation says what the gate trusts; these lists hold it to that. A
// function that is new here is a new way to a red main, to a verdict without
// evidence, or to somebody's branch: it had better be one of those below that does it.
type door struct {
	does  string
	finds func(info *types.Info, n ast.Node) bool
	may   map[string]string // the functions, and what for
}

var doors = []door{
	{"writes what has passed into an entry of the ledger", writesField("queue.Entry", "ID", "Keys", "Passed", "Confirmed", "Lost"), map[string]string{
		"speculation.judging.writePass":     "what a build of ours was asked for, or what a pass that covers the tree shows of its commit",
		"speculation.judging.excuseAs":      "what has failed in quarantine, on main as it is and in the commit that has the key, while that lasts",
		"speculation.judging.entry":         "a new entry, in which nothing has passed",
		"speculation.judging.revoke":        "it is to count no more",
		"speculation.judging.unprove":       "main has failed it since, at the same hash",
		"speculation.judging.revokeDrifted": "a copy of one, as if it had never passed",
		"speculation.judging.opaque":        "of a set, in which nothing passes",
		"app.passes.translate":              "what has passed under the analyzer's former version, where the commit that it ran on has the key under this one",
	}},
	{"puts an entry into the ledger", putsInto("queue.State", "Ledger"), map[string]string{
		"speculation.judging.entry":        "a new one",
		"speculation.judging.opaque":       "a new one of a set, for what fails without a name",
		"speculation.judging.readArchived": "a pass that the archive has kept",
	}},
	{"puts an entry into the archive", writesField("speculation.Turn", "Archive"), map[string]string{
		"speculation.judging.writePass": "what has passed in a build",
		"speculation.judging.unprove":   "that it has failed since",
		"speculation.mainline.prove":    "what has passed under the analyzer's former version",
	}},
	{"has a ref at the forge moved", calls("forge/mirror", "Push", "PushHeads", "Delete"), map[string]string{
		"app.pusher.pushMain":        "the target branch, along a chain that the gate has let pass",
		"app.pusher.pushHeads":       "branches of pull requests, to what lands of them, or back",
		"app.publisher.deleteBranch": "the branch of a pull request that has landed",
	}},
	{"has a branch of our own moved", calls("forge/mirror", "Stage", "Unstage"), map[string]string{
		"app.pusher.landChecked":  "what is about to land is shown to the forge, and taken away again",
		"app.commits.stageRevert": "the proven revert of a culprit, while no pull request of that branch is open",
	}},
	{"has refs of our own moved", calls("workers/forgeci", "Push"), map[string]string{
		"workers/forgeci.Controller.pushBatch": "refs that CI runs on",
		"workers/forgeci.Controller.begin":     "such a ref is taken away, so that its next push starts a pipeline",
	}},
	{"runs git push", saysPush, map[string]string{
		"forge/mirror.Remotes.Push":     "the target branch, with the lease on what it was",
		"forge/mirror.Remotes.pushEach": "each with its lease, and never main",
		"forge/mirror.Remotes.Delete":   "with the lease on what it was",
		"forge/mirror.Remotes.stageAll": "refs of our own",
		"forge/mirror.TrialPush":        "new branches of our own (submitqueue/) without content, for doctor, where a person has asked for it",
	}},
	{"writes the phase of a change", writesField("queue.Change", "Phase"), map[string]string{
		"speculation.Core.move": "the table of moves (speculation/phase.go) has it",
	}},
	{"makes a view of a core", calls("speculation", "Queue", "View", "PullView"), map[string]string{
		"app.Owner.show":                             "what is published for all who read, by the loop of turns",
		"app.Owner.detail":                           "the same of a change that somebody looks at",
		"app.publisher.publish":                      "what a comment and a check say; an action waits for turns, a request does not",
		"app.site.tell":                              "what the check of the branch says",
		"speculation.Core.PullView":                  "the view of a pull request is that of its change",
		"cmd/submitqueue/demo/live.demoStack.proven": "the demo looks at its own server from inside",
		"cmd/submitqueue/demo/live.demoStack.Rows":   "the same",
	}},
	{"gives a verdict", callsWith("decide", "Landed", "Rejected", "NothingToLand"), map[string]string{
		"speculation.settling.landed": "the door of landings: main shows it, or our push has moved main to it",
		"speculation.settling.reject": "the door of rejections: facts on the real main of this moment, which is not to blame itself",
	}},
}

// TestDoors: passes, refs that are not ours, and verdicts are written where they
// were written, and nowhere else.
func TestDoors(t *testing.T) {
	storetest.OneOf(t, 2)
	found := map[string]map[string]bool{}
	for _, p := range mustCheck(t) {
		for _, f := range p.files {
			for _, decl := range f.Decls {
				in := functionOf(p.name, decl)
				ast.Inspect(decl, func(n ast.Node) bool {
					for _, d := range doors {
						if n != nil && d.finds(p.info, n) {
							if found[d.does] == nil {
								found[d.does] = map[string]bool{}
							}
							found[d.does][in] = true
						}
					}
					return true
				})
			}
		}
	}
	for _, d := range doors {
		for _, in := range slices.Sorted(maps.Keys(found[d.does])) {
			if d.may[in] == "" {
				t.Errorf("%s %s. Have one of these do it, or say here and in speculation/gate.go why it must: %s", in, d.does, strings.Join(slices.Sorted(maps.Keys(d.may)), ", "))
			}
		}
		for _, in := range slices.Sorted(maps.Keys(d.may)) {
			if !found[d.does][in] {
				t.Errorf("%s no longer %s: take it off the list", in, d.does)
			}
		}
	}
}

// The files that gate.go says the gate trusts are there.
func TestTheGateNamesFilesThatAreThere(t *testing.T) {
	root := filepath.Join("..", "..")
	src, err := os.ReadFile(filepath.Join(root, "speculation", "gate.go"))
	if err != nil {
		t.Fatal(err)
	}
	files := regexp.MustCompile(`[a-z]+/[a-z_/]+\.go`).FindAllString(string(src), -1)
	if len(files) < 20 {
		t.Errorf("it names %v only", files)
	}
	for _, f := range files {
		if _, err := os.Stat(filepath.Join(root, f)); err != nil {
			t.Error(err)
		}
	}
}

// checked is a package whose types are known.
type checked struct {
	name  string // from the top of the module
	files []*ast.File
	names []string // of the files
	info  *types.Info
}

// mustCheck returns the packages of the program, but for what simulates and tests.
func mustCheck(t *testing.T) []checked {
	t.Helper()
	all, err := checkedOnce()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// checkedOnce reads and checks them: once for all tests of walls, which only look at them.
var checkedOnce = sync.OnceValues(func() ([]checked, error) {
	cmd := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Export,Dir,GoFiles", ".")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	type listed struct {
		ImportPath, Export, Dir string
		GoFiles                 []string
	}
	var ours []listed
	exports := map[string]string{}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		exports[p.ImportPath] = p.Export
		name, is := strings.CutPrefix(p.ImportPath, module)
		if is && !strings.HasSuffix(name, "/sim") && !strings.Contains(name, "test") {
			ours = append(ours, p)
		}
	}
	fset := token.NewFileSet()
	imports := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	var all []checked
	for _, p := range ours {
		c := checked{name: strings.TrimPrefix(p.ImportPath, module), names: p.GoFiles, info: &types.Info{
			Selections: map[*ast.SelectorExpr]*types.Selection{}, Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}}}
		for _, name := range p.GoFiles {
			f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			c.files = append(c.files, f)
		}
		if _, err := (&types.Config{Importer: imports}).Check(p.ImportPath, fset, c.files, c.info); err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
})

// functionOf names what a declaration declares: package.Type.Method, or package.Function.
func functionOf(pkg string, decl ast.Decl) string {
	f, ok := decl.(*ast.FuncDecl)
	if !ok {
		return pkg + " outside functions"
	}
	if f.Recv == nil {
		return pkg + "." + f.Name.Name
	}
	at := f.Recv.List[0].Type
	if star, ok := at.(*ast.StarExpr); ok {
		at = star.X
	}
	return pkg + "." + types.ExprString(at) + "." + f.Name.Name
}

// isOf reports whether a type, or what it points to, is the one with a name, such as
// queue.Change.
func isOf(t types.Type, name string) bool {
	if t == nil {
		return false
	}
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	n, ok := types.Unalias(t).(*types.Named)
	return ok && n.Obj().Pkg() != nil && n.Obj().Pkg().Path()+"."+n.Obj().Name() == module+name
}

// writesField finds what sets one of some fields of a struct.
func writesField(of string, fields ...string) func(*types.Info, ast.Node) bool {
	field := func(info *types.Info, x ast.Expr) bool {
		sel, ok := x.(*ast.SelectorExpr)
		return ok && slices.Contains(fields, sel.Sel.Name) && isOf(info.Types[sel.X].Type, of)
	}
	return func(info *types.Info, n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			return slices.ContainsFunc(n.Lhs, func(x ast.Expr) bool { return field(info, x) })
		case *ast.IncDecStmt:
			return field(info, n.X)
		case *ast.UnaryExpr:
			return n.Op == token.AND && field(info, n.X)
		case *ast.CompositeLit:
			return isOf(info.Types[n].Type, of) && slices.ContainsFunc(n.Elts, func(x ast.Expr) bool {
				kv, ok := x.(*ast.KeyValueExpr)
				if !ok {
					return true
				}
				key, ok := kv.Key.(*ast.Ident)
				return ok && slices.Contains(fields, key.Name)
			})
		}
		return false
	}
}

// putsInto finds what sets an element of a map that is a field of a struct.
func putsInto(of, field string) func(*types.Info, ast.Node) bool {
	return func(info *types.Info, n ast.Node) bool {
		set, ok := n.(*ast.AssignStmt)
		return ok && slices.ContainsFunc(set.Lhs, func(x ast.Expr) bool {
			at, ok := x.(*ast.IndexExpr)
			if !ok {
				return false
			}
			sel, ok := at.X.(*ast.SelectorExpr)
			return ok && sel.Sel.Name == field && isOf(info.Types[sel.X].Type, of)
		})
	}
}

// calls finds calls of methods of a package with one of some names, and what takes
// them as values.
func calls(pkg string, names ...string) func(*types.Info, ast.Node) bool {
	return func(info *types.Info, n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok || !slices.Contains(names, sel.Sel.Name) {
			return false
		}
		f, ok := info.Uses[sel.Sel].(*types.Func)
		return ok && f.Pkg() != nil && f.Pkg().Path() == module+pkg
	}
}

// callsWith finds calls of a method that are given one of some phases.
func callsWith(name string, phases ...string) func(*types.Info, ast.Node) bool {
	return func(_ *types.Info, n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return false
		}
		sel, ok := call.Fun.(*ast.SelectorExpr)
		return ok && sel.Sel.Name == name && slices.ContainsFunc(call.Args, func(x ast.Expr) bool {
			phase, ok := x.(*ast.SelectorExpr)
			return ok && slices.Contains(phases, phase.Sel.Name)
		})
	}
}

// saysPush finds lists of words that begin with push: what git is run with.
func saysPush(_ *types.Info, n ast.Node) bool {
	words, ok := n.(*ast.CompositeLit)
	if !ok || len(words.Elts) < 2 {
		return false
	}
	first, ok := words.Elts[0].(*ast.BasicLit)
	second, flag := words.Elts[1].(*ast.BasicLit)
	_, made := words.Elts[1].(*ast.CallExpr)
	return ok && first.Value == `"push"` && (made || flag && strings.HasPrefix(second.Value, `"-`))
}
