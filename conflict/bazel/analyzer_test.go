package bazel_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/bazel"
	"github.com/submitqueue/submitqueue/conflict/conflicttest"
	"github.com/submitqueue/submitqueue/queue/config"
)

// shop is a repository with what is easy to get wrong.
func shop() *conflicttest.Tree {
	return conflicttest.New(map[string]string{
		"WORKSPACE": "workspace(name = \"shop\")\n",
		"BUILD":     "",
		"defs.bzl":  "load(\":flags.bzl\", \"FLAG\")\ndef lib(name):\n    native.filegroup(name = name, srcs = native.glob([\"*.txt\"]))\n",
		"flags.bzl": "FLAG = False\n",
		"rules.bzl": "def _impl(ctx):\n    return []\nown = rule(implementation = _impl, attrs = {\"deps\": attr.label_list()})\n",
		"a/BUILD": `load("//:defs.bzl", "lib")
load("//:flags.bzl", "FLAG")
lib("a")
genrule(name = "gen", outs = ["gen.h"], cmd = "touch $@", srcs = ["//b:b.cc"])
config_setting(name = "opt", values = {"compilation_mode": "opt"})
filegroup(name = "sel", srcs = select({":opt": ["o.in"], "//conditions:default": ["d.in"]}))
filegroup(name = "hand", srcs = ["h.in"], tags = ["manual"])
`,
		"a/x.txt": "1", "a/o.in": "", "a/d.in": "", "a/h.in": "",
		"b/BUILD": `load("//:rules.bzl", "own")
exports_files(["b.cc"])
package_group(name = "friends", packages = ["//c/..."])
filegroup(name = "b", srcs = ["b.cc", "//a:gen.h"], visibility = [":friends"])
own(name = "own", deps = [":b", "//zzz:later", "gone.txt"])
`,
		"b/b.cc":   "",
		"c/BUILD":  "alias(name = \"c\", actual = \"//b\")\nfilegroup(name = \"dir\", srcs = [\"data\"])\ntest_suite(name = \"all_tests\")\n",
		"c/data/1": "", "d/readme.md": "", "d/n": "",
		"e/BUILD": "filegroup(name = \"e\", srcs = [\"e.in\", \"//c\"])\n", "e/e.in": "",
	})
}

const all = "//a:a //a:gen //a:sel //b:b //b:own //c:all_tests //c:c //c:dir //e:e"

