package cargo_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/conflicttest"
	"github.com/submitqueue/submitqueue/queue/storetest"
)

// A path may be put together of several literals, of which one leads up.
func TestPathsOfSeveralLiterals(t *testing.T) {
	_, err := exec.LookPath("cargo")
	storetest.Need(t, "cargo", err == nil)
	for _, text := range []string{
		`include_str!(concat!("../../", "b/data.txt"))`,
		`include_str!(concat!("../..", "/b/data.txt"))`,
		`include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/..", "/b/data.txt"))`,
		`include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../", "b/data.txt"))`,
	} {
		base := conflicttest.New(map[string]string{
			"Cargo.toml":          "[workspace]\nmembers = [\"crates/*\"]\nresolver = \"2\"\n",
			"Cargo.lock":          lockHead + entry("a", "0.1.0", "") + entry("b", "0.1.0", ""),
			"crates/a/Cargo.toml": pkg("a", ""), "crates/a/src/lib.rs": "pub const X: &str = " + text + ";\nconst _: () = assert!(X.len() == 1);\n",
			"crates/b/Cargo.toml": pkg("b", ""), "crates/b/src/lib.rs": "", "crates/b/data.txt": "1",
		})
		next := base.With("crates/b/data.txt", "22")
		for tree, works := range map[*conflicttest.Tree]bool{base: true, next: false} {
			dir := t.TempDir()
			tree.MustWrite(t, dir)
			cmd := exec.CommandContext(t.Context(), "cargo", "check", "--offline", "-q", "-p", "a")
			cmd.Dir = dir
			if out, err := cmd.CombinedOutput(); (err == nil) != works {
				t.Fatalf("%s: %v: %s", text, err, out)
			}
		}
		d := conflict.DeltaOf(mustAnalyze(t, settings, base), mustAnalyze(t, settings, next))
		if slices.Sort(d.Changed); strings.Join(d.Changed, " ") != "a b" {
			t.Errorf("%s: changed are %q", text, d.Changed)
		}
	}
}
