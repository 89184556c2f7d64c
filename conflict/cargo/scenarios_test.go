package cargo_test

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"testing"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/cargo"
	"github.com/submitqueue/submitqueue/conflict/conflicttest"
)

func TestScenarios(t *testing.T) {
	tool := manifests
	if _, err := exec.LookPath("cargo"); err != nil {
		tool = nil // TestNoEdgeOfCargoMetadataIsMissing says that it is required
	}
	dep := func(name string) string { return "[dependencies]\n" + name + " = { path = \"../" + name + "\" }\n" }
	base := conflicttest.New(map[string]string{
		"Cargo.toml": "[workspace]\nmembers = [\"crates/*\"]\nresolver = \"2\"\n",
		"Cargo.lock": lockHead + entry("a", "0.1.0", "", "b") + entry("b", "0.1.0", "") + entry("c", "0.1.0", "", "ext") +
			entry("ext", "1.0.0", registry+"checksum = \"x\"\n"),
		"crates/a/Cargo.toml": pkg("a", dep("b")), "crates/a/src/lib.rs": "", "crates/a/tests/data.txt": "data", "crates/a/tests/empty.txt": "",
		"crates/b/Cargo.toml": pkg("b", ""), "crates/b/src/lib.rs": "",
		"crates/c/Cargo.toml": pkg("c", "[dependencies]\next = \"1\"\n"), "crates/c/src/lib.rs": "", "crates/c/build.rs": "fn main() {}\n",
		"crates/d/Cargo.toml": pkg("d", ""), "crates/d/src/lib.rs": "",
		"extra/one/Cargo.toml": pkg("one", "[workspace]\n"), "extra/one/src/lib.rs": "",
	})
	lock := base.Content("Cargo.lock")
	newCrate := func(file, text string) *conflicttest.Tree {
		return base.With("crates/n/Cargo.toml", pkg("n", "")).With(file, text)
	}
	conflicttest.Suite{Base: base, Analyze: func(tree conflict.Tree) (*conflict.Snapshot, error) {
		return conflict.Analyze(t.Context(), cargo.New(), settings, tree)
	}, Tool: tool, Given: map[string]conflicttest.Scenario{
		"a condition and its flag": {One: base.With("crates/b/Cargo.toml", pkg("b", "[target.'cfg(windows)'.dependencies]\nd = { path = \"../d\", optional = true }\n")), Affected: "a b",
			Other: base.With("crates/d/Cargo.toml", pkg("d", "[features]\ndefault = []\n")), Conflict: true}, // each condition counts as true
		"a listing and a new file": {One: base.With("Cargo.toml", "[workspace]\nmembers = [\"crates/*\", \"more/*\"]\nresolver = \"2\"\n").With("more/m/Cargo.toml", pkg("m", "")).With("more/m/src/lib.rs", ""), Affected: "*",
			Other: base.With("more/k/Cargo.toml", pkg("k", "")).With("more/k/src/lib.rs", ""), Conflict: true},
		"lines of a definition shift":                  {One: base.With("crates/b/Cargo.toml", "# hello\n\n"+pkg("b", "")), Affected: "b"}, // its own text, and nothing above it
		"an empty file is deleted":                     {One: base.Without("crates/a/tests/empty.txt"), Affected: "a"},
		"an executable bit is flipped":                 {One: base.WithMode("crates/a/tests/data.txt", "100755", "data"), Affected: "a"},
		"a file moves between targets":                 {One: base.Without("crates/a/tests/data.txt").With("crates/d/tests/data.txt", "data"), Affected: "a d"},
		"a dependency is reversed":                     {One: base.With("crates/a/Cargo.toml", pkg("a", "")).With("crates/b/Cargo.toml", pkg("b", dep("a"))), Affected: "a b", Other: base.With("crates/a/src/new.rs", ""), Conflict: true},
		"a cycle of two changes":                       {One: base.With("crates/b/Cargo.toml", pkg("b", dep("d"))), Affected: "a b", Other: base.With("crates/d/Cargo.toml", pkg("d", dep("b"))), Conflict: true},
		"each adds one target":                         {One: newCrate("crates/n/src/lib.rs", ""), Affected: "n", Other: newCrate("crates/n/src/main.rs", "fn main() {}\n"), Conflict: true},
		"one deletes what the other starts to use":     {One: base.Without("crates/d"), Affected: "", Other: base.With("crates/b/Cargo.toml", pkg("b", dep("d"))), Conflict: true},
		"a directory that is looked into gains a file": {One: base.With("crates/c/proto/x.proto", ""), Affected: "c"}, // by its build script
		"a nested package appears":                     {One: base.With("crates/c/sub/Cargo.toml", pkg("sub", "[workspace]\n")).With("crates/c/sub/src/lib.rs", ""), Affected: "*", Other: base.With("crates/c/sub/x.txt", ""), Conflict: true},
		"the lock file only":                           {One: base.With("Cargo.lock", replace(t, lock, `checksum = "x"`, `checksum = "y"`)), Affected: "c"},
		"a broken definition":                          {One: base.With("crates/b/Cargo.toml", "[package\n"), Unknown: "crates/b/Cargo.toml:1"},
	}}.Run(t)
}

// manifests asks cargo what each package of the workspace is made of.
func manifests(t *testing.T, dir string) (map[string]string, error) {
	cmd := exec.CommandContext(t.Context(), "cargo", "metadata", "--offline", "--no-deps", "--format-version", "1")
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	var all struct{ Packages []map[string]any }
	must(t, json.Unmarshal(out, &all))
	facts := map[string]string{}
	for _, p := range all.Packages {
		facts[p["name"].(string)] = fmt.Sprint(p["dependencies"], p["targets"], p["features"])
	}
	return facts, nil
}
