package cargo_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/conflicttest"
	"github.com/submitqueue/submitqueue/queue/config"
)

// Each case is a file that rustc, a build script or a macro of crate a reads,
// in a workspace where b depends on a and the package at the top on nothing.
func TestWhatIsReadIsInTheHash(t *testing.T) {
	const script = "fn main() {}\n"
	for name, tt := range map[string]struct {
		files map[string]string
		links map[string]string
		edit  string
		to    string // the new content; empty: a few bytes more
		want  string
	}{
		"a module beside the library of the top": {edit: "lib/part.rs", want: "top",
			files: map[string]string{"Cargo.toml": top("[lib]\npath = \"lib/lib.rs\"\n"), "lib/lib.rs": "mod part;", "lib/part.rs": ""}},
		"a module of the build script of the top": {edit: "build_help.rs", want: "top",
			files: map[string]string{"build.rs": "mod build_help;", "build_help.rs": ""}},
		"a folder of modules of the build script of the top": {edit: "help/deep/x.rs", want: "top",
			files: map[string]string{"build.rs": "mod help;", "help/mod.rs": "mod deep;", "help/deep/mod.rs": "mod x;", "help/deep/x.rs": ""}},
		"what the build script of the top lists": {edit: "proto/x.proto", want: "top",
			files: map[string]string{"build.rs": "fn main() { read_dir(env(\"X\")); }", "proto/x.proto": ""}},
		"a folder that the top names by one word": {edit: "proto/x.proto", want: "top",
			files: map[string]string{"src/lib.rs": "include_dir!(\"proto\");", "proto/x.proto": ""}},
		"templates of the top": {edit: "templates/x.html", want: "top",
			files: map[string]string{"src/lib.rs": "#[template(path = \"x.html\")]", "templates/x.html": ""}},
		"a module that a test shares with the library": {edit: "crates/a/src/check.rs", want: "a b",
			files: map[string]string{"crates/a/Cargo.toml": pkg("a", "[[test]]\nname = \"check\"\npath = \"src/check.rs\"\n"), "crates/a/src/lib.rs": "mod check;", "crates/a/src/check.rs": ""}},
		"a module that a test shares with a library beside the manifest": {edit: "crates/a/check.rs", want: "a b",
			files: map[string]string{"crates/a/Cargo.toml": pkg("a", "[lib]\npath = \"lib.rs\"\n[[test]]\nname = \"check\"\npath = \"check.rs\"\n"), "crates/a/lib.rs": "mod check;", "crates/a/check.rs": ""}},
		"rerun-if-changed": {edit: "proto/x.proto", want: "a b",
			files: map[string]string{"crates/a/build.rs": "println!(\"cargo:rerun-if-changed=../../proto/x.proto\");", "proto/x.proto": ""}},
		"rerun-if-changed of a folder, with two colons": {edit: "proto/x.proto", want: "a b",
			files: map[string]string{"crates/a/build.rs": "println!(\"cargo::rerun-if-changed=../../proto\");", "proto/x.proto": ""}},
		"a script of the linker": {edit: "ld/memory.x", want: "a b",
			files: map[string]string{"crates/a/build.rs": "println!(\"cargo:rustc-link-arg=-T../../ld/memory.x\");", "ld/memory.x": ""}},
		"include_dir": {edit: "assets/x.css", want: "a b",
			files: map[string]string{"crates/a/src/lib.rs": "include_dir!(\"$CARGO_MANIFEST_DIR/../../assets\");", "assets/x.css": ""}},
		"a path after a placeholder": {edit: "proto/x.proto", want: "a b",
			files: map[string]string{"crates/a/build.rs": "format!(\"{}/../../proto/x.proto\", dir);", "proto/x.proto": ""}},
		"a path between placeholders": {edit: "proto/x.proto", want: "a b",
			files: map[string]string{"crates/a/build.rs": "format!(\"{dir}/../../proto/{name}.proto\");", "proto/x.proto": ""}},
		"a module with a path in an inline module": {edit: "shared/x.rs", want: "a b",
			files: map[string]string{"crates/a/src/lib.rs": "mod inner { #[path = \"../../../../shared/x.rs\"] mod x; }", "shared/x.rs": ""}},
		"test data of the workspace that a library finds from the root": {edit: "tests/fixtures/x.txt", want: "a b top",
			files: map[string]string{"crates/a/src/lib.rs": "root().join(\"tests/fixtures\")", "tests/fixtures/x.txt": ""}},
		"test data of the workspace that a library finds by words": {edit: "tests/fixtures/x.txt", want: "a b top",
			files: map[string]string{"crates/a/src/lib.rs": "path.push(\"tests\"); path.push(\"fixtures\");", "tests/fixtures/x.txt": ""}},
		"test data of the workspace that a test finds": {edit: "tests/fixtures/x.txt", want: "a top",
			files: map[string]string{"crates/a/tests/it.rs": "root().join(\"tests/fixtures/x.txt\")", "tests/fixtures/x.txt": ""}},
		"a test of the top is no test data": {edit: "tests/it.rs", want: "top",
			files: map[string]string{"crates/a/src/lib.rs": "root().join(\"tests\")", "tests/it.rs": ""}},
		"a pattern of files": {edit: "proto/deep/x.proto", want: "a b",
			files: map[string]string{"crates/a/build.rs": "glob(\"../../proto/**/*.proto\");", "proto/deep/x.proto": ""}},
		"a path of joined parts": {edit: "proto/x.proto", want: "a b",
			files: map[string]string{"crates/a/build.rs": "Path::new(\"..\").join(\"..\").join(\"proto\").join(\"x.proto\");", "proto/x.proto": ""}},
		"a folder of joined parts": {edit: "proto/x.proto", want: "a b",
			files: map[string]string{"crates/a/build.rs": "let dir: PathBuf = [&env::var(\"CARGO_MANIFEST_DIR\").unwrap(), \"..\", \"../proto\"].iter().collect();", "proto/x.proto": ""}},
		"a folder above that of the manifest": {edit: "proto/x.proto", want: "a b",
			files: map[string]string{"crates/a/build.rs": "PathBuf::from(env!(\"CARGO_MANIFEST_DIR\"))\n    .parent()\n    .unwrap().parent().unwrap()\n    .join(\"proto\")", "proto/x.proto": ""}},
		"the second folder above that of the manifest": {edit: "proto/x.proto", want: "a b",
			files: map[string]string{"crates/a/src/lib.rs": "Path::new(env!(\"CARGO_MANIFEST_DIR\")).ancestors().nth(2).unwrap().join(\"proto/*.proto\")", "proto/x.proto": ""}},
		"a folder that a variable of the configuration leads to": {edit: "proto/x.proto", want: "a b",
			files: map[string]string{".cargo/config.toml": "[env]\nWORKSPACE = { value = \"\", relative = true }\n", "crates/a/src/lib.rs": "include_str!(concat!(env!(\"WORKSPACE\"), \"/proto/x.proto\"));", "proto/x.proto": ""}},
		"a folder below that of a variable of the configuration": {edit: "proto/deep/x.proto", want: "a b",
			files: map[string]string{".cargo/config.toml": "[env]\nPROTOS = { value = \"proto\", relative = true }\n", "crates/a/build.rs": "Path::new(env!(\"PROTOS\")).join(\"deep\")", "proto/deep/x.proto": ""}},
		"an interface that a named one imports": {edit: "crates/c/proto/deep/x.proto", want: "a b c",
			files: map[string]string{"crates/a/build.rs": "compile(\"../c/proto/y.proto\");", "crates/c/proto/y.proto": "import \"deep/x.proto\";", "crates/c/proto/deep/x.proto": ""}},
		"a header beside a named source": {edit: "crates/c/native/x.h", want: "a b c",
			files: map[string]string{"crates/a/build.rs": "cc::Build::new().file(\"../c/native/x.c\");", "crates/c/native/x.c": "#include \"x.h\"", "crates/c/native/x.h": ""}},
		"a text beside a named source": {edit: "crates/c/native/x.txt", want: "c",
			files: map[string]string{"crates/a/build.rs": "cc::Build::new().file(\"../c/native/x.c\");", "crates/c/native/x.c": "", "crates/c/native/x.txt": ""}},
		"what a crate that a test runs depends on": {edit: "crates/a/src/lib.rs", want: "a b c",
			files: map[string]string{"crates/c/tests/it.rs": "Command::new(\"cargo\").args([\"run\", \"-p\", \"b\"])"}},
		"a crate that a test builds by its manifest": {edit: "crates/a/src/lib.rs", want: "a b c",
			files: map[string]string{"crates/c/tests/it.rs": "CargoBuild::new().manifest_path(\"../b/Cargo.toml\")"}},
		"a crate that a test builds by its name": {edit: "crates/a/src/lib.rs", want: "a b c",
			files: map[string]string{"crates/c/tests/it.rs": "CargoBuild::new().package(\"b\")"}},
		"a crate with a name that a test has elsewhere": {edit: "crates/a/src/lib.rs", want: "a b",
			files: map[string]string{"crates/c/tests/it.rs": "assert_eq!(x, \"b\")"}},
		"a module of a module of another crate": {edit: "crates/c/tests/common/help/deep.rs", want: "a c",
			files: map[string]string{"crates/a/tests/it.rs": "#[path = \"../../c/tests/common/mod.rs\"]\nmod common;\n", "crates/c/tests/common/mod.rs": "pub(crate) mod help;\n",
				"crates/c/tests/common/help.rs": "    mod deep;\n", "crates/c/tests/common/help/deep.rs": ""}},
		"settings of a macro": {edit: "proto/x.html", want: "a b",
			files: map[string]string{"crates/a/askama.toml": "[general]\ndirs = [\"templates\", \"../../proto\"]\n", "proto/x.html": ""}},
		"another folder beside one of joined parts": {edit: "proto2/x.proto", want: "",
			files: map[string]string{"crates/a/build.rs": "Path::new(\"..\").join(\"..\").join(\"proto\"); let word = \"proto2\";", "proto/x.proto": "", "proto2/x.proto": ""}},
		"behind a link to a folder": {edit: "proto/x.proto", want: "a b", links: map[string]string{"idl": "proto"},
			files: map[string]string{"crates/a/src/lib.rs": "include_str!(\"../../../idl/x.proto\");", "proto/x.proto": ""}},
		"named by a file behind a link to a folder": {edit: "texts/x.txt", want: "a b", links: map[string]string{"crates/a/src/more": "../../../more"},
			files: map[string]string{"crates/a/src/lib.rs": "mod more;", "more/mod.rs": "include_str!(\"../texts/x.txt\");", "texts/x.txt": ""}},
		"a link within what a link leads to": {edit: "texts/x.txt", want: "a b", links: map[string]string{"crates/a/src/more": "../../../more", "more/x.rs": "../texts/x.txt"},
			files: map[string]string{"crates/a/src/lib.rs": "mod more;", "more/mod.rs": "", "texts/x.txt": ""}},
		"named by a file behind a link, before another names a file": {edit: "texts/x.txt", want: "a b", links: map[string]string{"crates/a/src/m1.rs": "../../../more/m1.rs"},
			files: map[string]string{"crates/a/src/lib.rs": "mod m1; mod m2;", "crates/a/src/m2.rs": "include_str!(\"../../../more/y.txt\");",
				"more/m1.rs": "include_str!(\"../texts/x.txt\");", "more/y.txt": "", "texts/x.txt": ""}},
		"a member that leads nowhere": {edit: "Cargo.toml", want: "a b c top", to: pkg("top", "") + "\n[workspace]\nmembers = [\"crates/*\", \"crates/[\"]\nresolver = \"2\"\n"},
		"a library at the root of the tree": {edit: "part/deep.rs", want: "a b",
			files: map[string]string{"Cargo.toml": virtual, "crates/a/Cargo.toml": pkg("a", "[lib]\npath = \"../../lib.rs\"\n"), "lib.rs": "mod part;", "part/mod.rs": "mod deep;", "part/deep.rs": ""}},
		"a configuration that another includes": {edit: "tools/more.toml", want: "a b c top",
			files: map[string]string{".cargo/config.toml": "include = [\"../tools/more.toml\"]\n", "tools/more.toml": ""}},
		"an included table": {edit: ".cargo/more.toml", want: "a b c top",
			files: map[string]string{".cargo/config.toml": "include = [{ path = \"more.toml\", optional = true }]\n", ".cargo/more.toml": ""}},
		"a linker of the tree": {edit: "tools/ld.sh", want: "a b c top",
			files: map[string]string{".cargo/config.toml": "[target.x86_64-unknown-linux-gnu]\nlinker = \"tools/ld.sh\"\n", "tools/ld.sh": ""}},
		"a runner with arguments": {edit: "tools/run.py", want: "a b c top",
			files: map[string]string{".cargo/config.toml": "[target.'cfg(all())']\nrunner = \"python3 tools/run.py\"\n", "tools/run.py": ""}},
		"a script of the linker for all": {edit: "ld/memory.x", want: "a b c top",
			files: map[string]string{".cargo/config.toml": "[build]\nrustflags = [\"-C\", \"link-arg=-Tld/memory.x\"]\n", "ld/memory.x": ""}},
		"settings of nextest": {edit: ".config/nextest.toml", want: "a b c top",
			files: map[string]string{".config/nextest.toml": ""}},
		"a manifest with a byte order mark": {edit: "crates/a/src/lib.rs", want: "a b",
			files: map[string]string{"crates/a/Cargo.toml": "\xef\xbb\xbf" + pkg("a", "")}},
	} {
		t.Run(name, func(t *testing.T) {
			tree := conflicttest.New(map[string]string{
				"Cargo.toml": top(""), "src/lib.rs": "",
				"crates/a/Cargo.toml": pkg("a", ""), "crates/a/src/lib.rs": "",
				"crates/b/Cargo.toml": pkg("b", "[dependencies]\na = { path = \"../a\" }\n"), "crates/b/src/lib.rs": "",
				"crates/c/Cargo.toml": pkg("c", ""), "crates/c/src/lib.rs": "", "crates/c/build.rs": script,
			})
			for path, content := range tt.files {
				tree = tree.With(path, content)
			}
			for path, goal := range tt.links {
				tree = tree.WithMode(path, conflict.ModeLink, goal)
			}
			to := tt.to
			if to == "" {
				to = tree.Content(tt.edit) + "\n#\n"
			}
			got := slices.DeleteFunc(affected(t, tree, tree.With(tt.edit, to)), func(target string) bool {
				return target == config.TargetUnowned // others may read the file, too
			})
			if got := strings.Join(got, " "); got != tt.want {
				t.Errorf("affected %q, want %q", got, tt.want)
			}
		})
	}
	t.Run("a file of a submodule", func(t *testing.T) {
		tree := conflicttest.New(map[string]string{"Cargo.toml": virtual, "crates/a/Cargo.toml": pkg("a", ""), "crates/a/src/lib.rs": "include_str!(\"../../../sub/x.txt\");"})
		one, other := tree.WithMode("sub", conflict.ModeSubmodule, "1"), tree.WithMode("sub", conflict.ModeSubmodule, "2")
		if got := strings.Join(affected(t, one, other), " "); got != "a" {
			t.Errorf("affected %q", got)
		}
	})
}

func TestAMemberInASubmodule(t *testing.T) {
	tree := conflicttest.New(map[string]string{"Cargo.toml": virtual, "crates/a/Cargo.toml": pkg("a", ""), "crates/a/src/lib.rs": ""}).
		WithMode("crates/sub", conflict.ModeSubmodule, "1")
	if got := mustAnalyze(t, settings, tree).Unknown; !strings.HasPrefix(got, "Cargo.toml:2: ") || !strings.Contains(got, "is in the submodule crates/sub") {
		t.Error(got)
	}
}

const virtual = "[workspace]\nmembers = [\"crates/*\"]\nresolver = \"2\"\n"

// top is a workspace's manifest with a package of its own.
func top(more string) string { return pkg("top", more) + "\n" + virtual }
