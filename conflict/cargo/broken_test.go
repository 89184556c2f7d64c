package cargo_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/cargo"
	"github.com/submitqueue/submitqueue/conflict/conflicttest"
	"github.com/submitqueue/submitqueue/queue/config"
)

func TestTreesWithoutAGraph(t *testing.T) {
	base := conflicttest.New(locked)
	for name, tt := range map[string]struct {
		tree    *conflicttest.Tree
		unknown string
	}{
		"no package":                {conflicttest.New(map[string]string{"a.rs": ""}), "the tree has no Cargo package"},
		"an empty workspace":        {conflicttest.New(map[string]string{"Cargo.toml": "[workspace]\n"}), "the tree has no Cargo package"},
		"a broken member":           {base.With("b/Cargo.toml", "[package]\nname = \"b\n"), "b/Cargo.toml:2: "},
		"a broken top":              {base.With("Cargo.toml", "[workspace\n"), "Cargo.toml:1: "},
		"a broken dependency":       {base.With("x/Cargo.toml", "\n\nx").With("b/Cargo.toml", pkg("b", "[dependencies]\nx = { path = \"../x\" }\n")), "x/Cargo.toml:3: "},
		"a broken excluded one":     {conflicttest.New(map[string]string{"a/Cargo.toml": pkg("a", ""), "b/Cargo.toml": "="}), "b/Cargo.toml:1: "},
		"a nameless package":        {base.With("a/Cargo.toml", "[package]\nversion = \"1.0.0\"\n"), "a/Cargo.toml:1: package.name"},
		"an odd name":               {base.With("a/Cargo.toml", "[package]\nname = \"a b\"\n"), "a/Cargo.toml:2: package.name"},
		"no table":                  {base.With("a/Cargo.toml", "dependencies = 3\n"+pkg("a", "")), "a/Cargo.toml:1: dependencies"},
		"a member that is not":      {base.With("Cargo.toml", "[workspace]\n\nmembers = [\"gone\"]\n"), `Cargo.toml:3: the member "gone"`},
		"a glob over no package":    {base.With("Cargo.toml", "[workspace]\nmembers = [\"*\"]\n").With("text/x", ""), `the member "*"`},
		"an odd shared version":     {base.With("Cargo.toml", base.Content("Cargo.toml")+"\n[workspace.dependencies]\nserde = 1\n"), "Cargo.toml:8: the dependency serde"},
		"an optional shared one":    {base.With("Cargo.toml", base.Content("Cargo.toml")+"\n[workspace.dependencies]\nserde = { version = \"1\", optional = true }\n"), "Cargo.toml:8: the dependency serde"},
		"a shared one without name": {base.With("Cargo.toml", base.Content("Cargo.toml")+"\n[workspace.dependencies]\n\"a b\" = \"1\"\n"), "the dependency a b"},
		"members of text":           {base.With("Cargo.toml", "[workspace]\n\nmembers = \"a\"\n"+pkg("top", "")), "Cargo.toml:3: members is not a list of strings"},
		"an odd exclusion":          {base.With("Cargo.toml", "[workspace]\nexclude = [1]\n"+pkg("top", "")), "Cargo.toml:2: exclude is not a list of strings"},
		"a submodule for one":       {base.With("Cargo.toml", "[workspace]\nmembers = [\"s*\"]\n").WithMode("sub", conflict.ModeSubmodule, "1"), `the member "s*"`},
		"two of one name":           {base.With("c/Cargo.toml", pkg("a", "")), "c/Cargo.toml: a/Cargo.toml is a package of the same name"},
		"a broken lock file":        {base.With("Cargo.lock", "[[package]]\nname = \n"), "Cargo.lock:2: "},
		"an odd lock file":          {base.With("Cargo.lock", "[[package]]\nname = \"a\"\n"), "Cargo.lock:1: the package number 1"},
		"a lock file of text":       {base.With("Cargo.lock", "package = \"a\"\n"), "Cargo.lock:1: package is not"},
		"merge marks":               {base.With("Cargo.lock", "<<<<<<< ours\n"+base.Content("Cargo.lock")), "Cargo.lock:1: "},
		"a lock link out":           {base.WithMode("Cargo.lock", conflict.ModeLink, "../x"), "Cargo.lock:1: "},
		"broken settings":           {base.With(".cargo/config.toml", "["), ".cargo/config.toml:1: "},
		"a link to nothing":         {base.WithMode("a/Cargo.toml", conflict.ModeLink, "gone"), "a/Cargo.toml:1: a symbolic link"},
		"a circle of links":         {base.WithMode("a/Cargo.toml", conflict.ModeLink, "Cargo.toml"), "a/Cargo.toml:1: a symbolic link"},
		"an enormous manifest":      {base.With("a/Cargo.toml", strings.Repeat("#\n", 3<<20)), "a/Cargo.toml:1: the file has 6291456 bytes"},
		"a deep one":                {base.With("a/Cargo.toml", "x = "+strings.Repeat("[", 1<<20)), "a/Cargo.toml:1: nested too deeply"},
		"a long key":                {base.With("a/Cargo.toml", strings.Repeat("a.", 1<<20)+"a = 1"), "a/Cargo.toml:1: nested too deeply"},
	} {
		snap := mustAnalyze(t, settings, tt.tree)
		if !strings.Contains(snap.Unknown, tt.unknown) || len(snap.Targets()) != 1 || snap.Targets()[0].Target != config.TargetTree {
			t.Errorf("%s: unknown %q, targets %v", name, snap.Unknown, snap.Targets())
		}
	}
}

