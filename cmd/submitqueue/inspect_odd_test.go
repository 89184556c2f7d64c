package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/cmd/submitqueue/inspect"
)

// A command that is interrupted ends with nothing but that, and leaves nothing
// behind.
func TestInspectIsInterrupted(t *testing.T) {
	shop := newShop(t)
	t.Setenv("TMPDIR", t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	flags := inspect.Flags{Repo: shop}
	for _, run := range []func(context.Context) error{
		(&inspect.Targets{Flags: flags, Rev: "main"}).Run,
		(&inspect.Affected{Flags: flags, Base: "main", Head: "vat"}).Run,
		(&inspect.Conflicts{Flags: flags, Base: "main", Branches: []string{"vat", "stock"}}).Run,
	} {
		if err := run(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	}
	if left, _ := os.ReadDir(os.Getenv("TMPDIR")); len(left) > 0 {
		t.Errorf("%s is left behind", left[0].Name())
	}
}

// What is odd about a clone is said in one line.
func TestInspectOddClones(t *testing.T) {
	t.Parallel()
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
		{"folder", "affected", "! submitqueue: folder is not a git repository; name one with --repo DIR\n! More: https://github.com/submitqueue/submitqueue/blob/main/app/docs/troubleshoot.md#it-is-not-a-git-repository\nstatus 1\n"},
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