func TestAffected(t *testing.T) {
	b, main := mustOpen(t), shop()
	if got := names(b.know(main)); got != all {
		t.Fatalf("targets are %s", got)
	}
	add := func(file, text string) *conflicttest.Tree { return main.With(file, main.Content(file)+text) }
	swap := func(file, old, new string) *conflicttest.Tree {
		if !strings.Contains(main.Content(file), old) {
			t.Fatalf("%s has no %q", file, old)
		}
		return main.With(file, strings.Replace(main.Content(file), old, new, 1))
	}
	for name, x := range map[string]struct {
		tree *conflicttest.Tree
		want string
	}{
		"a source":                    {main.With("e/e.in", "1"), "//e:e"},
		"a source, through a chain":   {main.With("b/b.cc", "1"), "//a:gen //b:b //b:own //c:c //e:e"},
		"exec bit":                    {main.WithMode("e/e.in", "100755", ""), "//e:e"},
		"a removed empty source":      {main.Without("e/e.in"), "//e:e"},
		"a missing file appears":      {main.With("b/gone.txt", ""), "//b:own"},
		"a missing package appears":   {main.With("zzz/BUILD", "filegroup(name = \"later\")\n"), "//b:own //zzz:later"},
		"a file in a source folder":   {main.With("c/data/2", ""), "//c:dir"},
		"a globbed file":              {main.With("a/y.txt", ""), "//a:a"},
		"one that no glob wants":      {main.With("a/y.md", ""), ""},
		"an unrelated .bzl":           {main.With("more.bzl", "X = 1\n"), ""},
		"lines and comments":          {main.With("a/BUILD", "# hi\n\n"+main.Content("a/BUILD")), ""},
		"a macro without an effect":   {add("defs.bzl", "def other():\n    pass\n"), ""},
		"a macro with one":            {swap("defs.bzl", "[\"*.txt\"])", "[\"*.txt\"]), tags = [\"x\"]"), "//a:a"},
		"code of a rule":              {swap("rules.bzl", "return []", "return [DefaultInfo()]"), "//b:own"},
		"swapped branches":            {main.With("a/BUILD", strings.NewReplacer("o.in", "d.in", "d.in", "o.in").Replace(main.Content("a/BUILD"))), "//a:sel"},
		"a condition":                 {swap("a/BUILD", "\"opt\"}", "\"dbg\"}"), "//a:sel"},
		"a group":                     {swap("b/BUILD", "//c/...", "//e/..."), "//b:b //b:own //c:c //e:e"},
		"who may use files":           {add("a/BUILD", "package(default_visibility = [\"//visibility:public\"])\n"), "//a:a //a:gen //a:sel //b:b //b:own //c:c //e:e"},
		"a command":                   {swap("a/BUILD", "touch $@", "touch -a $@"), "//a:gen //b:b //b:own //c:c //e:e"},
		"test only by default":        {swap("e/BUILD", "file", "package(default_testonly = 1)\nfile"), "//e:e"},
		"a manual target":             {swap("a/BUILD", "\"h.in\"", "\"h.in\", \"d.in\""), ""},
		"a new target":                {add("e/BUILD", "filegroup(name = \"new\")\n"), "//e:new"},
		"a removed target":            {swap("c/BUILD", "alias(name = \"c\"", "alias(name = \"d\""), "//c:d //e:e"},
		"a moved file":                {main.Without("a/x.txt").With("c/data/x.txt", "1"), "//a:a //c:dir"},
		"an inner package":            {main.With("c/data/BUILD", ""), "//c:dir"},
		"an inner package of a glob":  {main.With("a/x/BUILD", "filegroup(name = \"x\")\n"), "//a/x:x"},
		"another order of set":        {swap("b/BUILD", "visibility = [", "tags = [\"b\", \"a\"], visibility = ["), "//b:b //b:own //c:c //e:e"},
		"everything, by .bazelrc":     {main.With(".bazelrc", "build -c opt\n"), all},
		"everything, by an import":    {main.With(".bazelrc", "import %workspace%/x.rc\n").With("x.rc", ""), all},
		"everything, by a version":    {main.With(".bazelversion", "9.9.9\n"), all},
		"everything, by the wrapper":  {main.WithMode("tools/bazel", "100755", "#!/bin/sh\nexit 9\n"), all},
		"everything, by .bazelignore": {main.With(".bazelignore", "x\n"), all},
		"everything, by its name":     {swap("WORKSPACE", "shop", "store"), all},
		"ignored":                     {main.With("d/readme.md", "1"), ""},
		"nobody's":                    {main.With("d/n", "1"), all},
	} {
		if got := strings.Join(b.affected(main, x.tree), " "); got != x.want {
			t.Errorf("%s: affected %s, want %s", name, got, x.want)
		}
	}
	for _, list := range []string{`["b", "a"]`, `["a", "b"]`} {
		one := swap("b/BUILD", "visibility = [", "tags = [\"a\", \"b\"], visibility = [")
		other := swap("b/BUILD", "visibility = [", "tags = "+list+", visibility = [")
		if got := b.affected(one, other); len(got) > 0 {
			t.Errorf("the order of tags affects %q", got)
		}
	}
}

func names(s *conflict.Snapshot) string {
	var list []string
	for _, x := range s.Targets() {
		list = append(list, x.Target)
	}
	return strings.Join(list, " ")
}

