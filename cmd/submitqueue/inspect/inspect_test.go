package inspect

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/app"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"
	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/cargo"
	"github.com/submitqueue/submitqueue/conflict/conflicttest"
	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue/config"
)

// A crate and its library are one for people, though tests use more libraries.
func TestHalvesOfCrates(t *testing.T) {
	crate := func(name, more string) string {
		return "[package]\nname = \"" + name + "\"\nversion = \"0.1.0\"\n" + more
	}
	tree := conflicttest.New(map[string]string{
		"Cargo.toml": crate("top", "[workspace]\nmembers = [\"crates/*\"]\n[dev-dependencies]\na = { path = \"crates/a\" }\n"), "src/lib.rs": "", "tests/t.rs": "",
		"crates/a/Cargo.toml": crate("a", "[dev-dependencies]\nb = { path = \"../b\" }\ntop = { path = \"../..\" }\n"), "crates/a/src/lib.rs": "",
		"crates/b/Cargo.toml": crate("b", "[dependencies]\na = { path = \"../a\" }\n"), "crates/b/src/lib.rs": "",
	})
	d, err := conflict.Describe(t.Context(), cargo.New(), config.Analysis{}, tree)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"top": "lib:.", "a": "lib:./crates/a", "b": "lib:./crates/b"} {
		if half := halfOf(d, d.Node(name)); half == nil || half.Name != want {
			t.Errorf("%s: %+v", name, half)
		}
	}
}

// A list for people has an end, and one for programs has all of it.
func TestInspectThousandsOfTargets(t *testing.T) {
	r := targetsReport{Revision: "main", Commit: "0123456789", Analyzer: "go/1", Configuration: "x", all: 4000}
	for i := range 4000 {
		r.Targets = append(r.Targets, targetRow{Name: fmt.Sprintf("./%04d", i), needs: []string{strings.Repeat("dep ", 100)}})
		r.Unowned = append(r.Unowned, fmt.Sprintf("file-%d", i))
	}
	var out bytes.Buffer
	(&Targets{Flags: Flags{Limit: 30}}).print(print.Sheet{Out: &out, Width: 80}, &r)
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) > 40 || !strings.Contains(out.String(), "and 3970 more (--limit 0 lists all)") {
		t.Errorf("%d lines:\n%s", len(lines), out.String())
	}
	for _, l := range lines {
		if print.Width(l) > 80 {
			t.Errorf("wider than the line: %s", l)
		}
	}
}

// Many branches have no matrix, but all their pairs.
func TestConflictsWithoutRoomForAMatrix(t *testing.T) {
	r := &conflictsReport{}
	for i := range 60 {
		r.Changes = append(r.Changes, fmt.Sprintf("branch-%d", i))
		r.branches = append(r.branches, branchReport{name: r.Changes[i], Change: app.Change{Merged: mirror.Merged{Commit: "x"}}})
	}
	r.add("branch-0", "branch-1", "target", []string{"./a"})
	var out bytes.Buffer
	p := print.Sheet{Out: &out, Width: 80}
	r.matrix(p, r.Conflicts)
	if got := strings.Count(out.String(), "\n"); got != 61 || !strings.HasSuffix(out.String(), "\nThere are too many for a matrix of this width; the pairs follow.\n") {
		t.Errorf("%d lines:\n%s", got, out.String())
	}
}

func TestGuess(t *testing.T) {
	for _, c := range []struct{ files, analyzer, why string }{
		{"go.mod main.go", "go", "go.mod"}, {"go.mod go.work", "go", "go.mod"}, {"sub/go.mod", "", "no file at the root tells either"},
		{"go.mod package.json", "", "it could be guessed from each of go.mod and package.json"},
	} {
		if analyzer, why := guess(strings.Fields(c.files)); analyzer != c.analyzer || why != c.why {
			t.Errorf("%s: %q, %q", c.files, analyzer, why)
		}
	}
}
