package bazel_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/bazel"
	"github.com/submitqueue/submitqueue/conflict/checkout"
	"github.com/submitqueue/submitqueue/conflict/conflicttest"
)

// layers is a generated repository: rules in layers, each of which depends on
// some of the one below.
func layers(rules, packages int) *conflicttest.Tree {
	r := rand.New(rand.NewPCG(1, 2))
	files := map[string]string{"WORKSPACE": "", "BUILD": "", "defs.bzl": "def lib(name, **kw):\n    native.cc_library(name = name, **kw)\n"}
	texts := make([]strings.Builder, packages)
	for i := range rules {
		p := i * packages / rules
		if texts[p].Len() == 0 {
			texts[p].WriteString("load(\"//:defs.bzl\", \"lib\")\n")
		}
		var deps []string
		for range 1 + r.IntN(3) {
			if i >= rules/20 {
				j := max(0, i-rules/20-r.IntN(rules/20))
				deps = append(deps, fmt.Sprintf("//p%d:r%d", j*packages/rules, j))
			}
		}
		fmt.Fprintf(&texts[p], "lib(name = \"r%d\", srcs = glob([\"r%d*.cc\"]), deps = depset([%s]).to_list())\n", i, i, quoted(deps))
		files[fmt.Sprintf("p%d/r%d.cc", p, i)] = ""
	}
	for p := range texts {
		files[fmt.Sprintf("p%d/BUILD", p)] = texts[p].String()
	}
	return conflicttest.New(files)
}

func quoted(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return "\"" + strings.Join(list, "\", \"") + "\""
}

// BenchmarkWarm measures 2,500 rules in 400 packages: from nothing, with
// nothing changed, with one source and with one package changed.
func BenchmarkWarm(b *testing.B) {
	mustOpen(b) // or skip
	main := layers(2500, 400)
	p, err := checkout.Open(filepath.Join(b.TempDir(), "pool"), checkout.Options{Size: 1})
	must(b, err)
	defer func() { must(b, p.Close()) }()
	a := bazel.New(5*time.Minute, p)
	analyze := func(t *conflicttest.Tree) time.Duration {
		b.Helper()
		start := time.Now()
		s, err := conflict.Analyze(context.Background(), a.Trusting(main), settings, t)
		must(b, err)
		if s.Unknown != "" {
			b.Fatal(s.Unknown)
		}
		return time.Since(start)
	}
	b.ReportMetric(analyze(main).Seconds(), "cold-s")
	best := map[string]time.Duration{}
	n := 0
	for b.Loop() {
		n++
		for unit, t := range map[string]*conflicttest.Tree{
			"same-s":    main,
			"source-s":  main.With("p7/r44.cc", fmt.Sprint(n)),
			"package-s": main.With("p7/BUILD", main.Content("p7/BUILD")+fmt.Sprintf("filegroup(name = \"n%d\")\n", n)),
		} {
			took := analyze(t)
			if old, ok := best[unit]; !ok || took < old {
				best[unit] = took
			}
		}
	}
	for unit, took := range best {
		b.ReportMetric(took.Seconds(), unit)
	}
}
