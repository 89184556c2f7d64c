package server

import (
	"fmt"
	"strings"
	"testing"

	fake "github.com/submitqueue/submitqueue/forge/forgetest/gitlab"
	"github.com/submitqueue/submitqueue/queue/storetest"
)

// A step is left to GitLab's own CI: a pipeline is asked for the candidate's branch, with
// variables, or started by the push where GitLab takes none; it is waited for, and its jobs
// are judged.
func TestServeGitLabPipelines(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		source string // of the pipelines that count
		set    func(*fake.Settings)
	}{
		"asked for":                        {"api", func(*fake.Settings) {}},
		"asked for, with options unknown":  {"api", func(s *fake.Settings) { s.NoOption = true }},
		"nobody may set variables":         {"push", func(s *fake.Settings) { s.VariablesFrom = 0 }},
		"only owners may set variables":    {"push", func(s *fake.Settings) { s.VariablesFrom = 50 }},
		"the workflow's rules take pushes": {"push", func(s *fake.Settings) { s.PushOnly = true }},
		"by inputs, as nobody may":         {"api", func(s *fake.Settings) { s.VariablesFrom = 0 }},
		"by inputs, as only owners may":    {"api", func(s *fake.Settings) { s.VariablesFrom = 50 }},
		"by both":                          {"api", func(*fake.Settings) {}},
	} {
		t.Run(name, func(t *testing.T) {
			storetest.OneOf(t, 3)
			t.Parallel()
			gl, p, s := gitlabServer(t, fake.Options{}, "version: 1\nsteps:\n  - {name: ci, checks: [test, deploy]}\n", c.set, func(s *fake.Settings) {
				s.Jobs, s.Bridges = []string{"test", "other"}, []string{"deploy"}
			})
			inputs := strings.HasPrefix(name, "by")
			if inputs {
				p.Push("ann", "main", map[string]string{".gitlab-ci.yml": "spec:\n  inputs:\n    submitqueue_steps: {default: ''}\n    submitqueue_build: {default: ''}\n    level: {default: debug}\n---\ntest: {script: x}\n"})
			}
			p.Push("ann", "good", map[string]string{"good.txt": "n\n"})
			p.Push("ann", "bad", map[string]string{"bad.txt": "n\n"})
			good := p.Open(fake.Opening{Author: "ann", Source: "good"})
			bad := p.Open(fake.Opening{Author: "ann", Source: "bad"})
			run := func(done func() bool) func() bool {
				return func() bool {
					for _, pl := range p.Pipelines() {
						if !strings.HasPrefix(pl.Ref, "submitqueue/") || len(pl.Jobs) == 0 {
							continue
						}
						for _, j := range pl.Jobs {
							if j.State == "pending" { // a pass counts once nothing else runs there
								p.Report(pl.ID, j.Name, map[bool]string{true: "failed", false: "success"}[j.Name == "test" && p.Has(pl.SHA, "bad.txt")], "boom")
							}
						}
					}
					return done()
				}
			}
			t.Cleanup(func() {
				if t.Failed() {
					t.Logf("%+v %+v", p.Pipelines(), p.AllNotes(good))
				}
			})
			p.Comment("ann", good, "/land")
			s.until("the good one is merged", run(func() bool { return p.Look(good).State == "merged" }))
			p.Comment("ann", bad, "/land")
			s.until("the bad one is refused", run(func() bool {
				notes := p.Notes(gl.Bot(), bad)
				return len(notes) == 1 && strings.Contains(notes[0].Body, "boom")
			}))
			if mr := p.Look(bad); mr.State != "opened" {
				t.Errorf("the bad one: %+v", mr)
			}
			if got := gl.BotActions(); len(got) != 0 {
				t.Errorf("executed as the bot: %v", got)
			}
			for _, pl := range p.Pipelines() {
				switch {
				case !strings.HasPrefix(pl.Ref, "submitqueue") || pl.Ref == "submitqueue/status", len(pl.Jobs) == 0 && pl.Status == "skipped":
				case strings.HasPrefix(pl.Ref, "submitqueue-targets/") && c.source == "push": // whose side commits the simulated CI builds, too
				case pl.Source != c.source:
					t.Errorf("the pipeline of %s is by %s", pl.Ref, pl.Source)
				case inputs && (pl.Inputs["submitqueue_steps"] != "ci" || len(pl.Inputs) != 2 || (len(pl.Variables) > 0) != (name == "by both")):
					t.Errorf("the pipeline of %s is told %v, by inputs %v", pl.Ref, pl.Variables, pl.Inputs)
				case c.source == "api" && !inputs && (pl.Variables["SUBMITQUEUE_STEPS"] != "ci" || !strings.HasSuffix(pl.Ref, "/"+pl.Variables["SUBMITQUEUE_BUILD"])):
					t.Errorf("the pipeline of %s is told %v", pl.Ref, pl.Variables)
				}
			}
		})
	}
}

// GitLab makes pipelines for the first refs of a push only, which matters where a push has
// to start them. Many candidates at once all get theirs.
func TestServeGitLabManyPipelines(t *testing.T) {
	storetest.OneOf(t, 3)
	t.Parallel()
	for name, from := range map[string]int{"asked for": 40, "by pushes": 0} {
		t.Run(name, func(t *testing.T) { t.Parallel(); manyPipelines(t, from) })
	}
}

func manyPipelines(t *testing.T, variables int) {
	const many = 7
	gl, p, s := gitlabServer(t, fake.Options{}, "version: 1\nqueue: {threshold: 0.01, spare: always}\nsteps:\n  - {name: ci, checks: [test]}\n",
		func(s *fake.Settings) { s.Jobs, s.VariablesFrom = []string{"test"}, variables })
	var numbers []int
	for i := range many {
		branch := fmt.Sprintf("topic-%d", i)
		p.Push("ann", branch, map[string]string{branch + ".txt": "n\n"})
		numbers = append(numbers, p.Open(fake.Opening{Author: "ann", Source: branch}))
	}
	built, largest := map[string]bool{}, 0
	open := func() (n int) { // pipelines of candidates that are under way
		for _, pl := range p.Pipelines() {
			if strings.HasPrefix(pl.Ref, "submitqueue/") && pl.Source != "external" && len(pl.Jobs) > 0 && pl.Jobs[0].State == "pending" {
				built[pl.Ref] = true
				n++
			}
		}
		largest = max(largest, n)
		return n
	}
	pass := func() {
		for _, pl := range p.Pipelines() {
			if built[pl.Ref] && pl.Jobs[0].State == "pending" {
				p.Report(pl.ID, "test", "success")
			}
		}
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("at most %d at once: %+v", largest, p.Pipelines())
		}
	})
	s.until("main is proven", func() bool { open(); pass(); return p.Tip("main") != "" && len(built) > 0 })
	for _, n := range numbers {
		p.Comment("ann", n, "/land")
	}
	s.until("several have their pipelines at once", func() bool { return open() >= 5 })
	s.until("all are merged", func() bool {
		open()
		pass()
		for _, n := range numbers {
			if p.Look(n).State != "merged" {
				return false
			}
		}
		return true
	})
	if got := gl.BotActions(); len(got) != 0 {
		t.Errorf("executed as the bot: %v", got)
	}
}