func TestConflicts(t *testing.T) {
	b, main := mustOpen(t), shop().With("free.bzl", "X = 1\n")
	add := func(file, text string) *conflicttest.Tree { return main.With(file, main.Content(file)+text) }
	for name, x := range map[string]struct {
		one, other *conflicttest.Tree
		want       bool
	}{
		"a flag and what asks for it":      {add("a/BUILD", "[filegroup(name = \"f\") for x in ([1] if FLAG else [])]\n"), main.With("flags.bzl", "FLAG = True\n"), true},
		"a glob and a file for it":         {main.With("d/BUILD", "filegroup(name = \"d\", srcs = glob([\"*.in\"]))\n"), main.With("d/n.in", ""), true},
		"the same new target":              {add("e/BUILD", "filegroup(name = \"new\", srcs = [\"e.in\"])\n"), add("e/BUILD", "filegroup(name = \"new\")\n"), true},
		"one goes, the other uses it":      {main.With("b/BUILD", strings.Replace(main.Content("b/BUILD"), "name = \"own\"", "name = \"mine\"", 1)), add("e/BUILD", "filegroup(name = \"f\", srcs = [\"//b:own\"])\n"), true},
		"one comes, the other uses it":     {add("c/BUILD", "filegroup(name = \"later\")\n"), add("e/BUILD", "filegroup(name = \"f\", srcs = [\"//c:later\"])\n"), true},
		"a circle made by two":             {add("a/BUILD", "filegroup(name = \"p\", srcs = [\"//e:q\"])\n"), add("e/BUILD", "filegroup(name = \"q\", srcs = [\"//a:p\"])\n"), true},
		"sources of two packages":          {main.With("e/e.in", "1"), main.With("c/data/1", "1"), false},
		"targets of two packages":          {add("e/BUILD", "filegroup(name = \"p\")\n"), add("c/BUILD", "filegroup(name = \"q\")\n"), false},
		"a .bzl goes, the other loads":     {main.Without("free.bzl"), main.With("e/BUILD", "load(\"//:free.bzl\", \"X\")\n"+main.Content("e/BUILD")), true},
		"a name goes, the other loads":     {main.With("free.bzl", ""), main.With("e/BUILD", "load(\"//:free.bzl\", \"X\")\n"+main.Content("e/BUILD")), true},
		"the WORKSPACE loads":              {main.Without("free.bzl"), main.With("WORKSPACE", "load(\"//:free.bzl\", \"X\")\n"+main.Content("WORKSPACE")), true},
		"a label and a package on its way": {add("c/BUILD", "filegroup(name = \"deep\", srcs = [\"data/1\"])\n"), main.With("c/data/BUILD", "filegroup(name = \"in\")\n"), true},
		"the same from elsewhere":          {add("e/BUILD", "filegroup(name = \"deep\", srcs = [\"//c:data/1\"])\n"), main.With("c/data/BUILD", "exports_files([\"1\"])\n"), true},
		"a source and a comment":           {main.With("e/e.in", "1"), main.With("e/BUILD", "# x\n"+main.Content("e/BUILD")), false},
	} {
		if got := b.meet(main, x.one, x.other); got != x.want {
			t.Errorf("%s: conflict is %t", name, got)
		}
		if got := b.meet(main, x.other, x.one); got != x.want {
			t.Errorf("%s, the other way: conflict is %t", name, got)
		}
	}
}

