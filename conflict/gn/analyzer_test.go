package gn_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/checkout"
	"github.com/submitqueue/submitqueue/conflict/conflicttest"
	"github.com/submitqueue/submitqueue/conflict/gn"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/queue/storetest"
)

const toolchain = `template("tools") {
  not_needed(invoker, "*")
  toolchain(target_name) {
    tool("stamp") { command = "touch {{output}}" }
    tool("copy") { command = "cp {{source}} {{output}}" }
    tool("cxx") {
      command = "cp {{source}} {{output}}"
      outputs = [ "{{source_out_dir}}/{{target_output_name}}.{{source_name_part}}.o" ]
    }
    tool("alink") {
      command = "cat {{inputs}} > {{output}}"
      outputs = [ "{{target_out_dir}}/{{target_output_name}}.a" ]
    }
  }
}
tools("main") { x = 1 }
tools("host") { x = 1 }
`

// shop is a repository with what is easy to get wrong.
func shop() *conflicttest.Tree {
	return conflicttest.New(map[string]string{
		".gn": "buildconfig = \"//build/BUILDCONFIG.gn\"  # as usual\nscript_executable = \"python3\"\n" +
			"default_args = {\n  fast = true\n  list = [ \"a\", -1 ]\n}\ncheck_targets = [ \"//a/*\" ]\n",
		"build/BUILDCONFIG.gn": "import(\"//build/args.gni\")\nset_default_toolchain(\"//build:main\")\n",
		"build/args.gni":       "declare_args() {\n  fast = false\n  list = []\n}\n",
		"build/BUILD.gn":       toolchain,
		"BUILD.gn":             `group("all") { deps = [ "//a", "//b:act", "//c", "//d" ] }`,
		"a/BUILD.gn": `import("a.gni")
static_library("a") {
  sources = [ "a.cc", "a.h" ]
  public_deps = [ "//b" ]
  data = [ "run.txt", "more/" ]
  defines = [ "N=$n", "FAST=$fast" ]
}
`,
		"a/a.gni": "import(\"../shared.gni\")\n", "shared.gni": "n = read_file(\"//n.txt\", \"trim string\")\n", "n.txt": "1\n",
		"a/a.cc": "", "a/a.h": "", "a/run.txt": "", "a/more/x": "",
		"b/BUILD.gn": `config("flags") { cflags = [ "-O1" ] }
static_library("b") {
  sources = [ "b.cc", "gone.cc" ]
  inputs = [ "in.txt" ]
  public_configs = [ ":flags" ]
}
action("act") {
  script = "gen.py"
  args = [ rebase_path("q.txt", root_build_dir), rebase_path("abs.txt") ]
  outputs = [ "$target_gen_dir/o.h" ]
}
`,
		"b/b.cc": "", "b/in.txt": "", "b/gen.py": "", "b/q.txt": "", "b/abs.txt": "",
		"c/BUILD.gn": `static_library("c") {
  sources = [ "c.cc" ]
  data_deps = [ "//a" ]
  deps = [ "//b:b(//build:host)" ]
}
`,
		"c/c.cc":     "",
		"d/BUILD.gn": "static_library(\"d\") {\n  sources = [ \"d.cc\" ]\n}\n", "d/d.cc": "", "README.md": "",
	})
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func mustOpen(t testing.TB, size int) *checkout.Pool {
	t.Helper()
	for _, tool := range []string{"gn", "ninja"} {
		_, err := exec.LookPath(tool)
		storetest.Need(t, "gn", err == nil)
	}
	p, err := checkout.Open(filepath.Join(t.TempDir(), "pool"), checkout.Options{Size: size})
	must(t, err)
	t.Cleanup(func() { must(t, p.Close()) })
	return p
}

func analyze(t testing.TB, p *checkout.Pool, tree conflict.Tree) *conflict.Snapshot {
	t.Helper()
	s, err := conflict.Analyze(context.Background(), gn.New(20*time.Second, p), config.Analysis{Ignore: []string{"README.md"}}, tree)
	must(t, err)
	return s
}

func mustKnow(t testing.TB, s *conflict.Snapshot) *conflict.Snapshot {
	t.Helper()
	if s.Unknown != "" {
		t.Fatal(s.Unknown)
	}
	return s
}

// A file behind a link is read through it.
func TestWhatALinkLeadsTo(t *testing.T) {
	p := mustOpen(t, 1)
	main := shop().With("shared/x.cc", "").With("shared/deep/y", "").With("other/z", "").WithMode("shared/deep/z", conflict.ModeLink, "../../other/z").
		WithMode("d/d.cc", conflict.ModeLink, "../shared/x.cc").WithMode("a/more/link", conflict.ModeLink, "../../shared/deep").
		WithMode("b/q.txt", conflict.ModeLink, "../shared/deep/y").WithMode("folder", conflict.ModeLink, "shared").
		With("c/BUILD.gn", strings.Replace(shop().Content("c/BUILD.gn"), `"c.cc"`, `"c.cc", "//folder/x.cc"`, 1))
	s := config.Analysis{Unowned: config.UnownedTarget}
	snapshot := func(tree conflict.Tree) *conflict.Snapshot {
		snap, err := conflict.Analyze(context.Background(), gn.New(20*time.Second, p), s, tree)
		must(t, err)
		return mustKnow(t, snap)
	}
	before := snapshot(main)
	for file, want := range map[string]string{"shared/x.cc": "//:all //c:c //d:d unowned", "shared/deep/y": "//:all //a:a //b:act //c:c unowned", "other/z": "//:all //a:a //c:c unowned"} {
		f := conflict.FootprintOf(before, snapshot(main.With(file, "1")), "main")
		if got := strings.Join(slices.Sorted(slices.Values(f.Affected)), " "); got != want {
			t.Errorf("%s: affected %q, want %q", file, got, want)
		}
	}
}

func TestAffected(t *testing.T) {
	p, main := mustOpen(t, 1), shop()
	before := mustKnow(t, analyze(t, p, main))
	const all, a, act, b, c, d = "//:all", "//a:a", "//b:act", "//b:b", "//c:c", "//d:d"
	for name, x := range map[string]struct {
		tree *conflicttest.Tree
		want []string
	}{
		"a source":               {main.With("d/d.cc", "1"), []string{all, d}},
		"a header":               {main.With("a/a.h", "1"), []string{all, a, c}},
		"below, by toolchain":    {main.With("b/b.cc", "1"), []string{all, a, b, c}},
		"a source that appears":  {main.With("b/gone.cc", "1"), []string{all, a, b, c}},
		"an input":               {main.With("b/in.txt", "1"), []string{all, a, b, c}},
		"a script":               {main.With("b/gen.py", "1"), []string{all, act}},
		"an argument":            {main.With("b/q.txt", "1"), []string{all, act}},
		"an absolute argument":   {main.With("b/abs.txt", "1"), []string{all, act}},
		"data":                   {main.With("a/run.txt", "1"), []string{all, a, c}},
		"data in a folder":       {main.With("a/more/y", "1"), []string{all, a, c}},
		"exec bit":               {main.WithMode("d/d.cc", "100755", ""), []string{all, d}},
		"a removed source":       {main.Without("d/d.cc"), []string{all, d}},
		"a build file's comment": {main.With("d/BUILD.gn", "# hi\n"+main.Content("d/BUILD.gn")), []string{all, d}},
		"an import of an import": {main.With("shared.gni", "# x\n"+main.Content("shared.gni")), []string{all, a, c}},
		"what an import reads":   {main.With("n.txt", "2\n"), []string{all, a, c}},
		"a new target":           {main.With("d/BUILD.gn", main.Content("d/BUILD.gn")+"copy(\"new\") {\n sources = [ \"d.cc\" ]\n outputs = [ \"$target_out_dir/x\" ]\n}\n"), []string{all, "//d:d", "//d:new"}},
		"a tool's command":       {main.With("build/BUILD.gn", strings.ReplaceAll(toolchain, "touch", "touch -a")), []string{all, a, act, b, c, d}},
		"an argument's default":  {main.With("build/args.gni", main.Content("build/args.gni")+"# x\n"), []string{all, a, act, b, c, d}},
		"ignored":                {main.With("README.md", "1"), nil},
		"nobody's":               {main.With("stray.h", "1"), []string{all, a, act, b, c, d}},
	} {
		f := conflict.FootprintOf(before, mustKnow(t, analyze(t, p, x.tree)), "main")
		if got := slices.Sorted(slices.Values(f.Affected)); !slices.Equal(got, x.want) {
			t.Errorf("%s: affected %q, want %q", name, got, x.want)
		}
	}
}

func TestSameTreeSameHashes(t *testing.T) {
	p, tree := mustOpen(t, 2), shop()
	held, err := p.Checkout(t.Context(), tree, nil)
	must(t, err)
	one := mustKnow(t, analyze(t, p, tree))
	held.Release()
	held, err = p.Checkout(t.Context(), tree.With("x", "1"), nil)
	must(t, err)
	two := mustKnow(t, analyze(t, p, tree))
	held.Release()
	if other := mustKnow(t, analyze(t, mustOpen(t, 1), tree)); !slices.Equal(one.Targets(), two.Targets()) || !slices.Equal(one.Targets(), other.Targets()) {
		t.Error("the place is in the hashes")
	}
}

func TestBrokenFilesSayWhere(t *testing.T) {
	p, main := mustOpen(t, 1), shop()
	for name, x := range map[string]struct {
		tree *conflicttest.Tree
		want string
	}{
		"syntax":        {main.With("d/BUILD.gn", "\n\nstatic_library(\"d\" {\n"), "ERROR at //d/BUILD.gn:3:20"},
		"half a string": {main.With("d/BUILD.gn", "x = \"\n"), "line 1: a string does not end"},
		"no target":     {main.With("BUILD.gn", `group("all") { deps = [ "//d:none" ] }`), "Unresolved dependencies"},
		"assert":        {main.With("d/BUILD.gn", "assert(false, \"never\")\n"), "ERROR at //d/BUILD.gn:1:1"},
		"cycle":         {main.With("d/BUILD.gn", "group(\"d\") {\n deps = [ \"//:all\" ]\n}\n"), "Dependency cycle"},
		"no .gn":        {main.Without(".gn"), "no file .gn"},
		"no config":     {main.With(".gn", ""), "buildconfig"},
		"a link":        {main.WithMode("d/BUILD.gn", conflict.ModeLink, "../c/BUILD.gn"), "//d/BUILD.gn: it is a link"},
		"our folder":    {main.With(".submitqueue-gn/x", ""), ".submitqueue-gn"},
		"odd names":     {main.With("d/BUILD.gn", "group(\"d\") {}\ngroup(\"a$0x0Ab\") {}\n"), "plain characters"},
	} {
		s := analyze(t, p, x.tree)
		if !strings.Contains(s.Unknown, x.want) || s.Provisional || len(s.Targets()) != 1 {
			t.Errorf("%s: unknown %q, want %q", name, s.Unknown, x.want)
		}
	}
	t.Setenv("PATH", "/none")
	if s := analyze(t, p, main); !s.Provisional {
		t.Errorf("without gn: %q", s.Unknown)
	}
}

// Nothing that a tree holds is run, and nothing beside it is read.
func TestNothingOfTheTreeIsRun(t *testing.T) {
	p := mustOpen(t, 1)
	dir := t.TempDir()
	marker, secret := filepath.Join(dir, "marker"), filepath.Join(dir, "secret.gni")
	must(t, os.WriteFile(secret, []byte("hush_hush\n"), 0o600))
	main := shop().WithMode("evil.py", "100755", "#!/bin/sh\ntouch "+marker+"\n").WithMode("evil", "100755", "#!/bin/sh\ntouch "+marker+"\n")
	call := "exec_script(\"//evil.py\")\n"
	read := "x = read_file(\"" + secret + "\", \"string\")\nassert(false, x)\n"
	add := func(path, content string) *conflicttest.Tree { return main.With(path, main.Content(path)+content) }
	for name, tree := range map[string]*conflicttest.Tree{
		"exec in BUILD.gn":         add("d/BUILD.gn", call),
		"exec in an import":        add("a/a.gni", call),
		"exec in BUILDCONFIG":      add("build/BUILDCONFIG.gn", call),
		"exec in .gn":              add(".gn", call),
		"exec in a value":          add(".gn", "root = exec_script(\"//evil.py\")\n"),
		"exec in default_args":     main.With(".gn", "buildconfig = \"//build/BUILDCONFIG.gn\"\ndefault_args = { "+call+" }\n"),
		"import in default_args":   main.With("x.gni", call).With(".gn", "buildconfig = \"//build/BUILDCONFIG.gn\"\ndefault_args = { import(\"//x.gni\") }\n"),
		"expansion in .gn":         main.With(".gn", "buildconfig = \"//build/BUILDCONFIG.gn\"\nroot = \"${exec_script(\"//evil.py\")}\"\n"),
		"another whitelist":        add(".gn", "exec_script_whitelist = [ \"//d/BUILD.gn\" ]\n").With("d/BUILD.gn", call),
		"interpreter":              main.With(".gn", strings.Replace(main.Content(".gn"), "python3", "//evil", 1)).With("d/BUILD.gn", call),
		"exec in a text file":      main.With("x.txt", call).With("d/BUILD.gn", "import(\"//x.txt\")\n"),
		"computed import":          main.With("d/BUILD.gn", "f = \"//x.gni\"\nimport(f)\n"),
		"expanded import":          main.With("d/BUILD.gn", "f = \"x\"\nimport(\"//$f.gni\")\n"),
		"absolute import":          main.With("d/BUILD.gn", "import(\""+secret+"\")\n"),
		"import from above":        main.With("d/BUILD.gn", "import(\"//../../../../"+secret+"\")\n"),
		"import through a link":    main.WithMode("l", conflict.ModeLink, dir).With("d/BUILD.gn", "import(\"//l/secret.gni\")\n"),
		"a link as import":         main.WithMode("l.gni", conflict.ModeLink, secret).With("d/BUILD.gn", "import(\"//l.gni\")\n"),
		"absolute read":            main.With("d/BUILD.gn", read),
		"computed read":            main.With("d/BUILD.gn", "f = \""+secret+"\"\nassert(false, read_file(f, \"string\"))\n"),
		"read in an import":        main.With("d/x.gni", read).With("d/BUILD.gn", "import(\"x.gni\")\n"),
		"read in a written import": main.With("d/BUILD.gn", "write_file(\"//.submitqueue-gn/x.gni\", \"x = read_\" + \"file("+strings.ReplaceAll(strconv.Quote(secret), `"`, `\"`)+", \\\"string\\\")\")\nimport(\"//.submitqueue-gn/x.gni\")\n"),
		"written arguments":        main.With("d/BUILD.gn", "write_file(\"//.submitqueue-gn/args.gn\", \"s = 1\")\n"),
		"import of what is made":   main.With("d/BUILD.gn", "import(\"//.submitqueue-gn/x.gni\")\n"),
		"buildconfig elsewhere":    main.With(".gn", "buildconfig = \""+secret+"\"\n"),
		"buildconfig from above":   main.With(".gn", "buildconfig = \"//../"+secret+"\"\n"),
		"buildconfig a text":       main.With("x.txt", call).With(".gn", "buildconfig = \"//x.txt\"\n"),
		"another source":           add(".gn", "secondary_source = \"//a/\"\n"),
		"a link as .gn":            main.WithMode(".gn", conflict.ModeLink, "x.gn").With("x.gn", call),
	} {
		s := analyze(t, p, tree)
		if s.Unknown == "" {
			t.Errorf("%s: it has a graph", name)
		}
		if strings.Contains(s.Unknown, "hush") {
			t.Errorf("%s: %s", name, s.Unknown)
		}
		if _, err := os.Stat(marker); err == nil {
			t.Fatalf("%s: it was run", name)
		}
	}
	// Arguments that the run itself has made are not those of the next.
	made := analyze(t, p, main.With("d/BUILD.gn", main.Content("d/BUILD.gn")+"declare_args() { who = \"nobody\" }\ngroup(\"by-$who\") {}\n"+
		"generated_file(\"made\") { outputs = [ \"$root_build_dir/args.gn\" ]\n contents = \"who = \\\"somebody\\\"\" }\n"))
	mustKnow(t, made)
	if names := fmt.Sprint(made.Targets()); !strings.Contains(names, "//d:by-nobody") || strings.Contains(names, "somebody") {
		t.Errorf("arguments that a run has made are used: %s", names)
	}
	// One that nothing leads to does no harm, and stops nobody.
	mustKnow(t, analyze(t, p, main.With("third/BUILD.gn", call+read)))
}
