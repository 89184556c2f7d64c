package bazel_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/conflicttest"
)

// outer is a repository that loads from others: one that is a part of it, one
// that a rule makes out of a lock file, and one that borrows a folder of it.
func outer() *conflicttest.Tree {
	return conflicttest.New(map[string]string{
		"WORKSPACE": `workspace(name = "outer")
load("//tools:repos.bzl", "versions")
local_repository(name = "inner", path = "third_party/inner")
versions(name = "versions", lock = "//tools:lock.json")
new_local_repository(name = "borrowed", path = "third_party/plain", build_file_content = "")
`,
		"tools/BUILD":     "",
		"tools/lock.json": "1",
		"tools/repos.bzl": `def _impl(ctx):
    ctx.file("BUILD", "")
    ctx.file("v.bzl", "load(\"@inner//:i.bzl\", \"I\")\nV = '%s' + I" % ctx.read(ctx.attr.lock))
versions = repository_rule(implementation = _impl, attrs = {"lock": attr.label(), "more": attr.string()})
`,
		"third_party/inner/WORKSPACE": "", "third_party/inner/BUILD": "", "third_party/inner/i.bzl": "I = 'i'\n",
		"third_party/plain/p.bzl": "P = 'p'\n",
		"a/BUILD":                 "load(\"@versions//:v.bzl\", \"V\")\nfilegroup(name = \"a\", tags = [V])\n",
		"b/BUILD":                 "load(\"@borrowed//:p.bzl\", \"P\")\nfilegroup(name = \"b\", tags = [P])\n",
		"c/BUILD":                 "filegroup(name = \"c\", srcs = [\"@versions//:x\"])\n",
		"d/BUILD":                 "filegroup(name = \"d\")\n",
	})
}

func TestExternalRepositories(t *testing.T) {
	b, main := mustOpen(t), outer()
	if got := names(b.know(main)); got != "//a:a //b:b //c:c //d:d" {
		t.Fatalf("targets are %s", got)
	}
	for name, x := range map[string]struct {
		tree *conflicttest.Tree
		want string
	}{
		"the lock file":         {main.With("tools/lock.json", "2"), "//a:a //b:b //c:c"},
		"how they are declared": {main.With("WORKSPACE", main.Content("WORKSPACE")+"# hi\n"), "//a:a //b:b //c:c"},
		"a part of the tree":    {main.With("third_party/inner/i.bzl", "I = 'j'\n"), "//a:a"},
	} {
		if got := strings.Join(b.affected(main, x.tree), " "); got != x.want {
			t.Errorf("%s: affected %s, want %s", name, got, x.want)
		}
	}
}

// All files that external repositories are made of have to be the target
// branch's.
func TestRepositoriesOfTheTarget(t *testing.T) {
	b, main := mustOpen(t), outer()
	b.know(main)
	for name, tree := range map[string]*conflicttest.Tree{
		"the lock file":            main.With("tools/lock.json", "2"),
		"how they are declared":    main.With("WORKSPACE", main.Content("WORKSPACE")+"# hi\n"),
		"the code that makes them": main.With("tools/repos.bzl", main.Content("tools/repos.bzl")+"# hi\n"),
		"what one borrows":         main.With("third_party/plain/p.bzl", "P = 'q'\n"),
	} {
		s, err := conflict.Analyze(context.Background(), b.Trusting(main), settings, tree)
		must(t, err)
		if !s.Provisional || !strings.Contains(s.Unknown, "landed") {
			t.Errorf("%s: provisional is %t, and it says %q", name, s.Provisional, s.Unknown)
		}
	}
	s, err := conflict.Analyze(context.Background(), b.Trusting(main), settings, main.With("d/BUILD", "filegroup(name = \"e\")\n"))
	must(t, err)
	if s.Unknown != "" {
		t.Errorf("another edit: %s", s.Unknown)
	}
}