// Some of what a package or a configuration gives to rules is no attribute of theirs.
func TestWhatNoAttributeShows(t *testing.T) {
	b := mustOpen(t)
	main := conflicttest.New(map[string]string{"WORKSPACE": "", "BUILD": "", "values.bzl": "FEATURES = [\"a\"]\n",
		"flag.bzl": "def _flag(ctx):\n    return []\nflag = rule(implementation = _flag, build_setting = config.bool(flag = True))\n",
		"in.bzl": "def _out(settings, attr):\n    return {\"//command_line_option:compilation_mode\": \"opt\" if settings[\"//f:x\"] else \"dbg\"}\n" +
			"def _to(settings, attr):\n    return {\"//command_line_option:platforms\": \"//g:p\"}\n" +
			"_mode = transition(\n    implementation = _out,\n    inputs = [\"//f:x\"],\n    outputs = [\"//command_line_option:compilation_mode\"],\n)\n" +
			"def _own(ctx):\n    return []\nown = rule(implementation = _own, cfg = _mode, attrs = {\"_allowlist_function_transition\": attr.label(default = \"@bazel_tools//tools/allowlists/function_transition_allowlist\")})\n",
		"f/BUILD":  "load(\"//:flag.bzl\", \"flag\")\nload(\"//:in.bzl\", \"own\")\nflag(name = \"x\", build_setting_default = False)\nflag(name = \"y\", build_setting_default = False)\n",
		"g/BUILD":  "constraint_setting(name = \"x\")\nconstraint_value(name = \"y\", constraint_setting = \":x\")\nplatform(name = \"p\", constraint_values = [\":y\"])\n",
		"q2/BUILD": "filegroup(name = \"f\", srcs = [\"x\"])\ngenquery(name = \"q\", expression = \"deps(//q2:f)\", scope = [\"//q2:f\"])\n", "q2/x": "", "q2/y.md": "",
		"t/BUILD": "load(\"//:in.bzl\", \"own\")\nown(name = \"own\")\nfilegroup(name = \"group\")\n",
		"p/BUILD": "package(features = [\"a\"])\ncc_library(name = \"p\", srcs = [\"p.cc\"])\n", "p/p.cc": "",
		"q/BUILD": "load(\"//:values.bzl\", \"FEATURES\")\npackage(\n    features = FEATURES,  # )\n)\ncc_library(name = \"q\", srcs = [\"q.cc\"])\n", "q/q.cc": "",
		"v/BUILD": "package(default_visibility = [\"//visibility:public\"])\ncc_library(name = \"v\", srcs = [\"v.cc\"])\n", "v/v.cc": ""})
	swap := func(file, old, new string) *conflicttest.Tree {
		if !strings.Contains(main.Content(file), old) {
			t.Fatalf("%s has no %q", file, old)
		}
		return main.With(file, strings.Replace(main.Content(file), old, new, 1))
	}
	for name, x := range map[string]struct {
		tree *conflicttest.Tree
		want string
	}{
		"features of a package":              {swap("p/BUILD", "\"a\"", "\"-a\""), "//p:p"},
		"a comment beside them":              {main.With("p/BUILD", "# hi\n"+main.Content("p/BUILD")), ""},
		"features from elsewhere":            {swap("values.bzl", "\"a\"", "\"-a\""), "//q:q"},
		"features beside other defaults":     {swap("v/BUILD", "]", "], features = [\"b\"]"), "//v:v"},
		"a comment beside other defaults":    {main.With("v/BUILD", "# features = []\n"+main.Content("v/BUILD")), ""},
		"a setting that a transition reads":  {swap("f/BUILD", "False", "True"), "//f:x //f:y //t:own"},
		"a platform that a transition sets":  {swap("g/BUILD", "[\":y\"]", "[]"), "//f:y //t:own"},
		"what a query in a rule asks for":    {swap("q2/BUILD", "[\"x\"]", "[\"x\", \"y.md\"]"), "//q2:f //q2:q"},
		"a setting that no transition reads": {swap("f/BUILD", "\"y\", build_setting_default = False", "\"y\", build_setting_default = True"), "//f:y"},
	} {
		if got := strings.Join(b.affected(main, x.tree), " "); got != x.want {
			t.Errorf("%s: affected %s, want %s", name, got, x.want)
		}
	}
}

// Dependencies may be turned around, and go in a circle.
func TestCircles(t *testing.T) {
	b, main := mustOpen(t), shop()
	turned := main.With("c/BUILD", "alias(name = \"c\", actual = \"//e\")\nfilegroup(name = \"dir\", srcs = [\"data\"])\n").
		With("e/BUILD", "filegroup(name = \"e\", srcs = [\"e.in\"])\n")
	if got := b.affected(main, turned); !slices.Equal(got, []string{"//c:c", "//e:e"}) {
		t.Errorf("affected %q", got)
	}
	if s := b.know(main.With("c/BUILD", "alias(name = \"c\", actual = \"//e\")\n")); len(s.Cycles) != 1 {
		t.Errorf("circles are %q", s.Cycles)
	}
}

