package checkout_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/checkout"
	"github.com/submitqueue/submitqueue/conflict/conflicttest"
)

func mustOpen(t testing.TB, o checkout.Options) *checkout.Pool {
	t.Helper()
	p, err := checkout.Open(filepath.Join(t.TempDir(), "pool"), o)
	must(t, err)
	t.Cleanup(func() { must(t, p.Close()) })
	return p
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func mustCheckout(t testing.TB, p *checkout.Pool, tree conflict.Tree) *checkout.Dir {
	t.Helper()
	d, err := p.Checkout(context.Background(), tree, nil)
	must(t, err)
	return d
}

// shown lists a directory: "path mode content".
func shown(t testing.TB, dir string) string {
	t.Helper()
	var b strings.Builder
	must(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		info, err := e.Info()
		if err != nil {
			return err
		}
		content := ""
		switch {
		case info.Mode().IsRegular():
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			content = string(data)
		case info.Mode()&fs.ModeSymlink != 0:
			content, err = os.Readlink(path)
		}
		fmt.Fprintf(&b, "%s %s %q\n", rel, info.Mode(), content)
		return err
	}))
	return b.String()
}

func want(t *testing.T, dir string, lines ...string) {
	t.Helper()
	if got, all := shown(t, dir), strings.Join(append(lines, ""), "\n"); got != all {
		t.Fatalf("the directory holds\n%swant\n%s", got, all)
	}
}

func TestATreeIsWhatGitHolds(t *testing.T) {
	p := mustOpen(t, checkout.Options{Size: 1})
	tree := conflicttest.New(map[string]string{"a/b.txt": "b", "empty": ""}).WithMode("run", "100755", "#!/bin/sh").
		WithMode("a/link", conflict.ModeLink, "../run").WithMode("sub/module", conflict.ModeSubmodule, "f00")
	d := mustCheckout(t, p, tree)
	want(t, d.Tree, `a drwx------ ""`, `a/b.txt -rw------- "b"`, `a/link Lrwxrwxrwx "../run"`, `empty -rw------- ""`,
		`run -rwx------ "#!/bin/sh"`, `sub drwx------ ""`, `sub/module drwx------ ""`)
	d.Release()
	d = mustCheckout(t, p, tree.Without("a").WithMode("run", "100644", "#!/bin/sh").With("sub/module/x", "1").Without("sub/module").With("a", "file"))
	defer d.Release()
	want(t, d.Tree, `a -rw------- "file"`, `empty -rw------- ""`, `run -rw------- "#!/bin/sh"`)
}

func TestOnlyWhatDiffersIsWritten(t *testing.T) {
	p := mustOpen(t, checkout.Options{Size: 1})
	tree := conflicttest.New(map[string]string{"a": "1", "b": "2"})
	d := mustCheckout(t, p, tree)
	before, err := os.Stat(filepath.Join(d.Tree, "a"))
	must(t, err)
	d.Release()
	d = mustCheckout(t, p, tree.With("b", "3"))
	defer d.Release()
	after, err := os.Stat(filepath.Join(d.Tree, "a"))
	must(t, err)
	if !os.SameFile(before, after) {
		t.Error("a was written again")
	}
	want(t, d.Tree, `a -rw------- "1"`, `b -rw------- "3"`)
}

