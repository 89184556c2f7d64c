package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"
	"testing"
)

// planMarks are the fields of facts that a plan may write: marks that it has looked at
// something, and what it keeps there for the next plan.
var planMarks = map[string]bool{
	"speculation/derived.Node.Dealt":        true,
	"speculation/derived.Node.Fair":         true,
	"speculation/derived.Node.Memory":       true,
	"speculation/derived.Node.Needed":       true,
	"speculation/derived.Node.Shape":        true,
	"speculation/derived.Node.Stirred":      true,
	"speculation/derived.Node.Stirs":        true,
	"speculation/derived.LiveBuild.Checked": true,
	"speculation/derived.LiveBuild.Credit":  true,
	"speculation/derived.LiveBuild.Wanted":  true,
	"speculation/derived.Rations.Keeps":     true,
	"speculation/derived.Rations.Seen":      true,
}

// stepMarks are the fields of facts that Step may write.
var stepMarks = map[string]bool{}

// A plan that wrote a record could land, reject or unblock a change without a proof. So
// package plan writes nothing of the state, of the configuration or of the facts, but for
// its marks; whatever it wants it proposes.
func TestPlansWriteNothing(t *testing.T) {
	checkStores(t, "speculation/plan", []string{"queue", "queue/config", "speculation/derived"}, planMarks,
		"let it propose that, and Step do it")
}

// Facts that Step changed behind their back would be out of date, and a core that has run
// for long would decide otherwise than one that is made from the stored state. So package
// speculation writes none: it calls Changed, or the method named after what has happened.
func TestStepWritesNoFacts(t *testing.T) {
	checkStores(t, "speculation", []string{"speculation/derived"}, stepMarks, "let the facts have a method for it")
}

// checkStores demands that a package writes no field of the structs of other packages, but
// for those that are named, and that it writes these.
func checkStores(t *testing.T, pkg string, of []string, may map[string]bool, instead string) {
	t.Helper()
	written := map[string]bool{}
	for _, p := range mustCheck(t) {
		if p.name != pkg {
			continue
		}
		for _, f := range p.files {
			for _, decl := range f.Decls {
				in := functionOf(p.name, decl)
				ast.Inspect(decl, func(n ast.Node) bool {
					for _, x := range stores(n) {
						if field := sharedField(p.info, x, of); field != "" {
							if written[field] = true; !may[field] {
								t.Errorf("%s writes %s: %s", in, field, instead)
							}
						}
					}
					return true
				})
			}
		}
	}
	for _, field := range slices.Sorted(maps.Keys(may)) {
		if !written[field] {
			t.Errorf("package %s does not write %s any more: take it off the list", pkg, field)
		}
	}
}

// stores returns what a statement writes into.
func stores(n ast.Node) []ast.Expr {
	switch n := n.(type) {
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			return n.Lhs
		}
	case *ast.IncDecStmt:
		return []ast.Expr{n.X}
	case *ast.RangeStmt:
		if n.Tok == token.ASSIGN {
			return []ast.Expr{n.Key, n.Value}
		}
	case *ast.CallExpr:
		if f, ok := n.Fun.(*ast.Ident); ok && (f.Name == "delete" || f.Name == "clear") {
			return n.Args[:1]
		}
	}
	return nil
}

// sharedField returns the field of a struct of the given packages whose memory an expression
// is in, as package.Type.Field; "" where it is in memory of the function alone, or elsewhere.
func sharedField(info *types.Info, x ast.Expr, of []string) string {
	switch at := x.(type) {
	case *ast.ParenExpr:
		return sharedField(info, at.X, of)
	case *ast.IndexExpr:
		return sharedField(info, at.X, of)
	case *ast.StarExpr:
		return sharedName(info.Types[at.X].Type, of)
	case *ast.SelectorExpr:
		s := info.Selections[at]
		if s == nil {
			return ""
		}
		name := sharedName(s.Recv(), of)
		_, pointer := s.Recv().Underlying().(*types.Pointer)
		if name == "" || !pointer && sharedField(info, at.X, of) == "" {
			return ""
		}
		return name + "." + at.Sel.Name
	}
	return ""
}

// sharedName names a struct of the given packages, or what a pointer to one points to.
func sharedName(t types.Type, of []string) string {
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	n, ok := types.Unalias(t).(*types.Named)
	if !ok || n.Obj().Pkg() == nil {
		return ""
	}
	path, _ := strings.CutPrefix(n.Obj().Pkg().Path(), module)
	if !slices.Contains(of, path) {
		return ""
	}
	return path + "." + n.Obj().Name()
}