func TestBrokenTrees(t *testing.T) {
	b, main := mustOpen(t), shop()
	for name, x := range map[string]struct {
		tree *conflicttest.Tree
		want string
	}{
		"syntax":        {main.With("e/BUILD", "filegroup(\n"), "e/BUILD"},
		"no such .bzl":  {main.With("e/BUILD", "load(\"//:none.bzl\", \"x\")\n"), "none.bzl"},
		"no such name":  {main.With("e/BUILD", "load(\"//:defs.bzl\", \"x\")\n"), "does not contain symbol"},
		"fail":          {main.With("e/BUILD", "fail(\"because\")\n"), "because"},
		"two of a name": {main.With("e/BUILD", "filegroup(name = \"x\")\nfilegroup(name = \"x\")\n"), "conflicts"},
		"over a border": {main.With("c/data/BUILD", "").With("c/BUILD", "filegroup(name = \"c\", srcs = [\"data/1\"])\n"), "data"},
		"no workspace":  {main.Without("WORKSPACE"), "no WORKSPACE"},
		"a bad label":   {main.With("e/BUILD", "filegroup(name = \"x y\")\n"), "plain"},
	} {
		s := b.analyze(x.tree)
		if !strings.Contains(s.Unknown, x.want) || s.Provisional {
			t.Errorf("%s: provisional is %t, and it says %q", name, s.Provisional, s.Unknown)
		}
		if strings.Contains(s.Unknown, "/pool/") || strings.Contains(s.Unknown, "Starting") {
			t.Errorf("%s: it says %q", name, s.Unknown)
		}
	}
	b.know(main) // Bazel has not suffered
}

// A toolchain of the tree is below all that it is not made of.
func TestToolchains(t *testing.T) {
	b := mustOpen(t)
	main := shop().With("t/BUILD", "toolchain_type(name = \"type\")\ntoolchain(name = \"t\", toolchain = \":tool\", toolchain_type = \":type\")\n"+
		"filegroup(name = \"tool\", srcs = [\"tool.sh\"])\nfilegroup(name = \"other\", srcs = [\"o\"])\n").With("t/tool.sh", "").With("t/o", "")
	for name, x := range map[string]struct{ main *conflicttest.Tree }{
		"registered":   {main.With("WORKSPACE", "register_toolchains(\n    \"//t:t\",\n)\n")},
		"by a pattern": {main.With("WORKSPACE", "register_toolchains(\"//t/...\")\n")},
		"in an option": {main.With(".bazelrc", "build --extra_toolchains=//t:t\n")},
	} {
		got := strings.Join(b.affected(x.main, x.main.With("t/tool.sh", "1")), " ")
		for _, target := range strings.Fields(all) {
			if !strings.Contains(got+" ", target+" ") {
				t.Errorf("%s: it does not affect %s", name, target)
			}
		}
	}
	registered := main.With("WORKSPACE", "register_toolchains(\"//t:t\")\n")
	if got := strings.Join(b.affected(registered, registered.With("t/o", "1")), " "); got != "//t:other" {
		t.Errorf("another file affects %s", got)
	}
	if got := strings.Join(b.affected(main, main.With("t/tool.sh", "1")), " "); got != "//t:tool" {
		t.Errorf("one that is not registered affects %s", got)
	}
}