// A program's changes to a directory are gone in the next checkout, however it
// hides them.
func TestNothingOfAProgramIsBelieved(t *testing.T) {
	tree := conflicttest.New(map[string]string{"a": "one", "dir/b": "two", "dir/deep/c": "three"})
	for name, script := range map[string]string{
		"overwritten":         `echo evil > a`,
		"same size and times": `touch -r a /tmp/ref.$$; printf eno > a; touch -r /tmp/ref.$$ a; rm /tmp/ref.$$`,
		"replaced":            `printf one > x; touch -r a x; mv x a`,
		"removed":             `rm -rf dir`,
		"left over":           `mkdir -p out/x dir/y; echo 1 > out/x/y; echo 1 > dir/z; mkfifo dir/pipe`,
		"exec bit":            `chmod +x a`,
		"a link instead":      `rm a; ln -s /etc/hostname a`,
		"a link as folder":    `rm -rf dir; ln -s /tmp dir`,
		"closed folders":      `chmod 0 dir/deep; chmod 0 dir; mkdir -p shut/in; chmod 0 shut/in shut`,
		"git":                 `mkdir .git; echo x > .git/config`,
		"all removed":         `cd ..; rm -rf tree`,
		"the place itself":    `cd ..; rm -rf tree; ln -s /tmp tree`,
		"a file as the place": `cd ..; rm -rf tree; echo > tree`,
		"scratch":             `echo 1 > "$HOME/x"; rm -rf "$TMPDIR"; ln -s / "$TMPDIR"`,
	} {
		t.Run(name, func(t *testing.T) {
			p := mustOpen(t, checkout.Options{Size: 1})
			d := mustCheckout(t, p, tree)
			clean := shown(t, d.Tree)
			_, err := d.Run(t.Context(), checkout.Program{Argv: []string{"sh", "-ec", script}, Dir: d.Tree})
			must(t, err)
			d.Release()
			d.Release()
			d = mustCheckout(t, p, tree)
			defer d.Release()
			if got := shown(t, d.Tree); got != clean {
				t.Errorf("got\n%swant\n%s", got, clean)
			}
			if got := shown(t, filepath.Join(filepath.Dir(d.Tree), "home")) + shown(t, filepath.Join(filepath.Dir(d.Tree), "tmp")); got != "" {
				t.Errorf("scratch holds %s", got)
			}
		})
	}
}

func TestLeftoversAreGoneWithTheRelease(t *testing.T) {
	p := mustOpen(t, checkout.Options{Size: 1})
	d := mustCheckout(t, p, conflicttest.New(map[string]string{"a": "1"}))
	must(t, os.WriteFile(filepath.Join(d.Tree, "huge"), []byte("x"), 0o600))
	d.Release()
	want(t, d.Tree, `a -rw------- "1"`)
}

func TestHostileTrees(t *testing.T) {
	base := conflicttest.New(map[string]string{"ok": "1"})
	for path, tree := range map[string]*conflicttest.Tree{
		"traversal":        base.With("../evil", "x"),
		"inner traversal":  base.With("a/../../evil", "x"),
		"absolute":         base.With("/evil", "x"),
		"dot":              base.With("./a", "x"),
		"empty name":       base.With("a//b", "x"),
		"git":              base.With(".git/hooks/post-checkout", "x"),
		"git below":        base.With("a/.git/config", "x"),
		"Git":              base.With(".GiT/config", "x"),
		"git with a dot":   base.With(".git./config", "x"),
		"short name":       base.With("GIT~1/config", "x"),
		"invisible":        base.With(".g\u200cit/config", "x"),
		"stream":           base.With(".git::$INDEX_ALLOCATION/config", "x"),
		"git as file":      base.With("sub/.git", "gitdir: /"),
		"zero":             base.With("a\x00b", "x"),
		"long":             base.With(strings.Repeat("a", 300), "x"),
		"deep":             base.With(strings.Repeat("a/", 3000)+"a", "x"),
		"file and folder":  base.With("d", "x").With("d/e", "x"),
		"through a link":   base.WithMode("d", conflict.ModeLink, "/tmp").With("d/e", "x"),
		"through a module": base.WithMode("d", conflict.ModeSubmodule, "f00").With("d/../../e", "x"),
		"mode":             base.WithMode("d", "104755", "x"),
	} {
		t.Run(path, func(t *testing.T) {
			p := mustOpen(t, checkout.Options{Size: 1})
			_, err := p.Checkout(t.Context(), tree, nil)
			if !errors.Is(err, checkout.ErrTree) {
				t.Errorf("got %v", err)
			}
			d := mustCheckout(t, p, base) // the directory is not lost
			d.Release()
		})
	}
}

