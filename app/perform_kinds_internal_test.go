package app

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/local"
	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/queue/memstore"
	"github.com/submitqueue/submitqueue/speculation"
	"github.com/submitqueue/submitqueue/workers"
)

// A task without a row would be asked for and never carried out; one without a note
// would be done twice after a crash, with nobody having thought of it.
func TestEachTaskHasOneRow(t *testing.T) {
	rows := map[string]int{}
	for _, k := range newPerformer(NewOwner(OwnerOptions{}), ownership{}).kinds {
		name := queue.TaskName(k.task)
		rows[name]++
		if !strings.HasSuffix(k.twice, ".") || (k.do == nil) == (k.joins == nil) {
			t.Errorf("%s: does not say why it may be done twice, or is not carried out in one way", name)
		}
		kind, _ := k.task.Name()
		if _, err := os.Stat("perform_" + kind + ".go"); err != nil {
			t.Error(err)
		}
	}
	want := map[string]int{}
	for _, name := range tasks(t) {
		want[name] = 1
	}
	if d := gocmp.Diff(want, rows); len(want) == 0 || d != "" {
		t.Errorf("rows, by task:\n%s", d)
	}
}

// tasks returns the names of the types of package queue that are tasks.
func tasks(t *testing.T) (names []string) {
	files, err := filepath.Glob("../queue/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if m, ok := d.(*ast.FuncDecl); ok && m.Recv != nil && m.Name.Name == "Name" && m.Type.Params.NumFields() == 0 && m.Type.Results.NumFields() == 2 {
				names = append(names, m.Recv.List[0].Type.(*ast.Ident).Name)
			}
		}
	}
	return names
}

// heard is a local repository whose forge shows comments, checks and reactions.
type heard struct {
	*local.Forge
	words map[string]string // by what a forge finds them by
}

func (f *heard) Capabilities() forge.Capabilities {
	return forge.Capabilities{Reactor: f, Proposer: f.Forge, Closer: f, Stacker: f}
}

// heard is a Closer and a Stacker on which no branch is used for anything else.
func (f *heard) Close(context.Context, int, forge.Closing) error { return nil }

func (f *heard) House(context.Context) (forge.House, error) {
	return forge.House{Default: "main"}, nil
}

func (f *heard) Protection(_ context.Context, branch string) (forge.Protection, error) {
	return forge.Protection{Protected: branch == "main", MayPush: true}, nil
}

func (f *heard) Uses(_ context.Context, branches []string) ([]forge.BranchUse, error) {
	return make([]forge.BranchUse, len(branches)), nil
}

func (f *heard) OpenFrom(context.Context, string) ([]forge.PullRequest, error) { return nil, nil }

func (f *heard) Retarget(context.Context, int, string) error { return nil }

func (f *heard) Comment(_ context.Context, number int, marker, body string) error {
	f.words[fmt.Sprintf("comment %s on #%d", marker, number)] = body
	return nil
}

func (f *heard) Check(_ context.Context, c forge.Check) error {
	f.words[fmt.Sprintf("check %s of %s on %s", c.Name, c.ExternalID, c.Head)] = fmt.Sprint(c.State, c.Title, c.Summary)
	return nil
}

func (f *heard) React(_ context.Context, number int, comment string, r forge.Reaction) error {
	f.words[fmt.Sprintf("reaction %v to %s on #%d", r, comment, number)] = ""
	return nil
}

// twiceWorld is a queue in the middle of everything, and all that can be seen of it
// from outside.
type twiceWorld struct {
	t       *testing.T
	bare    string
	forge   *heard
	store   *memstore.Store
	workers *workers.Instant

	state *queue.State
	own   ownership
	at    map[string]queue.CommitID // by revision
	picks map[string]queue.Pick     // by branch
}

