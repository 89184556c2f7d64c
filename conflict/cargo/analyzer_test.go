package cargo_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/cargo"
	"github.com/submitqueue/submitqueue/conflict/conflicttest"
	"github.com/submitqueue/submitqueue/queue/config"
)

// settings let unowned files be a target, so that what is everybody's shows.
var settings = config.Analysis{Analyzer: cargo.Name, Unowned: config.UnownedTarget}

// pkg returns a manifest of a package with more lines.
func pkg(name, more string) string {
	return "[package]\nname = \"" + name + "\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n" + more
}

// workspace is a repository with what is easy to get wrong.
var workspace = map[string]string{
	"Cargo.toml": "[workspace]\nmembers = [\"crates/*\", \"tools/gen\"]\nexclude = [\"crates/odd/inner\"]\nresolver = \"2\"\n\n" +
		"[workspace.package]\nlicense = \"MIT\"\n\n[workspace.dependencies]\nbase = { path = \"crates/base\" }\nhelp = { path = \"libs/helper\", package = \"helper\" }\n\n" +
		"[profile.release]\nlto = true\n",
	"README.md":                                  "# about\n",
	"scripts/run.sh":                             "true\n",
	"rust-toolchain.toml":                        "[toolchain]\nchannel = \"stable\"\n",
	"crates/base/Cargo.toml":                     pkg("base", "[dev-dependencies]\ntop = { path = \"../top\" }\n"),
	"crates/base/src/lib.rs":                     "#![doc = include_str!(\"../README.md\")]\n",
	"crates/base/README.md":                      "# base\n",
	"crates/base/CHANGES.md":                     "# base\n",
	"crates/base/tests/it.rs":                    "",
	"crates/base/tests/data.json":                "{}",
	"crates/base/proto/x.proto":                  "",
	"crates/top/Cargo.toml":                      pkg("top", "[dependencies]\nbase.workspace = true\n\n[target.'cfg(windows)'.dependencies]\nwin = { path = \"../win\" }\n\n[build-dependencies]\nhelp.workspace = true\n"),
	"crates/top/src/lib.rs":                      "",
	"crates/top/build.rs":                        "fn main() {}\n",
	"crates/top/examples/x.rs":                   "fn main() {}\n",
	"crates/win/Cargo.toml":                      "[package]\nname = \"win\"\nversion = \"0.1.0\"\nlicense.workspace = true\n\n[dependencies]\nrenamed = { path = \"../../libs/plain\", package = \"plain\", optional = true }\n",
	"crates/win/src/lib.rs":                      "",
	"crates/win/src/bin/tool.rs":                 "fn main() {}\n",
	"crates/odd/Cargo.toml":                      pkg("odd", "[lib]\npath = \"../../shared/odd.rs\"\n"),
	"shared/odd.rs":                              "mod part;\n",
	"shared/part.rs":                             "",
	"crates/odd/inner/Cargo.toml":                pkg("inner", "[dependencies]\nbase = { path = \"../../base\" }\n"),
	"crates/odd/inner/src/lib.rs":                "",
	"libs/helper/Cargo.toml":                     pkg("helper", ""),
	"libs/helper/src/lib.rs":                     "",
	"libs/plain/Cargo.toml":                      pkg("plain", ""),
	"libs/plain/src/lib.rs":                      "",
	"tools/gen/Cargo.toml":                       pkg("gen", "[dependencies]\ntop = { path = \"../../crates/top\" }\n"),
	"tools/gen/src/main.rs":                      "fn main() {}\n",
	"tools/gen/tests/fixtures/broken/Cargo.toml": "[[[",
}