// A pull request's code is not run before it has landed.
func TestNothingOfATreeIsRun(t *testing.T) {
	b, main := mustOpen(t), outer()
	b.know(main)
	dir := t.TempDir()
	marker, secret := filepath.Join(dir, "marker"), filepath.Join(dir, "secret.bzl")
	must(t, os.WriteFile(secret, []byte("S = 'hush'\nhush hush\n"), 0o600))
	run := `def _impl(ctx):
    ctx.file("BUILD", "")
    ctx.file("v.bzl", "V = 'x'")
    ctx.execute(["/bin/sh", "-c", "echo ran >>` + marker + `"])
versions = repository_rule(implementation = _impl, attrs = {"lock": attr.label(), "more": attr.string()}, local = True)
`
	script := "#!/bin/sh\necho ran >>" + marker + "\nexec /usr/bin/bazel \"$@\"\n"
	uses := "load(\"@evil//:v.bzl\", \"V\")\nfilegroup(name = \"z\", tags = [V])\n"
	declared := main.Content("WORKSPACE") + "versions(name = \"evil\", lock = \"//tools:lock.json\")\n"
	plain := shop()
	for name, x := range map[string]struct {
		tree, target *conflicttest.Tree
		known        bool
	}{
		"a rule of a repository":     {main.With("tools/repos.bzl", run), main, false},
		"a new repository":           {main.With("tools/repos.bzl", run).With("WORKSPACE", declared).With("z/BUILD", uses), main, false},
		"one that nobody declares":   {main.With("z/BUILD", uses), main, false},
		"one in a new workspace":     {plain.With("z/BUILD", uses).With("tools/BUILD", "").With("tools/repos.bzl", run).With("WORKSPACE", "load(\"//tools:repos.bzl\", \"versions\")\nversions(name = \"evil\")\n"), plain, false},
		"without a load":             {plain.With("z/BUILD", "filegroup(name = \"z\", srcs = [\"@evil//:v.bzl\"])\n").With("tools/BUILD", "").With("tools/repos.bzl", run).With("WORKSPACE", "load(\"//tools:repos.bzl\", \"versions\")\nversions(name = \"evil\")\n"), plain, true},
		"a load that no scan finds":  {plain.With("z/BUILD", "X = 1; "+uses).With("tools/BUILD", "").With("tools/repos.bzl", run).With("WORKSPACE", "load(\"//tools:repos.bzl\", \"versions\")\nversions(name = \"evil\")\n"), plain, false},
		"a file elsewhere":           {plain.With("z/BUILD", strings.ReplaceAll(uses, "v.bzl", "secret.bzl")).With("WORKSPACE", "local_repository(name = \"evil\", path = \""+dir+"\")\n"), plain, false},
		"a link out of the tree":     {plain.With("z/BUILD", "load(\":s.bzl\", \"S\")\n").WithMode("z/s.bzl", conflict.ModeLink, secret), plain, false},
		"an absolute load":           {plain.With("z/BUILD", "load(\""+secret+"\", \"S\")\n"), plain, false},
		"a load from above":          {plain.With("z/BUILD", "load(\"//../..:secret.bzl\", \"S\")\n"), plain, false},
		"the wrapper":                {plain.WithMode("tools/bazel", "100755", script), plain, true},
		"the wrapper behind a link":  {plain.WithMode("tools", conflict.ModeLink, "other").WithMode("other/bazel", "100755", script), plain, true},
		"an rc file":                 {plain.With(".bazelrc", "startup --output_base="+dir+"/base --host_jvm_args=-XX:OnError="+marker+"\nquery --override_repository=evil="+dir+"\nimport "+secret+"\n"), plain, true},
		"a version":                  {plain.With(".bazelversion", "../../../"+dir+"/x\n"), plain, true},
		"where bazelisk downloads":   {plain.With(".bazeliskrc", "BAZELISK_BASE_URL=http://127.0.0.1:1/\nUSE_BAZEL_VERSION=evil\n"), plain, true},
		"a query as a build":         {plain.With("z/BUILD", "genquery(name = \"q\", expression = \"deps(//e)\", scope = [\"//e\"])\n"), plain, true},
		"a module's extension":       {plain.With("MODULE.bazel", "x = use_extension(\"//tools:repos.bzl\", \"versions\")\nuse_repo(x, \"evil\")\n").With("tools/BUILD", "").With("tools/repos.bzl", run), plain, true},
		"a WORKSPACE.bazel before":   {plain.With("WORKSPACE.bazel", "load(\"//tools:repos.bzl\", \"versions\")\nversions(name = \"evil\")\n").With("tools/BUILD", "").With("tools/repos.bzl", run), plain, true},
		"a toolchain's registration": {plain.With("WORKSPACE", "register_toolchains(\"@evil//:all\")\n"), plain, true},
	} {
		s, err := conflict.Analyze(context.Background(), b.Trusting(x.target), settings, x.tree)
		must(t, err)
		if (s.Unknown == "") != x.known {
			t.Errorf("%s: it says %q", name, s.Unknown)
		}
		if strings.Contains(s.Unknown, "hush") || strings.Contains(names(s), "hush") {
			t.Errorf("%s: it tells: %s", name, s.Unknown)
		}
		if _, err := os.Stat(marker); err == nil {
			t.Fatalf("%s: it was run", name)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("%v was written beside the tree, %v", left, err)
	}
	// Once it has landed it is run: the marker would have told.
	b.analyze(main.With("tools/repos.bzl", run))
	if _, err := os.Stat(marker); err != nil {
		t.Errorf("the trap does not work: %v", err)
	}
	_, err := b.Graph(context.Background(), main)
	if !errors.Is(err, conflict.ErrProvisional) {
		t.Errorf("without a target branch: %v", err)
	}
}