func (w *twiceWorld) git(args ...string) string {
	w.t.Helper()
	cmd := exec.Command("git", append([]string{"-C", w.bare}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null")
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// origin is a repository with a bad commit on main, and two branches.
func origin(t *testing.T) string {
	w := &twiceWorld{t: t, bare: filepath.Join(t.TempDir(), "origin.git")}
	w.bare = must2(w.bare, os.MkdirAll(w.bare, 0o755))(t)
	w.git("init", "-q", "--bare", "--initial-branch=main")
	w.git("config", "uploadpack.allowAnySHA1InWant", "true") // as at GitHub
	file := func(name, text string) string {
		return fmt.Sprintf("M 100644 inline %s\ndata %d\n%s\n", name, len(text), text)
	}
	commit := func(branch, from, files string) string {
		if from != "" {
			from = "from " + from + "\n"
		}
		return fmt.Sprintf("commit refs/heads/%s\ncommitter A <a@x> 1700000000 +0000\ndata %d\n%s\n%s%s\n", branch, len(branch), branch, from, files)
	}
	const cfg = "version: 1\nsteps: [{name: test, run: \"true\"}]\n"
	cmd := exec.Command("git", "-C", w.bare, "fast-import", "--quiet")
	cmd.Stdin = strings.NewReader(commit("main", "", file(config.Path, cfg)+file("a", "a")) + commit("main", "", file("bad", "bad")) +
		commit("main", "", file("later", "later")) + commit("topic", "refs/heads/main", file("b", "b")) + commit("other", "refs/heads/main", file("c", "c")))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return w.bare
}

func must2[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func newTwiceWorld(t *testing.T, origin string) *twiceWorld {
	w := &twiceWorld{t: t, bare: filepath.Join(t.TempDir(), "x.git"), store: memstore.New(time.Now), workers: workers.NewInstant(2),
		state: queue.NewState("main"), at: map[string]queue.CommitID{}, picks: map[string]queue.Pick{}}
	w.bare = must2(w.bare, os.CopyFS(w.bare, os.DirFS(origin)))(t)
	w.workers.Take(time.Hour)
	w.forge = &heard{must2(local.New(t.Context(), w.bare, "main"))(t), map[string]string{}}
	t.Cleanup(func() { must2(0, w.workers.Close(context.Background()))(t); must2(0, w.forge.Stop())(t) })
	w.own.token = must2(w.store.Acquire(t.Context(), "q", "twice", time.Hour))(t)
	for _, rev := range []string{"main", "main^", "topic", "other"} {
		w.at[rev] = queue.CommitID(w.git("rev-parse", rev))
	}
	s := w.state
	for _, branch := range []string{"topic", "other"} {
		n := must2(w.forge.Open(t.Context(), branch, "ann"))(t)
		id := queue.ChangeID(fmt.Sprintf("%d.aa", n))
		s.Changes[id] = &queue.Change{ID: id, Number: n, Head: w.at[branch], HeadRef: "refs/heads/" + branch, Title: branch, Author: "ann",
			Phase: queue.Cancelled, Arrival: queue.At(time.Unix(1700000000, 0))}
		s.Pulls[n] = &queue.Pull{Number: n, Head: w.at[branch], Branch: branch, Last: id}
		w.picks[branch] = speculation.PickOf(s.Changes[id])
	}
	s.Requests["r"] = &queue.Request{ID: "r", Number: 1}
	job := queue.Job{Step: config.Step{Name: "test", Run: "true"}}
	build := func(id queue.BuildID) *queue.Build {
		return &queue.Build{ID: id, Commit: w.at["main"], Jobs: []queue.Job{job}}
	}
	s.Builds["build"] = build("build")
	s.Hosts["host"] = &queue.Host{Name: "host", Bench: &queue.Bench{Probe: build("probe")}}
	s.Hunts["hunt"] = &queue.Hunt{ID: "hunt", Tip: w.at["main"], Culprits: []queue.Culprit{{HuntCommit: queue.HuntCommit{Commit: w.at["main^"]}}}}
	s.Main.Tip = w.at["main"]
	s.Main.Config = w.carry(w.process(), queue.Observe{})[0].(queue.Observed).Config
	return w
}

// process is a server that has just begun to own the queue, on a mirror of its own.
func (w *twiceWorld) process() *performer {
	clone := must2(mirror.Open(w.t.Context(), filepath.Join(w.t.TempDir(), "m")))(w.t)
	w.t.Cleanup(func() { clone.Close() })
	o := NewOwner(OwnerOptions{Queue: "q", Branch: "main", Name: "twice", Store: w.store, Forge: w.forge, Mirror: clone, Workers: w.workers,
		Analyzers: func(config.Analysis) (conflict.Analyzer, error) { return eachFile{}, nil }, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	o.publishCore(speculation.New(w.state))
	return newPerformer(o, w.own)
}

// carry carries a task out and returns what came of it.
func (w *twiceWorld) carry(p *performer, task queue.Task) (out []queue.Body) {
	w.t.Helper()
	kind, subject := task.Name()
	p.start(w.t.Context(), []*queue.Action{{Key: queue.ActionKey(kind, subject, 1, 0), Attempt: 1, Task: task, Deadline: queue.At(time.Now().Add(time.Hour))}})
	p.wait()
	for len(p.owner.events) > 0 {
		e := <-p.owner.events
		if f, failed := e.Body.(queue.Failed); failed {
			w.t.Fatalf("%s fails: %s", kind, f.Error)
		}
		out = append(out, e.Body)
	}
	return out
}

// told returns what the workers have told of each build, all in all.
func (w *twiceWorld) told() map[string]int {
	out, done := map[string]int{}, make(chan struct{})
	go func() {
		defer close(done)
		for b := range w.workers.Events() {
			out[queue.EventName(b)]++
		}
	}()
	must2(0, w.workers.Close(w.t.Context()))(w.t)
	<-done
	return out
}

// seen is what can be seen of the world: the forge, git, and the store.
func (w *twiceWorld) seen() map[string]string {
	out := maps.Clone(w.forge.words)
	out["refs"] = w.git("for-each-ref")
	records, version, err := w.store.Load(w.t.Context(), "q")
	notes, err2 := w.store.History(w.t.Context(), "q", 100)
	out["store"] = fmt.Sprint(records, version, err, notes, err2)
	return out
}

// pushing has the state be in the middle of landing topic.
func (w *twiceWorld) pushing() {
	pick := w.picks["topic"]
	r := w.carry(w.process(), queue.Resolve{Base: w.at["main"], Picks: []queue.Pick{pick}})[0].(queue.Resolved)
	l := r.Links[0]
	w.state.Links[l.ID] = &l
	w.state.Push = &queue.Push{ID: "push", Expected: w.at["main"], Commits: []queue.CommitID{l.Commit}, Changes: []queue.ChangeID{pick.Change}}
}

// heads is the branch of what is being pushed, on its way there.
func (w *twiceWorld) heads() []queue.HeadMove {
	pick := w.picks["topic"]
	return []queue.HeadMove{{Change: pick.Change, Number: pick.Number, Branch: "topic", From: pick.Head, To: w.state.Push.Tip()}}
}

// A process that dies after it has done something, and before it could tell, leaves it to
// be done again: by itself where only the answer was lost, or by another server. Nobody
// sees a difference: no second comment, build, pull request or commit.
func TestEachActionTwice(t *testing.T) {
	t.Parallel()
	from := origin(t)
	for _, k := range newPerformer(NewOwner(OwnerOptions{}), ownership{}).kinds {
		t.Run(queue.TaskName(k.task), func(t *testing.T) {
			w := newTwiceWorld(t, from)
			task := w.taskLike(k.task)
			p := w.process()
			first := w.carry(p, task)
			was := w.seen()
			for who, p := range map[string]*performer{"the same server": p, "another server": w.process()} {
				if d := gocmp.Diff(first, w.carry(p, task)); d != "" {
					t.Errorf("%s finds something else:\n%s", who, d)
				}
				if d := gocmp.Diff(was, w.seen()); d != "" {
					t.Errorf("%s leaves something else:\n%s", who, d)
				}
			}
			for what, n := range w.told() {
				if n != 1 {
					t.Errorf("the workers have told %s %d times", what, n)
				}
			}
			if k.at == inForge && len(w.forge.words) == 0 {
				t.Error("nothing was said")
			}
		})
	}
}

// taskLike returns a task of the kind that has something to do in this world.
func (w *twiceWorld) taskLike(kind queue.Task) queue.Task {
	main, culprit, topic, other := w.at["main"], w.at["main^"], w.picks["topic"], w.picks["other"]
	switch kind.(type) {
	case queue.Observe:
		return queue.Observe{From: culprit}
	case queue.Survey:
		return queue.Survey{Commit: main}
	case queue.Watch:
		return queue.Watch{Commit: main, Aims: []queue.Aim{{Step: "test", Target: "a"}}}
	case queue.Trace:
		return queue.Trace{Hunt: "hunt", Commit: main, Trails: []queue.Trail{{Step: "test", Targets: []string{"a"}}}}
	case queue.Weigh:
		return queue.Weigh{Hunt: "hunt", Commit: culprit, Tip: main}
	case queue.Inspect:
		return queue.Inspect{Request: "r", Number: topic.Number, User: "ann"}
	case queue.Attest:
		return queue.Attest{Change: topic.Change, Head: topic.Head, HeadRef: topic.HeadRef, Main: main}
	case queue.Meet:
		return queue.Meet{Change: topic.Change, Main: main, Pick: topic, With: []queue.Pick{other}}
	case queue.Analyze:
		return queue.Analyze{Change: topic.Change, Main: main, Pick: topic, Under: []queue.Pick{other}}
	case queue.Resolve:
		return queue.Resolve{Base: main, Picks: []queue.Pick{topic, other}}
	case queue.Run:
		return queue.Run{Build: "build"}
	case queue.ProbeHost:
		return queue.ProbeHost{Host: "host", Build: "probe"}
	case queue.Stop:
		w.carry(w.process(), queue.Run{Build: "build"})
		return queue.Stop{Build: "build"}
	case queue.MoveHeads:
		w.pushing()
		w.state.Push.Stage, w.state.Push.Heads = queue.PushingHeads, w.heads()
		return queue.MoveHeads{Push: "push"}
	case queue.SeeHeads:
		w.pushing()
		w.state.Push.Stage, w.state.Push.Heads = queue.AwaitingSeen, w.heads()
		return queue.SeeHeads{Push: "push"}
	case queue.ReturnHeads:
		w.pushing()
		w.state.Push.Stage, w.state.Push.Heads = queue.PushingHeads, w.heads()
		if moved := w.carry(w.process(), queue.MoveHeads{Push: "push"})[0].(queue.HeadsMoved).Moved; len(moved) != 1 {
			w.t.Errorf("%v have moved", moved)
		}
		return queue.ReturnHeads{Push: "push", Heads: w.heads()}
	case queue.Land:
		w.pushing()
		return queue.Land{Push: "push"}
	case queue.Publish:
		return queue.Publish{Number: topic.Number, Want: "words"}
	case queue.Tell:
		return queue.Tell{Commit: main, Want: "words"}
	case queue.React:
		return queue.React{Number: topic.Number, Comment: "c", Accepted: true}
	case queue.Learn:
		must2(0, w.store.Keep(w.t.Context(), "q", lived(400)))(w.t)
		return queue.Learn{Version: 1, Cause: queue.LearnFirst}
	case queue.Propose:
		pick := queue.Pick{Change: "revert", Revert: culprit, Head: culprit, Title: "bad"}
		made := w.carry(w.process(), queue.Resolve{Base: main, Picks: []queue.Pick{pick}})[0].(queue.Resolved)
		return queue.Propose{Hunt: "hunt", Commit: culprit, On: main, Head: made.Links[0].Commit, Pick: pick}
	}
	w.t.Fatalf("%T: say what of it there is to do here", kind)
	return nil
}
