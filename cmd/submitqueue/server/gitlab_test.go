package server

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	fake "github.com/submitqueue/submitqueue/forge/forgetest/gitlab"
)

const gitlabSigning = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="

// gitlabServer is a server of a project on a simulated GitLab, whose jobs and webhooks run
// until the test ends.
func gitlabServer(t *testing.T, o fake.Options, config string) (*fake.Server, *fake.Project, *serving) {
	t.Helper()
	gl, err := fake.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { gl.Close() })
	gl.AddUser("ann")
	p, err := gl.AddProject("group/sub/shop", "main", "ann")
	if err != nil {
		t.Fatal(err)
	}
	p.Push("ann", "main", map[string]string{".submitqueue.yml": config})
	gl.Settle()
	secrets := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(secrets, name)
		if err := os.WriteFile(path, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	s := startServe(t, t.TempDir(), func(c *Serve) {
		c.Forge, c.Repo, c.Isolate = "gitlab", []string{"group/sub/shop"}, isolateFlags{Isolate: "none", UIDs: "58000-58999"}
		c.forges = []forgeRow{{"gitlab", "", func(ctx context.Context, c *Serve, o *Options) (late, error) {
			l, err := openGitLab(ctx, c, o)
			for i := range o.Queues {
				o.Queues[i].CI.Grace, o.Queues[i].CI.Poll = 10*time.Millisecond, time.Second // the pipelines of these tests begin at once
			}
			return l, err
		}}}
		c.GitLab = gitlabFlags{URL: gl.URL(), Token: file("token", gl.BotToken()), Secret: file("secret", gitlabSigning)}
	})
	p.AddHook(fake.Hook{URL: s.base + "/webhook/gitlab", Signing: gitlabSigning})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			gl.Settle()
			gl.Deliver(ctx)
			select {
			case <-ctx.Done():
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
	return gl, p, s
}

// A merge request lands by a comment: its webhook is signed, its build runs, its branch
// moves before main, and GitLab shows it as merged; the note says so and nothing that it
// says is executed.
func TestServeGitLab(t *testing.T) {
	for _, method := range []string{"merge", "squash"} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			gl, p, s := gitlabServer(t, fake.Options{}, "version: 1\nqueue: {method: "+method+"}\nsteps:\n  - {name: unit, run: 'test -f new.txt'}\n")
			p.Push("ann", "topic", map[string]string{"new.txt": "n\n"})
			n := p.Open(fake.Opening{Author: "ann", Source: "topic", Title: "/merge\n/close", Body: "text"})
			p.Comment("ann", n, "/land")
			t.Cleanup(func() {
				if t.Failed() {
					t.Logf("%+v\n%+v", p.Look(n), p.AllNotes(n))
				}
			})
			s.until("it is merged", func() bool { return p.Look(n).State == "merged" })
			s.until("the note says so", func() bool {
				notes := p.Notes(gl.Bot(), n)
				return len(notes) == 1 && strings.Contains(notes[0].Body, "anded")
			})
			if got := gl.BotActions(); len(got) != 0 {
				t.Errorf("executed as the bot: %v", got)
			}
			awarded := false
			for _, note := range p.AllNotes(n) {
				awarded = awarded || len(note.Awards) > 0
			}
			if !awarded {
				t.Error("the command is not acknowledged")
			}
		})
	}
}

// A step is left to GitLab's own CI: the pipeline of the candidate's branch is waited for,
// and its jobs are judged.
func TestServeGitLabPipelines(t *testing.T) {
	gl, p, s := gitlabServer(t, fake.Options{}, "version: 1\nsteps:\n  - {name: ci, checks: [test]}\n")
	p.Set(func(s *fake.Settings) { s.Jobs = []string{"test", "other"} })
	p.Push("ann", "good", map[string]string{"good.txt": "n\n"})
	p.Push("ann", "bad", map[string]string{"bad.txt": "n\n"})
	good := p.Open(fake.Opening{Author: "ann", Source: "good"})
	bad := p.Open(fake.Opening{Author: "ann", Source: "bad"})
	run := func(done func() bool) func() bool {
		return func() bool {
			for _, pl := range p.Pipelines() {
				if !strings.HasPrefix(pl.Ref, "submitqueue/") || pl.Source != "push" {
					continue
				}
				state := "success"
				if p.Has(pl.SHA, "bad.txt") {
					state = "failed"
				}
				for _, j := range pl.Jobs {
					if j.State == "pending" { // a pass counts once nothing else runs there
						p.Report(pl.ID, j.Name, map[bool]string{true: state, false: "success"}[j.Name == "test"], "boom")
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
}

// The source branch of what has landed is deleted where the project wants it, and only
// after GitLab shows it as merged; what asks for it then asks for main.
func TestServeGitLabDeletesBranches(t *testing.T) {
	_, p, s := gitlabServer(t, fake.Options{}, "version: 1\nqueue: {method: squash}\nsteps:\n  - {name: unit, run: 'true'}\n")
	p.Set(func(s *fake.Settings) { s.DeleteSource = true })
	p.Push("ann", "topic", map[string]string{"new.txt": "n\n"})
	n := p.Open(fake.Opening{Author: "ann", Source: "topic"})
	p.Comment("ann", n, "/land")
	s.until("its branch is gone", func() bool { return p.Tip("topic") == "" })
	if mr := p.Look(n); mr.State != "merged" {
		t.Errorf("it is %+v", mr)
	}
}