func mustAnalyze(t testing.TB, s config.Analysis, tree conflict.Tree) *conflict.Snapshot {
	t.Helper()
	snap, err := conflict.Analyze(context.Background(), cargo.New(), s, tree)
	must(t, err)
	return snap
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func affected(t testing.TB, from, to conflict.Tree) []string {
	t.Helper()
	main, change := mustAnalyze(t, settings, from), mustAnalyze(t, settings, to)
	if main.Unknown != "" || change.Unknown != "" {
		t.Fatalf("unknown: %q, %q", main.Unknown, change.Unknown)
	}
	return conflict.FootprintOf(main, change, "m").Affected
}

func TestTargets(t *testing.T) {
	snap := mustAnalyze(t, settings, conflicttest.New(workspace))
	var names []string
	for _, target := range snap.Targets() {
		names = append(names, target.Target)
	}
	want := []string{"./crates/odd/inner", "base", "gen", "helper", "odd", "plain", "top", config.TargetUnowned, "win"}
	if d := cmp.Diff(want, names); d != "" {
		t.Errorf("%s %s", snap.Unknown, d)
	}
	if len(snap.Cycles) > 0 {
		t.Errorf("cycles: %v", snap.Cycles)
	}
	if got := snap.Alias("./crates/odd/inner"); got != "inner" {
		t.Errorf("the alias of ./crates/odd/inner is %q", got)
	}
}

func TestWhatAnEditAffects(t *testing.T) {
	base := conflicttest.New(workspace)
	edit := func(path, more string) *conflicttest.Tree { return base.With(path, base.Content(path)+more) }
	all := []string{"./crates/odd/inner", "base", "gen", "helper", "odd", "plain", "top", config.TargetUnowned, "win"}
	first := []string{"base", "gen", "helper", "odd", "plain", "top", "win"}
	below := func(names ...string) []string { return names }
	baseUsers := below("./crates/odd/inner", "base", "gen", "top")
	tests := []struct {
		name string
		to   *conflicttest.Tree
		want []string
	}{
		{"a library hits its dependents", edit("crates/base/src/lib.rs", "\n"), baseUsers},
		{"a test hits its own crate only", edit("crates/base/tests/it.rs", "\n"), below("base")},
		{"a file of a test", edit("crates/base/tests/data.json", "\n"), below("base")},
		{"a new test", edit("crates/base/tests/new.rs", "\n"), below("base")},
		{"a new example", edit("crates/base/examples/new.rs", "\n"), below("base")},
		{"a benchmark", edit("crates/base/benches/new.rs", "\n"), below("base")},
		{"what only build scripts read", edit("crates/base/proto/x.proto", "\n"), baseUsers},
		{"a text that the library includes", edit("crates/base/README.md", "\n"), baseUsers},
		{"a text that nobody includes", edit("crates/base/CHANGES.md", "\n"), below("base")},
		{"a new program", edit("crates/win/src/bin/new.rs", "\n"), below("base", "gen", "top", "win")},
		{"a dependency on another platform", edit("crates/win/src/lib.rs", "\n"), below("base", "gen", "top", "win")},
		{"a dev-dependency closes no circle", edit("crates/top/src/lib.rs", "\n"), below("base", "gen", "top")},
		{"an inherited build-dependency", edit("libs/helper/src/lib.rs", "\n"), below("base", "gen", "helper", "top")},
		{"an optional, renamed dependency outside of members", edit("libs/plain/src/lib.rs", "\n"), below("base", "gen", "plain", "top", "win")},
		{"a library that lies elsewhere", edit("shared/odd.rs", "\n"), below("odd")},
		{"its modules", edit("shared/part.rs", "\n"), below("odd")},
		{"an excluded package", edit("crates/odd/inner/src/lib.rs", "\n"), below("./crates/odd/inner")},
		{"a manifest", edit("crates/top/Cargo.toml", "\n[features]\nx = []\n"), below("base", "gen", "top")},
		{"a comment of a manifest", edit("crates/top/Cargo.toml", "\n# x\n"), below("top")},
		{"a dev-dependency", edit("crates/top/Cargo.toml", "\n[dev-dependencies]\nplain = { path = \"../../libs/plain\" }\n"), below("top")},
		{"a comment of the workspace", edit("Cargo.toml", "# x\n"), nil},
		{"a profile", edit("Cargo.toml", "opt-level = 1\n"), first},
		{"the language", edit("rust-toolchain.toml", "\n"), all},
		{"settings of the linter", edit("crates/top/clippy.toml", ""), all},
		{"settings of Cargo", edit(".cargo/config.toml", "[build]\n"), all},
		{"a text at the top", edit("README.md", "\n"), below(config.TargetUnowned)},
		{"a broken manifest in a fixture", edit("tools/gen/tests/fixtures/broken/Cargo.toml", "\n"), below("gen")},
		{"an executable bit", base.WithMode("crates/base/tests/it.rs", "100755", ""), below("base")},
		{"a removed crate", base.Without("libs/plain"), below("base", "gen", "top", "win")},
		{"a new crate", edit("crates/new/Cargo.toml", pkg("new", "")), below("new")},
		{"a nested crate takes its files", edit("crates/base/proto/Cargo.toml", "[workspace]\n"+pkg("proto", "")), below("./crates/base/proto", "./crates/odd/inner", "base", "gen", "top")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, affected(t, base, tt.to)); d != "" {
				t.Error(d)
			}
		})
	}
	inherit := func(old, new string) *conflicttest.Tree {
		return base.With("Cargo.toml", replace(t, base.Content("Cargo.toml"), old, new))
	}
	for name, tt := range map[string]struct {
		to   *conflicttest.Tree
		want []string
	}{
		"an inherited dependency": {inherit(`path = "libs/helper",`, `path = "libs/helper", version = "0.1",`), below("base", "gen", "top")},
		"an inherited field":      {inherit("MIT", "BSD"), below("base", "gen", "top", "win")},
		"a member by name":        {inherit(`, "tools/gen"`, ""), below(config.TargetUnowned)},
	} {
		if d := cmp.Diff(tt.want, affected(t, base, tt.to)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}