func TestLinksThatLeadOutAreLeftOut(t *testing.T) {
	p := mustOpen(t, checkout.Options{Size: 1})
	link := conflict.ModeLink
	tree := conflicttest.New(map[string]string{"d/e/f": "1"}).
		WithMode("absolute", link, "/etc/passwd").WithMode("up", link, "../lock").WithMode("d/up", link, "../../x").
		WithMode("in", link, "d/e").WithMode("d/e/back", link, "../../d").WithMode("nowhere", link, "d/none").
		WithMode("hop", link, "in/../../..").WithMode("hop2", link, "d/e/back/../..").WithMode("hop3", link, "in/../e").
		WithMode("circle", link, "circle2").WithMode("circle2", link, "circle").WithMode("empty", link, "").WithMode("zero", link, "a\x00b")
	d := mustCheckout(t, p, tree)
	defer d.Release()
	want(t, d.Tree, `d drwx------ ""`, `d/e drwx------ ""`, `d/e/back Lrwxrwxrwx "../../d"`, `d/e/f -rw------- "1"`,
		`hop3 Lrwxrwxrwx "in/../e"`, `in Lrwxrwxrwx "d/e"`, `nowhere Lrwxrwxrwx "d/none"`)
}

func TestCrashesAndSecondProcesses(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pool")
	p, err := checkout.Open(dir, checkout.Options{Size: 1})
	must(t, err)
	d := mustCheckout(t, p, conflicttest.New(map[string]string{"a": "1"}))
	if _, err := checkout.Open(dir, checkout.Options{}); err == nil {
		t.Fatal("two have one directory")
	}
	must(t, os.WriteFile(filepath.Join(d.Tree, "a"), []byte("2"), 0o600))
	must(t, p.Close()) // as a crash does
	p, err = checkout.Open(dir, checkout.Options{Size: 1})
	must(t, err)
	d = mustCheckout(t, p, conflicttest.New(map[string]string{"a": "1"}))
	want(t, d.Tree, `a -rw------- "1"`)
	must(t, p.Close())
}

func TestBounds(t *testing.T) {
	tree := conflicttest.New(map[string]string{"a": "12345", "b": "67890"})
	if _, err := mustOpen(t, checkout.Options{Bytes: 9}).Checkout(t.Context(), tree, nil); !errors.Is(err, checkout.ErrTree) {
		t.Errorf("got %v", err)
	}
	if _, err := mustOpen(t, checkout.Options{Files: 1}).Checkout(t.Context(), tree, nil); !errors.Is(err, checkout.ErrTree) {
		t.Errorf("got %v", err)
	}
	if _, err := checkout.Open(t.TempDir(), checkout.Options{Size: 4}); err == nil {
		t.Error("four directories")
	}
	sick := errors.New("no such blob")
	if _, err := mustOpen(t, checkout.Options{}).Checkout(t.Context(), tree.Failing(sick), nil); !errors.Is(err, sick) {
		t.Errorf("got %v", err)
	}
}

func TestWhoComesLaterWaits(t *testing.T) {
	p := mustOpen(t, checkout.Options{Size: 1})
	tree := conflicttest.New(map[string]string{"a": "1"})
	d := mustCheckout(t, p, tree)
	short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := p.Checkout(short, tree, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v", err)
	}
	time.AfterFunc(20*time.Millisecond, d.Release)
	mustCheckout(t, p, tree).Release()
}

// A checkout over any other is equal to a fresh one.
func TestIncrementalIsFresh(t *testing.T) {
	reused := mustOpen(t, checkout.Options{Size: 1})
	rapid.Check(t, func(r *rapid.T) {
		tree := conflicttest.New(nil)
		for _, path := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c", "a/x", "a/y", "b/z/w", "d/e"}), 0, 5, rapid.ID).Draw(r, "paths") {
			mode := rapid.SampledFrom([]string{"100644", "100755", conflict.ModeLink, conflict.ModeSubmodule}).Draw(r, "mode")
			tree = tree.WithMode(path, mode, rapid.SampledFrom([]string{"a", "b", "../c", "d/e"}).Draw(r, "content"))
		}
		d, err := reused.Checkout(t.Context(), tree, nil)
		if errors.Is(err, checkout.ErrTree) {
			return
		}
		must(t, err)
		defer d.Release()
		fresh := mustOpen(t, checkout.Options{Size: 1})
		f := mustCheckout(t, fresh, tree)
		defer f.Release()
		if got, want := shown(t, d.Tree), shown(t, f.Tree); got != want {
			r.Fatalf("reused\n%sfresh\n%s", got, want)
		}
		if rapid.Bool().Draw(r, "litter") {
			_ = os.WriteFile(filepath.Join(d.Tree, "a"), []byte("litter"), 0o600)
			_ = os.MkdirAll(filepath.Join(d.Tree, "b", "z"), 0o700)
		}
	})
}
