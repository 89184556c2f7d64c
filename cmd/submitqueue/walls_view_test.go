package main

import (
	"go/ast"
	"go/types"
	"maps"
	"slices"
	"strings"
	"testing"
)

// answers reports whether a file's functions answer requests, or what these ask: pages, the
// API, metrics, and the views that they show. Webhooks are another way in: they write to the
// inbox.
func answers(pkg, file string) bool {
	switch pkg {
	case "app/api", "app/web", "app/access":
		return true
	case "app":
		return strings.HasPrefix(file, "http") || slices.Contains([]string{"source.go", "view.go", "ledger.go", "limits.go", "metrics.go"}, file)
	}
	return false
}

// A page that waited for a turn would wait for Redis, where a turn is stored. So what
// answers requests reaches neither a core nor the lock that a turn holds, through whatever
// functions it calls: it takes what the owner's loop has published.
func TestRequestsTakeWhatIsPublished(t *testing.T) {
	calls := map[string]map[string]bool{} // by function: those that it names
	touches := map[string]string{}        // by function: what it may not touch, where it answers requests
	from := map[string]string{}           // by function that may be reached: what names it
	for _, p := range mustCheck(t) {
		for i, f := range p.files {
			for _, decl := range f.Decls {
				in := functionOf(p.name, decl)
				if calls[in] == nil {
					calls[in] = map[string]bool{}
				}
				if _, is := decl.(*ast.FuncDecl); is && answers(p.name, p.names[i]) {
					from[in] = p.names[i]
				}
				ast.Inspect(decl, func(n ast.Node) bool {
					id, is := n.(*ast.Ident)
					if !is {
						return true
					}
					switch x := p.info.Uses[id].(type) {
					case *types.Func:
						name := nameOf(x)
						calls[in][name] = true
						if strings.HasPrefix(name, "speculation.Core.") {
							touches[in] = name
						}
					case *types.Var:
						if p.name == "app" && x.IsField() && (x.Name() == "core" || x.Name() == "turning") {
							touches[in] = "the field " + x.Name()
						}
					}
					return true
				})
			}
		}
	}
	if len(from) < 200 || touches["app.Owner.Read"] == "" || touches["app.Owner.show"] == "" {
		t.Fatalf("%d functions answer requests, and %d touch a core or its lock: this test looks in the wrong places", len(from), len(touches))
	}
	for reached := slices.Sorted(maps.Keys(from)); len(reached) > 0; reached = reached[1:] {
		in := reached[0]
		if what := touches[in]; what != "" {
			t.Errorf("%s touches %s, and answers requests (%s): let it take what the owner publishes (app/view.go)", in, what, from[in])
		}
		for next := range calls[in] {
			if from[next] == "" && calls[next] != nil {
				from[next] = "by " + in
				reached = append(reached, next)
			}
		}
	}
}

// nameOf names a function as functionOf does.
func nameOf(f *types.Func) string {
	if f.Pkg() == nil {
		return f.Name()
	}
	name, _ := strings.CutPrefix(f.Pkg().Path(), module)
	if r := f.Signature().Recv(); r != nil {
		at := r.Type()
		if p, is := at.(*types.Pointer); is {
			at = p.Elem()
		}
		if n, is := types.Unalias(at).(*types.Named); is {
			name += "." + n.Obj().Name()
		}
	}
	return name + "." + f.Name()
}