// A manifest that nobody refers to may hold anything.
func TestManifestsAside(t *testing.T) {
	base := conflicttest.New(locked)
	for _, p := range []string{"a/tests/ui/Cargo.toml", "a/fixtures/x/Cargo.toml", "templates/x/Cargo.toml", ".hidden/Cargo.toml", "other/Cargo.toml"} {
		if snap := mustAnalyze(t, settings, base.With(p, "{{ name }}")); snap.Unknown != "" {
			t.Errorf("%s: %s", p, snap.Unknown)
		}
	}
}

func TestLinksAndSubmodules(t *testing.T) {
	base := conflicttest.New(locked).
		WithMode("link", conflict.ModeLink, "c").
		With("d/Cargo.toml", pkg("d", "[dependencies]\nc = { path = \"../link\" }\nsub = { path = \"../mod/sub\" }\nout = { path = \"../../out\" }\nabs = { path = \"/abs\" }\n")).
		WithMode("mod", conflict.ModeSubmodule, "1").
		WithMode("b/src/shared.rs", conflict.ModeLink, "../../shared/real.rs").
		WithMode("b/src/loop.rs", conflict.ModeLink, "loop.rs").
		WithMode("b/src/dir", conflict.ModeLink, "../../shared").
		With("shared/real.rs", "include!(\"../data/x.txt\");\n").
		With("shared/y", "").With("data/x.txt", "1")
	for file, want := range map[string][]string{
		"c/src/lib.rs":   {"c", "d"},
		"shared/y":       {"b", config.TargetUnowned},
		"shared/real.rs": {"b", config.TargetUnowned},
	} {
		if d := cmp.Diff(want, affected(t, base, base.With(file, base.Content(file)+"\n"))); d != "" {
			t.Errorf("%s: %s", file, d)
		}
	}
	if d := cmp.Diff([]string{"d", config.TargetUnowned}, affected(t, base, base.WithMode("mod", conflict.ModeSubmodule, "2"))); d != "" {
		t.Errorf("submodule: %s", d)
	}
	glob := conflicttest.New(locked).Without("Cargo.lock").With("Cargo.toml", "[workspace]\nmembers = [\"m/*\"]\n").
		WithMode("m/c", conflict.ModeLink, "../c").WithMode("m/README.md", conflict.ModeLink, "../c/src/lib.rs")
	if d := cmp.Diff([]string{"c", config.TargetUnowned}, affected(t, glob, glob.With("c/src/lib.rs", "1"))); d != "" {
		t.Errorf("a member behind a link: %s", d)
	}
	manifest := conflicttest.New(locked).With("real.toml", pkg("c", "")).WithMode("c/Cargo.toml", conflict.ModeLink, "../real.toml")
	if d := cmp.Diff([]string{"c", config.TargetUnowned}, affected(t, manifest, manifest.With("real.toml", pkg("c", "[features]\nx = []\n")))); d != "" {
		t.Errorf("linked manifest: %s", d)
	}
}

func TestPathsInSources(t *testing.T) {
	base := conflicttest.New(locked).
		With("schema/a.sql", "").With("gen/x/one.proto", "").With("gen/x/two.proto", "").With("odd.rs", "").
		With("a/src/lib.rs", "const Q: &str = include_str!(\"../../schema/a.sql\");\nconst C: char = '\\\"';\n").
		With("b/build.rs", "fn main() { compile(&[\"../gen/x/one.proto\"], &[\"../gen/x\", \"..\"]) }\n").
		With("c/src/lib.rs", "#[path = \"../../odd.rs\"]\nmod odd;\nconst T: &str = include_str!(\"../tests/data.txt\");\n").
		With("c/tests/data.txt", "").
		With("d/tests/t.rs", "const X: &str = include_str!(concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/../schema/a.sql\"));\n")
	for file, want := range map[string][]string{
		"schema/a.sql":     {"a", "b", "d"},
		"gen/x/one.proto":  {"b"},
		"gen/x/two.proto":  {"b"},
		"odd.rs":           {"c"},
		"c/tests/data.txt": {"c"},
	} {
		if d := cmp.Diff(want, affected(t, base, base.With(file, "1"))); d != "" {
			t.Errorf("%s: %s", file, d)
		}
	}
	f := conflict.FootprintOf(mustAnalyze(t, settings, base), mustAnalyze(t, settings, base.With("c/tests/data.txt", "1")), "m")
	if !strings.Contains(strings.Join(f.Write, " "), "lib:./c") {
		t.Errorf("what a library includes of its tests is the library's: %v", f.Write)
	}
}