// Files that a query does not show are in the hash all the same.
func TestWhatIsReadIsInTheHash(t *testing.T) {
	b := mustOpen(t)
	main := conflicttest.New(map[string]string{"a/BUILD": "filegroup(name = \"a\")\n", "b/BUILD": "filegroup(name = \"b\", srcs = [\"@other//:x\"])\n", "BUILD": "", "WORKSPACE": ""})
	for name, x := range map[string]struct {
		files map[string]string
		edit  string
		want  string
	}{
		"a program that an rc file names":     {map[string]string{".bazelrc": "build --workspace_status_command=tools/status.sh\n", "tools/status.sh": ""}, "tools/status.sh", "//a:a //b:b"},
		"platform_mappings":                   {map[string]string{"platform_mappings": ""}, "platform_mappings", "//a:a //b:b"},
		"a toolchain of another repository":   {map[string]string{"WORKSPACE": "register_toolchains(\"@llvm//:all\")\n"}, "WORKSPACE", "//a:a //b:b"},
		"a toolchain that a macro registers":  {map[string]string{"WORKSPACE": "load(\"@llvm//:x.bzl\", \"llvm_register_toolchains\")\nllvm_register_toolchains()\n"}, "WORKSPACE", "//a:a //b:b"},
		"a version of no toolchain":           {map[string]string{"WORKSPACE": "register_toolchains(\"//a:a\")\n"}, "WORKSPACE", "//b:b"},
		"a folder that is a repository":       {map[string]string{"WORKSPACE": "new_local_repository(name = \"other\", path = \"third_party/o\", build_file = \"//:o.BUILD\")\n", "third_party/o/x": ""}, "third_party/o/x", "//b:b"},
		"a file that is named without a mark": {map[string]string{"WORKSPACE": "http_archive(name = \"other\", patches = [\"fix.patch\"])\n", "fix.patch": ""}, "fix.patch", "//b:b"},
		"a part of the tree":                  {map[string]string{"WORKSPACE": "local_repository(name = \"other\", path = \"in\")\n", "in/x": ""}, "in/x", "//b:b"},
		"a repository that a macro makes":     {map[string]string{"WORKSPACE": "load(\"//:deps.bzl\", \"deps\")\ndeps()\n", "deps.bzl": "def deps():\n    native.local_repository(name = \"other\", path = \"third_party/o\")\n", "third_party/o/BUILD": "filegroup(name = \"x\", srcs = [\"y\"])\n", "third_party/o/y": ""}, "third_party/o/y", "//b:b //third_party/o:x"},
		"what such a repository uses":         {map[string]string{"WORKSPACE": "load(\"//:deps.bzl\", \"deps\")\ndeps()\n", "deps.bzl": "def deps():\n    native.new_local_repository(name = \"other\", path = \"third_party/o\", build_file = \"//:o.BUILD\")\n", "third_party/o/BUILD.bazel": "filegroup(name = \"x\", srcs = [\"@//c:f\"])\n", "c/BUILD": "filegroup(name = \"c\", srcs = [\"f\"])\n", "c/f": ""}, "c/f", "//b:b //c:c //third_party/o:x"},
		"one with a call among its arguments": {map[string]string{"WORKSPACE": "local_repository(name = \"other\", path = \"in\", repo_mapping = dict())\n", "in/BUILD": "filegroup(name = \"x\", srcs = [\"y\"])\n", "in/y": ""}, "in/y", "//b:b //in:x"},
		"a repository that an option names":   {map[string]string{".bazelrc": "common --override_repository=other=%workspace%/third_party/o\n", "third_party/o/BUILD": "filegroup(name = \"x\", srcs = [\"y\"])\n", "third_party/o/y": ""}, "third_party/o/y", "//a:a //b:b //third_party/o:x"},
		"a module that an option names":       {map[string]string{".bazelrc": "common --override_module other=third_party/o\n", "third_party/o/BUILD": "filegroup(name = \"x\", srcs = [\"y\"])\n", "third_party/o/y": ""}, "third_party/o/y", "//a:a //b:b //third_party/o:x"},
		"a package that an option deletes":    {map[string]string{".bazelrc": "# rc\nimport %workspace%/more.rc\n", "more.rc": "build --deleted_packages=c/none,c/in\nquery --deleted_packages=@//c/too\n", "c/BUILD": "filegroup(name = \"c\", srcs = glob([\"**\"]))\n", "c/in/BUILD": "filegroup(name = \"in\", srcs = [\"f\"])\n", "c/in/f": "", "c/too/BUILD": ""}, "c/in/f", "//c:c"},
		"a toolchain of a part of the tree":   {map[string]string{"WORKSPACE": "local_repository(name = \"inner\", path = \"in\")\nregister_toolchains(\"@inner//:all\")\n", "in/x": ""}, "in/x", "//a:a //b:b"},
		"a name that is put together":         {map[string]string{"WORKSPACE": "load(\"//:deps.bzl\", \"deps\")\ndeps()\n", "deps.bzl": "def deps():\n    for name in [\"other\"]:\n        native.local_repository(name = name, path = \"third_party/%s\" % name)\n", "third_party/other/BUILD": "filegroup(name = \"x\", srcs = [\"y\"])\n", "third_party/other/y": ""}, "third_party/other/y", "//b:b //third_party/other:x"},
		"a module under another name":         {map[string]string{"MODULE.bazel": "bazel_dep(name = \"inner\", version = \"1\", repo_name = \"other\")\nlocal_path_override(module_name = \"inner\", path = \"in\")\n", "in/x": ""}, "in/x", "//b:b"},
		"what an aspect of an rc file loads":  {map[string]string{".bazelrc": "build --aspects=//tools:lint.bzl%lint\n", "tools/BUILD": "filegroup(name = \"linter\", srcs = [\"linter.sh\"])\n", "tools/linter.sh": "", "tools/lint.bzl": "load(\":more.bzl\", \"ATTRS\")\n", "tools/more.bzl": "ATTRS = {\"_linter\": attr.label(default = \"//tools:linter\")}\n"}, "tools/more.bzl", "//a:a //b:b //tools:linter"},
		"a tool of an aspect of an rc file":   {map[string]string{".bazelrc": "build --aspects //tools:lint.bzl%lint\n", "tools/BUILD": "filegroup(name = \"linter\", srcs = [\"linter.sh\"])\n", "tools/linter.sh": "", "tools/lint.bzl": "load(\":more.bzl\", \"ATTRS\")\n", "tools/more.bzl": "ATTRS = {\"_linter\": attr.label(default = \"//tools:linter\")}\n"}, "tools/linter.sh", "//a:a //b:b //tools:linter"},
		"a platform of a mapping":             {map[string]string{"platform_mappings": "flags:\n  --cpu=x\n    //tools:x\n", "tools/BUILD": "filegroup(name = \"x\", srcs = [\"y\"])\n", "tools/y": ""}, "tools/y", "//a:a //b:b //tools:x"},
		"a program behind a link":             {map[string]string{".bazelrc": "build --workspace_status_command=l/status.sh\n", "l": "link:tools", "tools/BUILD": "filegroup(name = \"t\", srcs = [\"status.sh\"])\n", "tools/status.sh": ""}, "tools/status.sh", "//a:a //b:b //tools:t"},
		"a file that is named without a path": {map[string]string{"WORKSPACE": "http_archive(name = \"other\", patches = [\":fix.patch\"])\n", "fix.patch": ""}, "fix.patch", "//b:b"},
	} {
		tree := main
		for path, text := range x.files {
			if goal, ok := strings.CutPrefix(text, "link:"); ok {
				tree = tree.WithMode(path, conflict.ModeLink, goal)
			} else {
				tree = tree.With(path, text)
			}
		}
		unowned := config.Analysis{Unowned: config.UnownedTarget}
		analyze := func(tree conflict.Tree) *conflict.Snapshot {
			s, err := conflict.Analyze(t.Context(), b.Trusting(tree), unowned, tree)
			must(t, err)
			if s.Unknown != "" {
				t.Fatal(name, s.Unknown)
			}
			return s
		}
		f := conflict.FootprintOf(analyze(tree), analyze(tree.With(x.edit, tree.Content(x.edit)+"# more\n")), "main")
		got := slices.DeleteFunc(slices.Clone(f.Affected), func(target string) bool { return target == config.TargetUnowned })
		if slices.Sort(got); strings.Join(got, " ") != x.want {
			t.Errorf("%s: affected %q, want %q", name, got, x.want)
		}
	}
}

