package app_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/app"
	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/checkout"
	"github.com/submitqueue/submitqueue/conflict/command"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/queue/storetest"
	"github.com/submitqueue/submitqueue/speculation"
	"github.com/submitqueue/submitqueue/workers"
)

// graphed is a repository whose own program prints the graph: each folder with a
// file deps is a target. The program does what a file of the tree's root is
// called after.
func graphed() map[string]string {
	return map[string]string{
		config.Path: `version: 1
analysis:
  analyzer: command
  command: sh tools/graph.sh
  program: ["tools/**"]
  definitions: ["*/deps"]
  timeout: 40s
  ignore: ["docs/**", "links/**", "lib"]
steps:
  - name: test
    run: "true {targets}"
    timeout: 1m
`,
		"tools/graph.sh": `cd "$SUBMITQUEUE_TREE"
if test -e rubbish; then echo '<html>'; exit 0; fi
if test -e hang; then sleep 1000; fi
if test -e flood; then exec yes '{"target":"again"}'; fi
if test -e crash; then echo 'api/BUILD:3: syntax error' >&2; exit 3; fi
if test -e silent; then exit 0; fi
for file in */deps; do
  dir=${file%/deps} deps=
  while read -r need; do test -n "$need" && deps="$deps${deps:+,}\"$need\""; done <"$file"
  printf '{"target":"%s","deps":[%s],"sources":["%s/"],"reads":["%s","./"]}\n' "$dir" "$deps" "$dir" "$file"
done
`,
		"api/deps": "\n", "web/deps": "\n", "docs/intro.md": "one\ntwo\nthree\nfour\nfive\nsix\n",
	}
}

func running(t *testing.T) app.Analyzers {
	pool := must(checkout.Open(filepath.Join(t.TempDir(), "checkouts"), checkout.Options{}))
	t.Cleanup(func() { mustNot(t, pool.Close()) })
	return func(s config.Analysis) (conflict.Analyzer, error) {
		if s.Analyzer == command.Name {
			return command.New(s, pool)
		}
		return analyzers(s)
	}
}

// TestProgramsInTrouble: whatever the program does on a change's tree, that
// change is unknown with the reason, is built as a whole, and lands; main is
// unknown then, and who repairs it lands, too.
func TestProgramsInTrouble(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{
		"rubbish": "line 1: it is not a JSON object",
		"hang":    "it did not end within 4s",
		"flood":   "it printed more than 64 MiB",
		"crash":   "exit status 3: api/BUILD:3: syntax error",
		"silent":  "there is no target that can be verified",
	} {
		t.Run(file, func(t *testing.T) {
			storetest.OneOf(t, 3)
			files := graphed()
			if file == "hang" {
				files[config.Path] = strings.Replace(files[config.Path], "timeout: 40s", "timeout: 4s", 1)
			}
			h := newHub(t, hubOptions{files: files, workers: workers.NewInstant(4), analyzers: running(t), talkative: true})
			h.proven()
			h.Comment("max", h.pull("none", map[string]string{"docs/x": "x\n"}), "/queue pause so that it can be read")
			h.until("it is paused", func(c *speculation.Core) bool { return c.State().Main.Paused != nil })
			n := h.land(file, map[string]string{file: "x\n"})
			other := h.land("other", map[string]string{"api/x": "x\n"})
			said := h.says(n, "could not be analyzed, so it counts as touching everything", want)
			if again := strings.Contains(said, "analyzed again by itself"); again != (file == "hang") {
				t.Errorf("analyzed again: %t\n%s", again, said)
			}
			var ids []string
			h.until("both are known", func(c *speculation.Core) bool {
				v, ok := c.PullView(n)
				o, known := c.PullView(other)
				ids = []string{string(v.Change.ID), string(o.Change.ID)}
				return ok && known && v.Change.Touches.All && len(v.Conflicts) == 1 && v.Conflicts[0].Kind == queue.ConflictUnknown &&
					len(o.Conflicts) == 1 && !o.Change.Touches.All
			})
			for _, id := range ids {
				for _, path := range []string{"/change?queue=", "/api/change?queue="} {
					if _, page := h.page(path + hubQueue + "&id=" + id); !strings.Contains(page, want) {
						t.Errorf("%s does not say %q:\n%s", path, want, page)
					}
				}
			}
			h.Comment("max", n, "/queue resume")
			h.landed(n)
			h.landed(other)
			h.landed(h.land("repair", map[string]string{file: ""}))
		})
	}
}

// TestCycleOfTwoChanges: each makes one half of a cycle. They conflict, and both
// are judged.
func TestCycleOfTwoChanges(t *testing.T) {
	h := newHub(t, hubOptions{files: graphed(), workers: workers.NewInstant(4), analyzers: running(t), talkative: true})
	h.proven()
	h.Comment("max", h.pull("none", map[string]string{"docs/x": "x\n"}), "/queue pause so that it can be read")
	h.until("it is paused", func(c *speculation.Core) bool { return c.State().Main.Paused != nil })
	a := h.land("a", map[string]string{"api/deps": "web\n"})
	b := h.land("b", map[string]string{"web/deps": "api\n"})
	h.until("they conflict", func(c *speculation.Core) bool {
		v, _ := c.PullView(b)
		return len(v.Conflicts) == 1 && v.Conflicts[0].Kind != queue.ConflictUnknown && v.Change.Touches.Graph
	})
	h.Comment("max", a, "/queue resume")
	h.landed(a)
	h.landed(b)
	h.landed(h.land("later", map[string]string{"api/x": "x\n"}))
}

