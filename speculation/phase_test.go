package speculation

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/queue"
)

// A change that went from one phase to any other could have two verdicts, or land
// without the gate.

// From a verdict there is one way: main shows that the change has landed. A landed change,
// or one that no command made, has none.
func TestVerdictsAreFinal(t *testing.T) {
	for from, to := range moves {
		for next, why := range to {
			if why == "" {
				t.Errorf("nothing says when a change goes from %q to %q", from, next)
			}
			if from.Final() && next != queue.Pending {
				t.Errorf("a change goes from the verdict %q to %q", from, next)
			}
		}
	}
	if len(moves[queue.Landed]) > 0 {
		t.Error("a landed change goes on")
	}
}

// A change lands by the gate, which lets it be pushed while it is pending; else because
// main shows it.
func TestOnlyThePendingArePushed(t *testing.T) {
	for from, to := range moves {
		if to[queue.Landing] != "" && from != queue.Pending {
			t.Errorf("a change is pushed that is %q", from)
		}
		if to[queue.Rejected] != "" && from != queue.Pending {
			t.Errorf("a change is rejected that is %q", from)
		}
	}
}

func TestAMoveThatIsNotInTheTableIsRefused(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a rejected change was pushed")
		}
	}()
	c := New(queue.NewState("main"))
	c.move(&queue.Change{ID: "1.a", Phase: queue.Rejected}, queue.Landing, queue.Reason{})
}

// Each phase is written by move, which asks the table.
func TestOnePlaceWritesPhases(t *testing.T) {
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		fset := token.NewFileSet()
		parsed, err := parser.ParseFile(fset, f.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range parsed.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Name.Name == "move" {
				continue
			}
			ast.Inspect(decl, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.AssignStmt:
					if slices.ContainsFunc(n.Lhs, isPhase) {
						t.Errorf("%s writes a phase: move does", fset.Position(n.Pos()))
					}
				case *ast.KeyValueExpr:
					if k, ok := n.Key.(*ast.Ident); ok && k.Name == "Phase" {
						t.Errorf("%s writes a phase: move does", fset.Position(n.Pos()))
					}
				}
				return true
			})
		}
	}
}

func isPhase(e ast.Expr) bool {
	s, ok := e.(*ast.SelectorExpr)
	return ok && s.Sel.Name == "Phase"
}
