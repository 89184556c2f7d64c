package node_test

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/conflicttest"
	"github.com/submitqueue/submitqueue/conflict/node"
)

// large is a workspace of n packages in 20 layers, each with ten sources and
// up to four dependencies below, and a lock file of 1.5 n external packages.
func large(n int) *conflicttest.Tree {
	files := map[string]string{"package.json": `{"name": "large", "workspaces": ["packages/*"]}`, "turbo.json": `{"tasks": {"build": {"dependsOn": ["^build"]}}}`}
	var lock strings.Builder
	lock.WriteString(`{"lockfileVersion": 3, "packages": {"": {}`)
	for i := range n * 3 / 2 {
		fmt.Fprintf(&lock, `, "node_modules/ext%d": {"version": "1.0.0", "integrity": "sha512-%d", "dependencies": {"ext%d": "^1.0.0", "ext%d": "^1.0.0"}}`, i, i, i/2, i/3)
	}
	files["package-lock.json"] = lock.String() + "}}"
	per := n / 20
	for i := range n {
		var deps []string
		for k := range 4 {
			if i >= per {
				deps = append(deps, fmt.Sprintf(`"@large/p%d": "*"`, (i/per-1)*per+(i*7+k*13)%per))
			}
			deps = append(deps, fmt.Sprintf(`"ext%d": "^1.0.0"`, (i*5+k)%(n*3/2)))
		}
		dir := fmt.Sprintf("packages/p%d/", i)
		files[dir+"package.json"] = fmt.Sprintf(`{"name": "@large/p%d", "version": "1.0.0", "dependencies": {%s}}`, i, strings.Join(deps, ", "))
		for k := range 10 {
			files[fmt.Sprintf("%ssrc/f%d.ts", dir, k)] = fmt.Sprintf("import {x} from './f%d'\nimport y from \"ext%d\"\nexport const z%d = x + y\n", (k+1)%10, (i*5+k%4)%(n*3/2), i)
		}
	}
	return conflicttest.New(files)
}

func BenchmarkGraph2000(b *testing.B) {
	base := large(2000)
	var trees []conflict.Tree
	for i := range 8 {
		trees = append(trees, base.With(fmt.Sprintf("packages/p%d/src/new.ts", i*100), "import '@large/p1'\n"))
	}
	// The machine may be busy: the time that counts is the processor's.
	cpu := func(b *testing.B, loop func()) {
		spent := func() int64 {
			var u syscall.Rusage
			must(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
			return u.Utime.Nano() + u.Stime.Nano()
		}
		from := spent()
		loop()
		b.ReportMetric(float64(spent()-from)/1e6/float64(b.N), "cpu-ms/op")
	}
	run := func(b *testing.B, a *node.Analyzer, t conflict.Tree) {
		g, err := a.Graph(context.Background(), t)
		must(b, err)
		if len(g.Targets) < 4000 {
			b.Fatalf("only %d nodes", len(g.Targets))
		}
	}
	b.Run("cold", func(b *testing.B) {
		cpu(b, func() {
			for b.Loop() {
				run(b, node.New(), base)
			}
		})
	})
	b.Run("next tree", func(b *testing.B) {
		a, i := node.New(), 0
		run(b, a, base)
		cpu(b, func() {
			for b.Loop() {
				i++
				run(b, a, trees[i%len(trees)])
			}
		})
	})
	b.Run("next tree, hashed", func(b *testing.B) {
		a, i := node.New(), 0
		run(b, a, base)
		cpu(b, func() {
			for b.Loop() {
				i++
				_, err := conflict.Analyze(context.Background(), a, settings, trees[i%len(trees)])
				must(b, err)
			}
		})
	})
}
