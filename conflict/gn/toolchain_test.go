package gn_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/conflict"
)

// A toolchain's dependencies are built before each of its targets, and `gn desc` says
// nothing of them: the tools of one toolchain may be programs that another has built.
func TestToolsThatAreBuilt(t *testing.T) {
	p := mustOpen(t, 1)
	main := shop().With("build/BUILD.gn", strings.Replace(strings.Replace(toolchain, "toolchain(target_name) {", "toolchain(target_name) {\n    if (defined(invoker.deps)) { deps = invoker.deps }", 1),
		"tools(\"main\") { x = 1 }", "tools(\"main\") {\n  deps = [ \"//tools:wrap(:host)\" ]\n}", 1)).
		With("tools/BUILD.gn", "static_library(\"wrap\") {\n  sources = [ \"wrap.cc\" ]\n}\n").With("tools/wrap.cc", "").
		With("BUILD.gn", strings.Replace(shop().Content("BUILD.gn"), `"//d"`, `"//d", "//tools:wrap"`, 1))
	before := mustKnow(t, analyze(t, p, main))
	f := conflict.FootprintOf(before, mustKnow(t, analyze(t, p, main.With("tools/wrap.cc", "1"))), "main")
	if got := strings.Join(slices.Sorted(slices.Values(f.Affected)), " "); got != "//:all //a:a //b:act //b:b //c:c //d:d //tools:wrap" {
		t.Errorf("affected %q", got)
	}
}
