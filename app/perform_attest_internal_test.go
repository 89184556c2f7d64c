package app

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation"
	"github.com/submitqueue/submitqueue/workers"
)

// stacked is an analyzer of the targets a, b and c, each of the files in its folder; b needs a.
type stacked struct{}

func (stacked) ID() string { return "stacked/1" }

func (stacked) Graph(ctx context.Context, t conflict.Tree) (*conflict.Graph, error) {
	files, err := t.Files(ctx)
	g := &conflict.Graph{}
	for _, n := range []string{"a", "b", "c"} {
		x := conflict.Target{Name: n}
		for _, f := range files {
			if strings.HasPrefix(f.Path, n+"/") {
				x.Sources = append(x.Sources, f)
			}
		}
		if n == "b" {
			x.Deps = []string{"a"}
		}
		g.Targets = append(g.Targets, x)
	}
	return g, err
}

// reads says whether a target's outcome may go by a file: those in its folder and in the
// folders that it needs, and all that is nobody's.
func (stacked) reads(target, file string) bool {
	dir, _, _ := strings.Cut(file, "/")
	return dir == target || dir == "a" && target == "b" || !strings.Contains("abc", dir)
}

// passesAll is workers whose CI has passed every step on each head.
type passesAll struct{ workers.Controller }

func (passesAll) PassedOn(ctx context.Context, _ queue.CommitID, steps []config.Step, tree workers.HeadTree) (out workers.HeadResults, err error) {
	for _, s := range steps {
		out.Passed = append(out.Passed, queue.HeadPass{Step: s.Digest(), Began: 1, Ended: 2})
	}
	_, _, err = tree(ctx, "")
	return out, err
}

// TestKeysOfHeads: whatever a head and main have changed since they parted, the keys that a
// pass on the head is written for are those that a build of the merge would ask for where
// the two have the same content, and no other one of the merge. Which files these are, git
// says, and not the analysis.
func TestKeysOfHeads(t *testing.T) {
	t.Parallel()
	const worlds = 40
	rng := rand.New(rand.NewPCG(1, 2))
	dir := filepath.Join(t.TempDir(), "origin.git")
	git := func(in string, args ...string) string {
		t.Helper()
		cmd := exec.Command("git", append([]string{"--git-dir=" + dir}, args...)...)
		cmd.Stdin, cmd.Env = strings.NewReader(in), append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("", "init", "-q", "--bare", "--initial-branch=main")
	git("", "config", "uploadpack.allowAnySHA1InWant", "true")
	file := func(name, text string) string {
		return fmt.Sprintf("M 100644 inline %s\ndata %d\n%s\n", name, len(text), text)
	}
	commit := func(branch, from, files string) string {
		return fmt.Sprintf("commit refs/heads/%s\ncommitter A <a@x> 1700000000 +0000\ndata 1\nx\n%s%s\n", branch, from, files)
	}
	const cfg = "version: 1\nanalysis: {analyzer: go}\nsteps: [{name: ci, checks: [test], scope: targets, covers: tree, earlier: count}, {name: vet, run: \"true {targets}\"}]\n"
	all := []string{"a/x", "a/y", "b/x", "b/y", "c/x", "c/y", "u/x", ".github/workflows/ci.yml"}
	base := file(config.Path, cfg)
	for _, f := range all {
		base += file(f, "base\nof\n"+f)
	}
	in := commit("main", "", base)
	for n := range worlds {
		for _, side := range []string{"m", "h"} {
			edits := ""
			for _, f := range all {
				if rng.IntN(4) == 0 && (f[0] != '.' && f[0] != 'u' || rng.IntN(4) == 0) {
					edits += file(f, side+fmt.Sprint(n)) // both: git cannot merge them
				}
			}
			in += commit(fmt.Sprint(side, n), "from refs/heads/main\n", edits+file("c/"+side, side))
		}
	}
	git(in, "fast-import", "--quiet")

	w := newTwiceWorld(t, origin(t))
	clone := must2(mirror.Open(t.Context(), filepath.Join(t.TempDir(), "m")))(t)
	t.Cleanup(func() { clone.Close() })
	o := NewOwner(OwnerOptions{Queue: "q", Branch: "main", Name: "keys", Store: w.store, Forge: w.forge, Mirror: clone, Workers: passesAll{w.workers},
		Analyzers: func(config.Analysis) (conflict.Analyzer, error) { return stacked{}, nil }, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	s := queue.NewState("main")
	s.Main.Config, s.Main.Tip = must2(config.Parse(config.Path, []byte(cfg)))(t), queue.CommitID(git("", "rev-parse", "main"))
	o.publishCore(speculation.New(s))
	p := newPerformer(o, w.own)
	remote := must2(w.forge.Remote(t.Context()))(t)
	remote.URL = dir
	shown, hidden := 0, 0
	for n := range worlds {
		var ids [2]queue.CommitID
		var refs []mirror.HeadRef
		for i, side := range []string{"m", "h"} {
			ids[i] = queue.CommitID(git("", "rev-parse", fmt.Sprint(side, n)))
			refs = append(refs, mirror.HeadRef{Ref: fmt.Sprint("refs/heads/", side, n), Want: ids[i]})
		}
		must2(clone.Remotes.FetchHeads(t.Context(), remote, refs))(t)
		pick := queue.Pick{Change: queue.ChangeID(fmt.Sprint(n)), Number: n + 1, Head: ids[1], HeadRef: refs[1].Ref}
		task := queue.Attest{Change: pick.Change, Head: pick.Head, HeadRef: pick.HeadRef, Main: ids[0]}
		got := w.carry(p, task)[0].(queue.Attested)
		ofHead := map[queue.Key]bool{}
		for _, x := range got.Passed {
			for _, k := range x.Keys {
				ofHead[k] = true
			}
		}
		l := w.carry(p, queue.Resolve{Base: ids[0], Picks: []queue.Pick{pick}})[0].(queue.Resolved).Links[0]
		if l.Outcome != queue.Merged {
			continue
		}
		ci := must2(config.Parse(config.Path, []byte(cfg)))(t).Steps[0].Digest()
		differ := must2(clone.Objects.ChangedPaths(t.Context(), ids[1], l.Commit))(t)
		for _, k := range l.Keys {
			same := !slices.ContainsFunc(differ, func(f string) bool { return stacked{}.reads(k.Target, f) })
			if want := same && k.Step == ci; ofHead[k] != want {
				t.Errorf("world %d: %s of the merge is said to have passed on the head: %v; they differ in %v", n, k.Target, ofHead[k], differ)
			} else if want {
				shown++
			} else {
				hidden++
			}
		}
	}
	if shown < 10 || hidden < 10 {
		t.Errorf("%d keys are of both, %d are not: the worlds show nothing", shown, hidden)
	}
	t.Logf("%d keys of merges had passed on heads, %d had not", shown, hidden)
}
