package app

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

	"github.com/google/go-cmp/cmp"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// wholeTree gives no graph, under any settings.
func wholeTree(config.Analysis) (conflict.Analyzer, error) { return nil, nil }

// eachFile is an analyzer of one target for each file.
type eachFile struct{}

func (eachFile) ID() string { return "file/1" }

func (eachFile) Graph(ctx context.Context, t conflict.Tree) (*conflict.Graph, error) {
	files, err := t.Files(ctx)
	g := &conflict.Graph{}
	for _, f := range files {
		g.Targets = append(g.Targets, conflict.Target{Name: f.Path, Sources: []conflict.Entry{f}})
	}
	return g, err
}

// inspectRepo is a repository with a base and branches off its first commit.
func inspectRepo(t *testing.T, branches map[string]string) (*mirror.Mirror, map[string]queue.CommitID) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "r.git")
	git := func(in string, args ...string) string {
		cmd := exec.Command("git", append([]string{"--git-dir=" + dir}, args...)...)
		cmd.Stdin = strings.NewReader(in)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null")
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		if err := cmd.Run(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, errs.String())
		}
		return strings.TrimSpace(out.String())
	}
	git("", "init", "--quiet", "--bare", "--initial-branch=main")
	heads := map[string]queue.CommitID{}
	commit := func(branch, from, files string) {
		git(fmt.Sprintf("commit refs/heads/%s\ncommitter A <a@x> 1700000000 +0000\ndata 1\nx%s%s\n", branch, from, files), "fast-import", "--quiet", "--force")
		heads[branch] = queue.CommitID(git("", "rev-parse", branch))
	}
	const cfg = "version: 1\nsteps: [{name: unit, run: \"true\"}]\n"
	commit("bare", "", "\nM 100644 inline a\ndata 2\na\n")
	commit("main", "", fmt.Sprintf("\nM 100644 inline a\ndata 2\na\nM 100644 inline %s\ndata %d\n%s", config.Path, len(cfg), cfg))
	for branch, files := range branches {
		commit(branch, "\nfrom "+string(heads["main"]), files)
	}
	m, err := mirror.Borrow(t.Context(), filepath.Join(t.TempDir(), "m"), filepath.Join(dir, "objects"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m, heads
}

// An inspector says the same of a change as the queue's own judge.
func TestInspectorIsTheJudge(t *testing.T) {
	m, heads := inspectRepo(t, map[string]string{
		"edit": "\nM 100644 inline a\ndata 2\nb\n", "add": "\nM 100644 inline c\ndata 2\nc\n", "clash": "\nM 100644 inline a\ndata 2\nc\n",
		"broken": "\nM 100644 inline " + config.Path + "\ndata 2\n[\n", "gone": "\nD " + config.Path + "\n",
	})
	files := func(config.Analysis) (conflict.Analyzer, error) { return eachFile{}, nil }
	base := heads["edit"]
	i, err := NewInspector(t.Context(), InspectorOptions{Mirror: m, Analyzers: files, Base: base})
	if err != nil {
		t.Fatal(err)
	}
	on, err := i.Commit(t.Context(), base)
	if err != nil {
		t.Fatal(err)
	}
	judge := newJudge(m, files)
	for _, name := range []string{"edit", "add", "clash", "broken", "gone", "main"} {
		merged, err := i.Merge(t.Context(), heads[name])
		if err != nil {
			t.Fatal(err)
		}
		c, err := i.Change(t.Context(), on, heads[name], merged)
		if err != nil {
			t.Fatal(err)
		}
		main, err := judge.commit(t.Context(), base, i.now, "")
		if err != nil {
			t.Fatal(err)
		}
		with, err := judge.commit(t.Context(), analyzedOn(merged, heads[name]), i.now, base)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(conflict.FootprintOf(main.snapshot, with.snapshot, base), c.Footprint); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
		if (c.Fails != "") != (name == "broken" || name == "gone") || merged.Clean() != (name != "clash") {
			t.Errorf("%s: fails %q, clean %v", name, c.Fails, merged.Clean())
		}
	}
}

func TestInspectorWithoutAConfiguration(t *testing.T) {
	m, heads := inspectRepo(t, nil)
	o := InspectorOptions{Mirror: m, Analyzers: wholeTree, Base: heads["bare"]}
	if _, err := NewInspector(t.Context(), o); !errors.Is(err, ErrNoConfig) {
		t.Errorf("%v", err)
	}
	o.Assumed = &config.Config{Version: 1, Analysis: config.Analysis{Analyzer: "assumed"}}
	i, err := NewInspector(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	c, err := i.Commit(t.Context(), heads["bare"])
	if err != nil || c.Own || c.Fails != "" || c.Config.Analysis.Analyzer != "assumed" {
		t.Errorf("%+v, %v", c, err)
	}
}
