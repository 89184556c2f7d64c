package forge_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const port = "github.com/submitqueue/submitqueue/forge"

// What a forge can do is in its Capabilities and nowhere else: an assertion would find a
// capability that a wrapper hides, and miss one that it passes on.
func TestNobodyAssertsWhatAForgeCanDo(t *testing.T) {
	interfaces := map[string]bool{}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		for _, decl := range parse(t, file).Decls {
			if d, ok := decl.(*ast.GenDecl); ok && d.Tok == token.TYPE {
				for _, spec := range d.Specs {
					s := spec.(*ast.TypeSpec)
					if _, ok := s.Type.(*ast.InterfaceType); ok {
						interfaces[s.Name.Name] = true
					}
				}
			}
		}
	}
	if !interfaces["Forge"] || !interfaces["Stacker"] || !interfaces["CI"] {
		t.Fatalf("the port's interfaces: %v", interfaces)
	}
	seen := 0
	err = filepath.WalkDir("..", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && d.Name() != ".."):
			return fs.SkipDir
		case !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") || filepath.Dir(file) == filepath.Join("..", "forge"):
			return nil
		}
		seen++
		asserted(parse(t, file), interfaces, func(what string) { t.Errorf("%s asserts %s; ask Capabilities", file, what) })
		return nil
	})
	if err != nil || seen < 50 {
		t.Errorf("%d files were looked at: %v", seen, err)
	}

	const wrong = `package p
import f ` + `"` + port + `"
func a(x any) { _, _ = x.(f.Stacker) }
func b(x any) { switch x.(type) { case f.CI: } }
func c(x struct{ Forge any }) { _, _ = x.Forge.(interface{ Reset() }) }`
	f, err := parser.ParseFile(token.NewFileSet(), "wrong.go", wrong, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := ""
	asserted(f, interfaces, func(what string) { found += what + " " })
	if found != "f.Stacker f.CI a method of a Forge " {
		t.Errorf("of three wrong ones, this is found: %q", found)
	}
}

// asserted reports the type assertions and cases of a file that are to an interface of
// the port, or of a field named Forge.
func asserted(f *ast.File, interfaces map[string]bool, report func(what string)) {
	name := ""
	for _, spec := range f.Imports {
		if path, _ := strconv.Unquote(spec.Path.Value); path == port {
			name = "forge"
			if spec.Name != nil {
				name = spec.Name.Name
			}
		}
	}
	to := func(typ ast.Expr) {
		if s, ok := typ.(*ast.SelectorExpr); ok && interfaces[s.Sel.Name] {
			if x, ok := s.X.(*ast.Ident); ok && x.Name == name {
				report(name + "." + s.Sel.Name)
			}
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.TypeAssertExpr:
			to(n.Type)
			if s, ok := n.X.(*ast.SelectorExpr); ok && s.Sel.Name == "Forge" {
				report("a method of a Forge")
			}
		case *ast.CaseClause:
			for _, e := range n.List {
				to(e)
			}
		}
		return true
	})
}

func parse(t *testing.T, file string) *ast.File {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	return f
}
