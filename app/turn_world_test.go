package app_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/queue/digest"
	"github.com/submitqueue/submitqueue/speculation"
)

// turnWorld answers the actions of a core as git, forge and runners would. Its
// trees are lists of areas; each change edits one of them. Nothing conflicts as
// text, and what is built passes when the bench says so.
type turnWorld struct {
	areas   int
	config  *config.Config
	step    queue.Digest
	trees   map[queue.CommitID][]queue.Digest // by commit: the hash of each area
	main    queue.CommitID
	answers []queue.Body    // not given yet
	builds  []queue.BuildID // under way, oldest first
}

func newTurnWorld(b *testing.B, areas int) *turnWorld {
	b.Helper()
	cfg, err := config.Parse(config.Path, []byte(turnConfig(areas)))
	if err != nil {
		b.Fatal(err)
	}
	w := &turnWorld{areas: areas, config: cfg, step: cfg.Steps[0].Digest(),
		trees: map[queue.CommitID][]queue.Digest{}, main: turnID("main")}
	w.trees[w.main] = make([]queue.Digest, areas)
	return w
}

func turnArea(i int) string { return fmt.Sprintf("area-%02d", i) }

// turnConfig makes each folder of an area one target with one step.
func turnConfig(areas int) string {
	var b strings.Builder
	b.WriteString("version: 1\nsteps:\n  - name: unit\n    run: \": {targets}\"\n    timeout: 1m\nanalysis:\n  analyzer: paths\n  areas:\n")
	for i := range areas {
		fmt.Fprintf(&b, "    - name: %s\n      files: [\"%s/**\"]\n", turnArea(i), turnArea(i))
	}
	return b.String()
}

func turnID(fields ...string) queue.CommitID {
	return queue.CommitID(digest.Of(append([]string{"bench1"}, fields...)...)[:40])
}

// area is where a pull request edits.
func (w *turnWorld) area(number int) int { return number % w.areas }

// merge makes the commit of a change on a parent.
func (w *turnWorld) merge(parent queue.CommitID, p queue.Pick) queue.CommitID {
	id := turnID(string(parent), string(p.Change))
	if w.trees[id] == nil {
		tree := slices.Clone(w.trees[parent])
		at := w.area(p.Number)
		tree[at] = digest.Of("bench1", string(tree[at]), string(p.Change))
		w.trees[id] = tree
	}
	return id
}

// carryOut answers an action; a build goes on until pass.
func (w *turnWorld) carryOut(c *speculation.Core, a queue.Action) {
	say := func(b ...queue.Body) { w.answers = append(w.answers, b...) }
	switch t := a.Task.(type) {
	case queue.Observe:
		out := queue.Observed{Action: a.Key, Tip: w.main, From: t.From, Protected: true, Config: w.config}
		if w.main != t.From {
			out.Line = []queue.LineCommit{{Commit: w.main}}
		}
		say(out)
	case queue.Survey:
		say(queue.Surveyed{Action: a.Key, Commit: t.Commit, Tree: queue.TreeID(turnID("tree", string(t.Commit))), Steps: queue.NewStepSet(w.config.Steps)})
	case queue.Inspect:
		say(queue.Inspected{Action: a.Key, ConfigAt: c.State().Main.ConfigAt, Head: turnID("head", strconv.Itoa(t.Number)), HeadRef: fmt.Sprintf("refs/pull/%d/head", t.Number),
			Base: c.State().Main.Branch, Title: fmt.Sprintf("Change %d of the bench", t.Number), Author: "bench", Open: true, Permission: "write"})
	case queue.Analyze:
		area := []string{turnArea(w.area(t.Pick.Number))}
		say(queue.Analyzed{Action: a.Key, Change: t.Change,
			Footprint: queue.Footprint{Main: t.Main, Analyzer: "bench/1", Write: area, Affected: area}})
	case queue.Resolve:
		say(w.resolve(a.Key, t))
	case queue.Run:
		if !slices.Contains(w.builds, t.Build) {
			w.builds = append(w.builds, t.Build)
			say(queue.BuildStarted{Build: t.Build, Machine: "bench"})
		}
	case queue.Stop:
		w.builds = slices.DeleteFunc(w.builds, func(id queue.BuildID) bool { return id == t.Build })
		say(queue.Done{Action: a.Key}, queue.BuildDone{Build: t.Build, Outcome: queue.JobStopped})
	case queue.Land:
		p := c.State().Push
		if p == nil || p.ID != t.Push {
			say(queue.Done{Action: a.Key})
			return
		}
		w.main = p.Tip()
		say(queue.Pushed{Action: a.Key, Push: p.ID, Moved: true})
	case queue.Publish:
		say(queue.Done{Action: a.Key, Shown: t.Want})
	default:
		say(queue.Done{Action: a.Key})
	}
}

func (w *turnWorld) resolve(key string, t queue.Resolve) queue.Body {
	set := queue.NewStepSet(w.config.Steps)
	out := queue.Resolved{Action: key, Steps: []queue.StepSet{set}, Guard: t.Guard()}
	at := t.Base
	for _, p := range t.Picks {
		id := w.merge(at, p)
		area := w.area(p.Number)
		out.Links = append(out.Links, queue.Link{ID: queue.LinkOf(at, p.Change), Parent: at, Change: p.Change, Outcome: queue.Merged,
			Commit: id, Tree: queue.TreeID(turnID("tree", string(id))), Steps: set.ID,
			Keys: []queue.Key{{Step: w.step, Target: turnArea(area), Hash: w.trees[id][area]}}})
		at = id
	}
	return out
}

// pass ends the oldest build, which has passed; false: none is under way.
func (w *turnWorld) pass(s *queue.State) bool {
	for len(w.builds) > 0 {
		b := s.Builds[w.builds[0]]
		w.builds = w.builds[1:]
		if b == nil {
			continue
		}
		for _, j := range b.Jobs {
			w.answers = append(w.answers, queue.JobDone{Build: b.ID, Step: j.Step.Digest(), Outcome: queue.JobPassed, Machine: "bench"})
		}
		w.answers = append(w.answers, queue.BuildDone{Build: b.ID, Outcome: queue.JobPassed})
		return true
	}
	return false
}