// TestSlowAnalysisHoldsUpNobody: one hangs, and those that come with it go on.
func TestSlowAnalysisHoldsUpNobody(t *testing.T) {
	release := make(chan struct{})
	h := newHub(t, hubOptions{files: areas(), workers: workers.NewInstant(4), talkative: true, analyzers: func(s config.Analysis) (conflict.Analyzer, error) {
		a, err := analyzers(s)
		return waiting{a, release}, err
	}})
	h.proven()
	var slow []int
	for _, name := range []string{"s1", "s2", "s3", "s4", "s5"} {
		slow = append(slow, h.land(name, map[string]string{"api/slow-" + name: "x\n"}))
	}
	quick := h.land("quick", map[string]string{"web/x": "x\n"})
	h.landed(quick)
	for _, n := range slow {
		h.says(n, "In the queue: working out what it touches")
	}
	close(release)
	for _, n := range slow {
		h.landed(n)
	}
}

// waiting is an analyzer that waits for a word where a tree has a slow file.
type waiting struct {
	conflict.Analyzer
	release chan struct{}
}

func (w waiting) Graph(ctx context.Context, t conflict.Tree) (*conflict.Graph, error) {
	files, err := t.Files(ctx)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(files, func(e conflict.Entry) bool { return strings.Contains(e.Path, "slow-") }) {
		select {
		case <-w.release:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return w.Analyzer.Graph(ctx, t)
}

// TestOddTrees: names with newlines, links that lead round, submodules.
func TestOddTrees(t *testing.T) {
	t.Parallel()
	r := newRigWith(t, graphed(), running(t))
	for _, c := range []struct {
		name    string
		make    func(dir string)
		targets int // that it affects; unknown holds why where it cannot be said
		unknown string
	}{
		{"newline", func(dir string) { mustNot(t, os.WriteFile(filepath.Join(dir, "api", "a\nb"), []byte("x"), 0o644)) }, 1, ""},
		{"newline-target", func(dir string) {
			mustNot(t, os.MkdirAll(filepath.Join(dir, "x\ny"), 0o755))
			mustNot(t, os.WriteFile(filepath.Join(dir, "x\ny", "deps"), nil, 0o644))
		}, 0, "the JSON object does not end in its line"},
		{"links", func(dir string) {
			mustNot(t, os.MkdirAll(filepath.Join(dir, "links"), 0o755))
			mustNot(t, os.Symlink("b", filepath.Join(dir, "links", "a")))
			mustNot(t, os.Symlink("a", filepath.Join(dir, "links", "b")))
			mustNot(t, os.Symlink("..", filepath.Join(dir, "api", "up")))
			mustNot(t, os.Symlink("deps2", filepath.Join(dir, "api", "deps2")))
		}, 1, ""},
		{"submodule", func(dir string) { // it is in api, too, by way of api/up
			git(t, dir, "update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat("1", 40)+",lib")
		}, 1, ""},
	} {
		git(t, r.dir, "checkout", "-q", "-B", c.name, "main")
		c.make(r.dir)
		if c.name != "submodule" {
			git(t, r.dir, "add", "-A")
		}
		git(t, r.dir, "commit", "-qm", c.name)
		git(t, r.dir, "push", "-qf", "origin", c.name)
		ch := r.verdict(r.land(c.name))
		if ch.Phase != queue.Landed || ch.Touches.Targets != c.targets && c.unknown == "" || !strings.Contains(ch.Touches.Unknown, c.unknown) || (ch.Touches.Unknown == "") != (c.unknown == "") {
			t.Errorf("%s: %s, %+v, touches %+v", c.name, ch.Phase, ch.Reason, ch.Touches)
		}
		if c.unknown != "" { // take it back, or main stays unknown
			git(t, r.dir, "fetch", "-q", "origin")
			git(t, r.dir, "checkout", "-q", "-B", "undo", "origin/main")
			git(t, r.dir, "revert", "-m1", "--no-edit", "HEAD")
			git(t, r.dir, "push", "-qf", "origin", "undo")
			if ch := r.verdict(r.land("undo")); ch.Phase != queue.Landed {
				t.Errorf("undo: %s, %+v", ch.Phase, ch.Reason)
			}
		}
		git(t, r.dir, "fetch", "-q", "origin")
		git(t, r.dir, "checkout", "-q", "-f", "-B", "main", "origin/main")
		git(t, r.dir, "clean", "-qfd")
	}
}

// TestMissingBlob: a head of which the repository has not all, as where it is a
// partial copy. Nobody can fetch it: it does not enter, is told why, and others
// land.
func TestMissingBlob(t *testing.T) {
	t.Parallel()
	r := newRigWith(t, graphed(), running(t))
	r.branch("torn", "main", map[string]string{"api/torn": "torn\n"})
	blob := git(t, r.bare, "rev-parse", "torn:api/torn")
	r.branch("whole", "main", map[string]string{"web/x": "x\n"})
	mustNot(t, os.Remove(filepath.Join(r.bare, "objects", blob[:2], blob[2:])))
	torn, whole := r.land("torn"), r.land("whole")
	if ch := r.verdict(whole); ch.Phase != queue.Landed {
		t.Errorf("the other: %s, %+v", ch.Phase, ch.Reason)
	}
	v := r.until(torn, "answered", func(v queue.View) bool { return v.Notice.Code != "" })
	if v.Notice.Code != queue.ReasonForge || !strings.Contains(v.Notice.Detail, blob) {
		t.Errorf("the answer is %+v", v.Notice)
	}
}

// TestUnreadableWhenAnalyzed: what a change brings is there when it enters and gone
// when it is analyzed. It is unknown with the reason, and analyzed again.
func TestUnreadableWhenAnalyzed(t *testing.T) {
	h := newHub(t, hubOptions{files: areas(), workers: workers.NewInstant(4), talkative: true, analyzers: func(s config.Analysis) (conflict.Analyzer, error) {
		a, err := analyzers(s)
		return torn{a}, err
	}})
	h.proven()
	n := h.land("torn", map[string]string{"api/torn": "x\n"})
	h.landed(h.land("other", map[string]string{"web/x": "x\n"}))
	h.until("it is unknown", func(c *speculation.Core) bool {
		v, ok := c.PullView(n)
		return ok && v.Change.Touches.Again && v.Change.Touches.All && strings.Contains(v.Change.Touches.Unknown, "1111111111111111111111111111111111111111")
	})
	h.says(n, "1111111111111111111111111111111111111111")
}

// torn is an analyzer that asks for a blob that is not there.
type torn struct{ conflict.Analyzer }

func (u torn) Graph(ctx context.Context, t conflict.Tree) (*conflict.Graph, error) {
	files, err := t.Files(ctx)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(files, func(e conflict.Entry) bool { return e.Path == "api/torn" }) {
		if _, err := t.Blob(ctx, strings.Repeat("1", 40)); err != nil {
			return nil, err
		}
	}
	return u.Analyzer.Graph(ctx, t)
}

// TestTextualConflictEndToEnd: two that share no target and do not merge, and
// one that shares the file with both and merges.
func TestTextualConflictEndToEnd(t *testing.T) {
	h := newHub(t, hubOptions{files: graphed(), workers: workers.NewInstant(4), analyzers: running(t), talkative: true})
	h.proven()
	h.Comment("max", h.pull("none", map[string]string{"docs/x": "x\n"}), "/queue pause so that it can be read")
	h.until("it is paused", func(c *speculation.Core) bool { return c.State().Main.Paused != nil })
	first := h.land("first", map[string]string{"api/x": "x\n", "docs/intro.md": "ONE\ntwo\nthree\nfour\nfive\nsix\n"})
	h.says(first, "in the queue")
	second := h.land("second", map[string]string{"docs/intro.md": "one!\ntwo\nthree\nfour\nfive\nsix\n"})
	third := h.land("third", map[string]string{"docs/intro.md": "one\ntwo\nthree\nfour\nfive\nSIX\n"})
	h.says(second, "[#2]", "`docs/intro.md`") // that both touch it, or, once their merge was tried, that it fails
	h.until("the third merges with both", func(c *speculation.Core) bool {
		v, ok := c.PullView(third)
		f := c.State().Footprints[v.Change.ID]
		return ok && f != nil && len(f.Merges) == 2 && len(v.Conflicts) == 0 && v.Change.Touches.Files == 1
	})
	h.Comment("max", first, "/queue resume")
	h.landed(first)
	h.landed(third)
	h.rejected(second, "docs/intro.md", "[#2]", "has landed there and touches the same files")
}

// TestRestartDuringAnAnalysis: a server that is started again in the middle of
// one carries it out again. What takes too long is on the clock of the core
// (speculation).
func TestRestartDuringAnAnalysis(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	r := newRigWith(t, areas(), func(s config.Analysis) (conflict.Analyzer, error) {
		a, err := analyzers(s)
		return waiting{a, release}, err
	})
	r.branch("slow", "main", map[string]string{"api/slow-1": "x\n"})
	n := r.land("slow")
	r.until(n, "being analyzed", func(v queue.View) bool { return v.Change.Phase == queue.Analyzing })
	stopped := time.Now()
	r.stop()
	if d := time.Since(stopped); d > 30*time.Second {
		t.Errorf("it took %s to stop", d)
	}
	close(release)
	r.start()
	if ch := r.verdict(n); ch.Phase != queue.Landed {
		t.Errorf("%s, %+v", ch.Phase, ch.Reason)
	}
}