// Files of the tree that a repository uses are below the targets that use the
// repository.
func TestRepositoriesThatReferBack(t *testing.T) {
	b := mustOpen(t)
	main := conflicttest.New(map[string]string{"BUILD": "",
		"WORKSPACE": "workspace(name = \"main\")\nlocal_repository(name = \"inner\", path = \"in\")\nhttp_archive(name = \"far\", build_file = \"//:far.BUILD\")\n",
		"far.BUILD": "filegroup(name = \"far\", srcs = [\"@//b:f\"])\n",
		"in/BUILD":  "filegroup(name = \"in\", srcs = [\"@main//b\"])\n",
		"a/BUILD":   "filegroup(name = \"near\", srcs = [\"@inner//:in\"])\nfilegroup(name = \"far\", srcs = [\"@far//:far\"])\nfilegroup(name = \"a\")\n",
		"b/BUILD":   "filegroup(name = \"b\", srcs = [\"b.in\"])\nexports_files([\"f\"])\nfilegroup(name = \"g\", srcs = [\"f\"])\n", "b/b.in": "", "b/f": "",
	})
	for file, want := range map[string]string{"b/b.in": "//a:near //b:b", "b/f": "//a:far //a:near //b:g"} {
		if got := strings.Join(b.affected(main, main.With(file, "1")), " "); got != want {
			t.Errorf("%s affects %s, want %s", file, got, want)
		}
	}
}

func TestWithoutBazel(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := bazel.New(0, nil).Graph(context.Background(), shop())
	if !errors.Is(err, conflict.ErrProvisional) || !strings.Contains(err.Error(), "install") {
		t.Errorf("got %v", err)
	}
}
