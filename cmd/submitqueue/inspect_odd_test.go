package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/app"
	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/cargo"
	"github.com/submitqueue/submitqueue/conflict/conflicttest"
	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue/config"
)

// A command that is interrupted ends with nothing but that, and leaves nothing
// behind.
func TestInspectIsInterrupted(t *testing.T) {
	shop := newShop(t)
	t.Setenv("TMPDIR", t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	flags := inspectFlags{Repo: shop}
	for _, run := range []func(context.Context) error{
		(&targetsCommand{inspectFlags: flags, Rev: "main"}).Run,
		(&affectedCommand{inspectFlags: flags, Base: "main", Head: "vat"}).Run,
		(&conflictsCommand{inspectFlags: flags, Base: "main", Branches: []string{"vat", "stock"}}).Run,
	} {
		if err := run(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	}
	if left, _ := os.ReadDir(os.Getenv("TMPDIR")); len(left) > 0 {
		t.Errorf("%s is left behind", left[0].Name())
	}
}

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

// What is odd about a clone is said in one line.
func TestInspectOddClones(t *testing.T) {
	shop := newShop(t)
	dir := filepath.Dir(shop)
	shopGit(t, dir, nil, "clone", "--quiet", "--depth=1", "--no-single-branch", "file://"+shop, "shallow")
	shopGit(t, dir, nil, "clone", "--quiet", "--filter=blob:none", "--no-checkout", "file://"+shop, "partial")
	shopGit(t, dir, nil, "clone", "--quiet", "--bare", shop, "bare.git")
	shopGit(t, dir, nil, "clone", "--quiet", shop, "detached")
	shopGit(t, filepath.Join(dir, "detached"), nil, "checkout", "--quiet", "--detach", "origin/vat")
	shopGit(t, dir, nil, "clone", "--quiet", "--origin=up", shop, "trunk")
	shopGit(t, filepath.Join(dir, "trunk"), nil, "checkout", "--quiet", "-B", "trunk", "up/main")
	shopGit(t, filepath.Join(dir, "trunk"), nil, "branch", "--quiet", "-D", "main")
	if err := os.WriteFile(filepath.Join(dir, "trunk", "new-file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	shopGit(t, dir, nil, "init", "--quiet", "empty")
	shopGit(t, dir, nil, "init", "--quiet", "--object-format=sha256", "other-ids")
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o755); err != nil {
		t.Fatal(err)
	}
	const unshallow = "; this clone is shallow: git fetch --unshallow brings the rest\nstatus 1\n"
	for _, c := range []struct{ in, command, want string }{
		{"shallow", "affected --head origin/vat --base main", "! submitqueue: commit xxxxxxxxxx is not there" + unshallow},
		{"shallow", "targets --rev main~1", "! submitqueue: there is no commit main~1 in shallow" + unshallow},
		{"shallow", "conflicts origin/vat --json", ""},
		{"partial", "targets", "! submitqueue: blob xxxxxxxxxx is not there; this clone is partial: git fetch --refetch --no-filter brings the rest\nstatus 1\n"},
		{"detached", "affected", "HEAD (xxxxxxxxxx) on main (xxxxxxxxxx): 1 of 5 targets would be verified\n"},
		{"detached", "conflicts vat", "! submitqueue: there is no commit vat in detached; there is origin/vat\nstatus 1\n"},
		{"bare.git", "affected --head vat", "vat (xxxxxxxxxx) on main (xxxxxxxxxx): 1 of 5 targets would be verified\n"},
		{"detached/cart", "targets ./cart", "HEAD at xxxxxxxxxx: 5 targets\n"},
		{"detached/cart", "targets cart.go", "HEAD at xxxxxxxxxx: 5 targets\n"},
		{"trunk", "affected", "! submitqueue: there is no commit main in trunk; name the target branch with --base, as in --base trunk\nstatus 1\n"},
		{"trunk", "affected --base trunk", "! submitqueue: changes that are not committed are not looked at\nHEAD (xxxxxxxxxx) on trunk (xxxxxxxxxx): nothing to land, it is there already\n"},
		{"empty", "targets", "! submitqueue: empty is empty: it has no commit yet\nstatus 1\n"},
		{"empty", "conflicts a b", "! submitqueue: empty is empty: it has no commit yet\nstatus 1\n"},
		{"other-ids", "targets", "! submitqueue: other-ids has the object format sha256; only sha1 is known\nstatus 1\n"},
		{"folder", "affected", "! submitqueue: folder is not a git repository; name one with --repo DIR\nstatus 1\n"},
	} {
		t.Run(c.in+" "+c.command, func(t *testing.T) {
			t.Parallel()
			got := submitqueue(t, filepath.Join(dir, c.in), strings.Fields(c.command)...)
			got = strings.ReplaceAll(got, dir+"/", "")
			if c.in == "shallow" && strings.Contains(c.command, "json") {
				if !strings.Contains(got, `"kind": "unknown"`) || !strings.Contains(got, "this clone is shallow") || !strings.HasSuffix(got, "status 1\n") {
					t.Error(got)
				}
				return
			}
			if !strings.HasPrefix(got, c.want) {
				t.Errorf("%s\nwant %s", got, c.want)
			}
		})
	}
}

// Who reads only the beginning ends the command, which says nothing of it.
func TestInspectIntoAClosedPipe(t *testing.T) {
	shop := newShop(t)
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "submitqueue", "targets", "--json", "--repo", shop, "--rev", "main")
	var errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = write, &errs
	if err := errors.Join(read.Close(), cmd.Start(), write.Close()); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil || errs.Len() > 0 {
		t.Errorf("%v, %s", err, errs.String())
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
	(&targetsCommand{inspectFlags: inspectFlags{Limit: 30}}).print(sheet{out: &out, width: 80}, &r)
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) > 40 || !strings.Contains(out.String(), "and 3970 more (--limit 0 lists all)") {
		t.Errorf("%d lines:\n%s", len(lines), out.String())
	}
	for _, l := range lines {
		if displayWidth(l) > 80 {
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
	p := sheet{out: &out, width: 80}
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