func TestNamesAndWorkspaces(t *testing.T) {
	for name, tt := range map[string]struct {
		files map[string]string
		want  []string
	}{
		"a workspace below the top": {map[string]string{"rust/Cargo.toml": "[workspace]\nmembers = [\"a\"]\n", "rust/a/Cargo.toml": pkg("a", ""), "rust/fuzz/Cargo.toml": pkg("f", "[workspace]\n")}, []string{"./rust/fuzz", "a"}},
		"two side by side":          {map[string]string{"x/Cargo.toml": pkg("x", ""), "y/Cargo.toml": pkg("y", "")}, []string{"./x", "./y"}},
		"names that are taken":      {map[string]string{"Cargo.toml": "[workspace]\nmembers = [\"t\", \"u\"]\n", "t/Cargo.toml": pkg("tree", ""), "u/Cargo.toml": pkg("unowned", "")}, []string{"./t", "./u"}},
		"a package at the top":      {map[string]string{"Cargo.toml": pkg("x", ""), "src/lib.rs": ""}, []string{"x"}},
		"a pointer to the root":     {map[string]string{"w/Cargo.toml": "[workspace]\nmembers = [\"../p\"]\n", "p/Cargo.toml": "[package]\nname = \"p\"\nworkspace = \"../w\"\n"}, []string{"p"}},
		"its old name":              {map[string]string{"Cargo.toml": "[project]\nname = \"x\"\n[dev_dependencies]\n"}, []string{"x"}},
		"globs":                     {map[string]string{"Cargo.toml": "[workspace]\nmembers = [\"a?/**/z*\", \"/etc\", \"../up\"]\n", "ab/c/d/z1/Cargo.toml": pkg("z1", ""), "ab/z2/Cargo.toml": pkg("z2", "")}, []string{"z1", "z2"}},
	} {
		var names []string
		snap := mustAnalyze(t, config.Analysis{}, conflicttest.New(tt.files))
		for _, target := range snap.Targets() {
			names = append(names, target.Target)
		}
		if d := cmp.Diff(tt.want, names); d != "" {
			t.Errorf("%s: %s %s", name, snap.Unknown, d)
		}
	}
}

// brittle fails to read after some blobs.
type brittle struct {
	*conflicttest.Tree
	left *int
}

var errGone = errors.New("gone")

func (b brittle) Blob(ctx context.Context, oid string) ([]byte, error) {
	if *b.left--; *b.left < 0 {
		return nil, errGone
	}
	return b.Tree.Blob(ctx, oid)
}

func TestEveryFailureToReadIsAnError(t *testing.T) {
	tree := conflicttest.New(locked).WithMode("link", conflict.ModeLink, "c").WithMode("b/src/l.rs", conflict.ModeLink, "lib.rs").
		With("d/Cargo.toml", pkg("d", "[dependencies]\nc = { path = \"../link\" }\n")).
		With("Cargo.toml", locked["Cargo.toml"]+"other = { path = \"link\" }\n").
		With("d/src/lib.rs", "x").WithMode(".cargo/config.toml", conflict.ModeLink, "c").With(".cargo/c", "paths = []\n")
	for n := 0; ; n++ {
		left := n
		_, err := conflict.Analyze(t.Context(), cargo.New(), settings, brittle{tree, &left})
		if err == nil {
			if n < 10 {
				t.Fatalf("no error after %d blobs", n)
			}
			break
		}
		if !errors.Is(err, errGone) {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := cargo.New().Graph(ctx, tree); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}

func TestAnalyzerIsSafeForConcurrentUse(t *testing.T) {
	a := cargo.New()
	tree := conflicttest.New(workspace)
	want := mustAnalyze(t, settings, tree)
	for range 4 {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			got, err := conflict.Analyze(t.Context(), a, settings, tree)
			must(t, err)
			if d := cmp.Diff(want.Targets(), got.Targets()); d != "" {
				t.Error(d)
			}
		})
	}
}

// FuzzManifest holds that no file leads to a panic, and that what is refused
// is refused with a line.
func FuzzManifest(f *testing.F) {
	for _, files := range []map[string]string{workspace, locked} {
		for p, content := range files {
			if strings.Contains(p, "Cargo.") {
				f.Add([]byte(content))
			}
		}
	}
	f.Add([]byte("replace.\"\" = \"\""))
	f.Add([]byte("target = 3\npatch = []\nreplace.\"a:1\" = {path = \"x\"}\nworkspace.members = [1, \"**\", \"../..\"]\n[package]\nname=\"x\"\nworkspace=\"..\"\nbuild=false\n[lib]\npath=\"../../..\"\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		if line, wrong := cargo.ReadManifest(src); wrong != "" && line < 1 {
			t.Errorf("%q without a line", wrong)
		}
		if line, wrong := cargo.ReadLock(src); wrong != "" && line < 1 {
			t.Errorf("%q without a line", wrong)
		}
		tree := conflicttest.New(map[string]string{"Cargo.toml": string(src), "a/Cargo.toml": string(src), "Cargo.lock": string(src), "a/src/lib.rs": string(src)})
		snap, err := conflict.Analyze(t.Context(), cargo.New(), config.Analysis{}, tree)
		must(t, err)
		if len(snap.Targets()) == 0 {
			t.Error("no target at all")
		}
	})
}
