package gn_test

import (
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/conflicttest"
	"github.com/submitqueue/submitqueue/conflict/gn"
	"github.com/submitqueue/submitqueue/queue/config"
)

func TestScenarios(t *testing.T) {
	p := mustOpen(t, 1)
	lib := func(name, more string) string {
		return "static_library(\"" + name + "\") {\n  sources = [ \"" + name + ".cc\" ]\n" + more + "}\n"
	}
	dep := func(on string) string { return "  deps = [ \"//" + on + "\" ]\n" }
	base := conflicttest.New(map[string]string{
		".gn":                  "buildconfig = \"//build/BUILDCONFIG.gn\"\n",
		"build/BUILDCONFIG.gn": "set_default_toolchain(\"//build:main\")\n", "build/BUILD.gn": toolchain,
		"BUILD.gn":   "group(\"all\") { deps = [ \"//a\", \"//b\", \"//c\", \"//d\", \"//e\" ] }\n",
		"a/BUILD.gn": lib("a", dep("b")), "a/a.cc": "",
		"b/BUILD.gn": lib("b", "  inputs = [ \"in.txt\", \"empty.txt\" ]\n"), "b/b.cc": "", "b/in.txt": "data", "b/empty.txt": "",
		"c/BUILD.gn": lib("c", ""), "c/c.cc": "",
		"d/BUILD.gn": lib("d", "  data = [ \"more/\" ]\n"), "d/d.cc": "", "d/more/one": "1",
		"e/BUILD.gn": "import(\"flag.gni\")\n" + lib("e", "  if (flag) {\n    not_needed([ \"flag\" ])\n  }\n"), "e/e.cc": "", "e/flag.gni": "flag = false\n",
	})
	with := func(dir, more string) *conflicttest.Tree { return base.With(dir+"/BUILD.gn", lib(dir, more)) }
	const all = "//:all "
	conflicttest.Suite{Base: base, Analyze: func(tree conflict.Tree) (*conflict.Snapshot, error) {
		return conflict.Analyze(t.Context(), gn.New(20*time.Second, p), config.Analysis{Unowned: config.UnownedTarget}, tree)
	}, Given: map[string]conflicttest.Scenario{
		"a condition and its flag": {One: base.With("c/BUILD.gn", "import(\"//e/flag.gni\")\n"+lib("c", "")+"if (flag) {\n  group(\"extra\") { deps = [ \"//d\" ] }\n}\n"), Affected: all + "//c:c",
			Other: base.With("e/flag.gni", "flag = true\n"), Conflict: true},
		"a listing and a new file":                     {One: with("c", "  data = [ \"//d/more/\" ]\n"), Affected: all + "//c:c", Other: base.With("d/more/two", "2"), Conflict: true},
		"lines of a definition shift":                  {One: base.With("a/BUILD.gn", "\n\n"+base.Content("a/BUILD.gn")), Affected: all + "//a:a"}, // its text is in its hash
		"an empty file is deleted":                     {One: base.Without("b/empty.txt"), Affected: all + "//a:a //b:b"},
		"an executable bit is flipped":                 {One: base.WithMode("b/in.txt", "100755", "data"), Affected: all + "//a:a //b:b"},
		"a file moves between targets":                 {One: base.Without("d/more/one").With("c/BUILD.gn", lib("c", "  inputs = [ \"one\" ]\n")).With("c/one", "1"), Affected: all + "//c:c //d:d"},
		"a dependency is reversed":                     {One: base.With("a/BUILD.gn", lib("a", "")).With("b/BUILD.gn", lib("b", dep("a"))), Affected: "*", Other: base.With("a/a.cc", "1"), Conflict: true},
		"a cycle of two changes":                       {One: with("c", dep("d")), Affected: all + "//c:c", Other: with("d", dep("c")), Conflict: true},
		"each adds one target":                         {One: with("c", "  inputs = [ \"c.cc\" ]\n").With("n/BUILD.gn", lib("n", "")).With("n/n.cc", "").With("BUILD.gn", base.Content("BUILD.gn")+"group(\"one\") { deps = [ \"//n\" ] }\n"), Affected: "*", Other: base.With("n/BUILD.gn", lib("n", "  defines = [ \"X\" ]\n")).With("n/n.cc", "").With("BUILD.gn", "group(\"two\") { deps = [ \"//n\" ] }\n"+base.Content("BUILD.gn")), Conflict: true},
		"one deletes what the other starts to use":     {One: base.Without("c").With("BUILD.gn", "group(\"all\") { deps = [ \"//a\", \"//b\", \"//d\", \"//e\" ] }\n"), Affected: "//:all", Other: with("b", dep("c")), Conflict: true},
		"a directory that is looked into gains a file": {One: base.With("d/more/two", "2"), Affected: all + "//d:d"},
		"a nested package appears":                     {One: base.With("d/more/BUILD.gn", "group(\"more\") {}\n").With("d/BUILD.gn", lib("d", dep("d/more"))), Affected: "*", Other: base.With("d/more/two", "2"), Conflict: true},
		"the lock file only":                           {None: "GN has no lock file"},
		"a broken definition":                          {One: base.With("c/BUILD.gn", "static_library(\"c\" {\n"), Unknown: "c/BUILD.gn:1"},
	}}.Run(t)
}
