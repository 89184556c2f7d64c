package server

import (
	"strings"
	"testing"

	fake "github.com/submitqueue/submitqueue/forge/forgetest/gitlab"
	"github.com/submitqueue/submitqueue/queue/storetest"
)

// How a job of a candidate's pipeline ends is people's doing, too: they cancel it, run it
// again, or leave it to be started by hand. None of it turns the merge request down, and a
// job that has not passed lands nothing.
func TestServeGitLabJobsOfOthers(t *testing.T) {
	for name, c := range map[string]struct {
		first func(p *fake.Project, pipeline int) // what becomes of the first pipeline
		fresh bool                                // the queue asks for another one
	}{
		"cancelled by somebody": {func(p *fake.Project, id int) { p.Report(id, "test", "canceled") }, true},
		"skipped":               {func(p *fake.Project, id int) { p.Report(id, "test", "skipped") }, true},
		"to be started by hand": {func(p *fake.Project, id int) { p.Report(id, "test", "manual") }, false},
		"failed, and run again by somebody": {func(p *fake.Project, id int) {
			p.Report(id, "test", "failed", "boom")
			p.RetryPipeline("ann", id)
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			storetest.OneOf(t, 3)
			t.Parallel()
			gl, p, s := gitlabServer(t, fake.Options{}, "version: 1\nsteps:\n  - {name: ci, checks: [test]}\n", func(s *fake.Settings) { s.Jobs = []string{"test"} })
			p.Push("ann", "topic", map[string]string{"new.txt": "n\n"})
			n := p.Open(fake.Opening{Author: "ann", Source: "topic"})
			mine := func() (list []fake.Pipeline) { // pipelines of the merge request's candidates
				for _, pl := range p.Pipelines() {
					if strings.HasPrefix(pl.Ref, "submitqueue/") && pl.Source == "api" && len(pl.Jobs) > 0 && p.Has(pl.SHA, "new.txt") {
						list = append(list, pl)
					}
				}
				return list
			}
			others := func() { // main's own pass
				for _, pl := range p.Pipelines() {
					if pl.Source == "api" && len(pl.Jobs) > 0 && pl.Jobs[0].State == "pending" && !p.Has(pl.SHA, "new.txt") {
						p.Report(pl.ID, "test", "success")
					}
				}
			}
			t.Cleanup(func() {
				if t.Failed() {
					t.Logf("%+v %+v", p.Pipelines(), p.AllNotes(n))
				}
			})
			p.Comment("ann", n, "/land")
			s.until("its pipeline is there", func() bool { others(); return len(mine()) == 1 })
			first := mine()[0].ID
			c.first(p, first)
			if c.fresh && !strings.HasPrefix(name, "failed") {
				s.until("another pipeline is asked for", func() bool { return len(mine()) > 1 })
			}
			if mr := p.Look(n); mr.State != "opened" {
				t.Fatalf("%+v, though nothing has passed", mr)
			}
			s.until("it is merged", func() bool {
				for _, note := range p.Notes(gl.Bot(), n) {
					if strings.Contains(note.Body, "Rejected") {
						t.Fatal(note.Body)
					}
				}
				others()
				for _, pl := range mine() {
					for _, j := range pl.Jobs {
						if !j.Retried && (j.State == "pending" || j.State == "manual") {
							p.Report(pl.ID, j.Name, "success")
						}
					}
				}
				return p.Look(n).State == "merged"
			})
		})
	}
}
