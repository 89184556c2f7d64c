package conflict_test

import (
	"context"
	"fmt"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/conflicttest"
	"github.com/submitqueue/submitqueue/conflict/index"
	"github.com/submitqueue/submitqueue/conflict/paths"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// The worked example of the package's documentation.
func Example() {
	settings := config.Analysis{
		Areas:  []config.Area{{Name: "api", Files: []string{"api/**"}}, {Name: "web", Files: []string{"web/**"}, Needs: []string{"api"}}},
		Ignore: []string{"docs/**"},
	}
	analyzer, err := paths.New(settings.Areas)
	if err != nil {
		fmt.Println(err)
		return
	}
	snapshot := func(t conflict.Tree) *conflict.Snapshot {
		s, err := conflict.Analyze(context.Background(), analyzer, settings, t)
		if err != nil {
			fmt.Println(err)
		}
		return s
	}
	tree := conflicttest.New(map[string]string{"api/api.go": "", "web/web.go": "", "docs/intro.md": "", ".gitattributes": ""})
	main := snapshot(tree)

	pending := index.New()
	for id, file := range map[queue.ChangeID]string{"1": "api/api.go", "2": "web/web.go", "3": "docs/intro.md", "4": ".gitattributes"} {
		pending.Put(id, conflict.FootprintOf(main, snapshot(tree.With(file, "new")), "main"))
	}
	for _, id := range []queue.ChangeID{"1", "2", "3", "4"} {
		fmt.Println(id, pending.Conflicts(id))
	}

	one := tree.With("api/api.go", "new")
	steps := []config.Step{{Name: "unit", Scope: config.ScopeTargets}}
	for _, k := range conflict.Keys(snapshot(one), snapshot(one.With("web/web.go", "new")), steps, steps) {
		fmt.Println("verify", k.Target)
	}
	// Output:
	// 1 [{2 target [web]} {4 global [def:.gitattributes]}]
	// 2 [{1 target [web]} {4 global [def:.gitattributes]}]
	// 3 []
	// 4 [{1 global [def:.gitattributes]} {2 global [def:.gitattributes]}]
	// verify web
}
