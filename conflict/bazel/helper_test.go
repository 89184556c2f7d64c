package bazel_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/bazel"
	"github.com/submitqueue/submitqueue/conflict/checkout"
	"github.com/submitqueue/submitqueue/conflict/conflicttest"
	"github.com/submitqueue/submitqueue/conflict/index"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/queue/storetest"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// bench is an analyzer with real Bazel, which ends with the test.
type bench struct {
	testing.TB
	*bazel.Analyzer
	pool *checkout.Pool
}

// pool has the one server of all tests: one takes seconds to start.
var pool *checkout.Pool

func TestMain(m *testing.M) {
	storetest.FilesInMemory()
	dir, err := os.MkdirTemp("", "bazel-test")
	if err == nil {
		err = hasten(dir)
	}
	if err == nil {
		pool, err = checkout.Open(filepath.Join(dir, "pool"), checkout.Options{Size: 1})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if err := errors.Join(pool.Close(), os.RemoveAll(dir)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// hasten puts a bazel before the machine's, if that has one, which has its servers compile
// what they run once and not again better: a server of a few small queries starts in half
// the time.
func hasten(dir string) error {
	program, err := exec.LookPath("bazel")
	if err != nil {
		return nil // the tests that need it say so
	}
	script := fmt.Sprintf(`#!/bin/sh
case $1 in --version) exec '%s' "$@" ;; esac
exec '%[1]s' --host_jvm_args=-XX:TieredStopAtLevel=1 --host_jvm_args=-XX:+UseSerialGC "$@"
`, program)
	bin := filepath.Join(dir, "bin")
	return errors.Join(os.Mkdir(bin, 0o700), os.WriteFile(filepath.Join(bin, "bazel"), []byte(script), 0o700),
		os.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH")))
}

func mustOpen(t testing.TB) bench {
	t.Helper()
	_, err := exec.LookPath("bazel")
	storetest.Need(t, "bazel", err == nil)
	return bench{t, shared(), pool}
}

// shared remembers for all tests what need not be asked twice.
var shared = sync.OnceValue(func() *bazel.Analyzer { return bazel.New(2*time.Minute, pool) })

// fresh is the same with nothing remembered.
func (b bench) fresh() bench { return bench{b.TB, bazel.New(2*time.Minute, b.pool), b.pool} }

// settings are what a repository with Bazel should say.
var settings = config.Analysis{Ignore: []string{"**/*.md", "**/*.bzl", "**/BUILD"}}

// analyze analyzes a tree under itself as the target branch.
func (b bench) analyze(tree conflict.Tree) *conflict.Snapshot {
	b.Helper()
	s, err := conflict.Analyze(context.Background(), b.Trusting(tree), settings, tree)
	must(b, err)
	return s
}

func (b bench) know(tree conflict.Tree) *conflict.Snapshot {
	b.Helper()
	s := b.analyze(tree)
	if s.Unknown != "" {
		b.Fatal(s.Unknown)
	}
	return s
}

// affected returns what the change from one tree to another affects.
func (b bench) affected(from, to *conflicttest.Tree) []string {
	b.Helper()
	return slices.Sorted(slices.Values(conflict.FootprintOf(b.know(from), b.know(to), "main").Affected))
}

// meet reports whether two changes conflict.
func (b bench) meet(main, one, other *conflicttest.Tree) bool {
	b.Helper()
	m := b.know(main)
	x := index.New()
	x.Put("one", conflict.FootprintOf(m, b.know(one), "main"))
	x.Put("other", conflict.FootprintOf(m, b.know(other), "main"))
	return x.Conflict("one", "other")
}
