package server

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/cmd/submitqueue/gitlabaccount"
	fake "github.com/submitqueue/submitqueue/forge/forgetest/gitlab"
	"github.com/submitqueue/submitqueue/forge/forgetest/gitlab/described"
	"github.com/submitqueue/submitqueue/queue/storetest"
)

const gitlabSigning = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="

// gitlabServer is a server of a project on a simulated GitLab, whose jobs and webhooks run
// until the test ends.
func gitlabServer(t *testing.T, o fake.Options, config string, set ...func(*fake.Settings)) (*fake.Server, *fake.Project, *serving) {
	t.Helper()
	gl, p := gitlabProject(t, o, "group/sub/shop", config, set...)
	secrets := t.TempDir()
	file := func(name, text string) string { return secretFile(t, secrets, name, text) }
	s := startServe(t, t.TempDir(), func(c *Serve) {
		c.CIBuilds = 20
		c.Forge, c.Repo, c.Isolate = []string{"gitlab"}, []string{"group/sub/shop"}, isolateFlags{Isolate: "none", UIDs: "58000-58999"}
		c.forges = []forgeRow{{"gitlab", "", "", func(ctx context.Context, c *Serve, o *Options) (late, error) {
			l, err := openGitLab(ctx, c, o)
			for i := range o.Queues {
				o.Queues[i].CI.Grace, o.Queues[i].CI.Poll = 10*time.Millisecond, time.Second // the pipelines of these tests begin at once
			}
			return l, err
		}}}
		c.GitLab = gitlabaccount.Flags{URL: gl.URL(), Token: file("token", gl.BotToken()), Secret: file("secret", gitlabSigning)}
	})
	p.AddHook(fake.Hook{URL: s.base + "/webhook/gitlab", Signing: gitlabSigning})
	keepSettling(t, gl, nil)
	return gl, p, s
}

// gitlabProject is a simulated GitLab with one project, whose main has a configuration.
func gitlabProject(t *testing.T, o fake.Options, path, config string, set ...func(*fake.Settings)) (*fake.Server, *fake.Project) {
	t.Helper()
	o.Judge = described.Judge(t)
	gl, err := fake.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { gl.Close() })
	gl.AddUser("ann")
	p, err := gl.AddProject(path, "main", "ann")
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range set {
		p.Set(change)
	}
	p.Push("ann", "main", map[string]string{".submitqueue.yml": config})
	gl.Settle()
	return gl, p
}

// secretFile writes a secret into a file of a folder, and returns its path.
func secretFile(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// keepSettling runs the jobs of a simulated GitLab, and sends its webhooks while up says so
// (nil: always), until the test ends.
func keepSettling(t *testing.T, gl *fake.Server, up *atomic.Bool) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			gl.Settle()
			if up == nil || up.Load() {
				gl.Deliver(ctx)
			}
			select {
			case <-ctx.Done():
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
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
			if text := p.Notes(gl.Bot(), n)[0].Body; strings.Contains(text, "pull request") {
				t.Errorf("the note speaks of another forge: %s", text)
			}
			title, _, _ := strings.Cut(p.Message("main"), "\n")
			if want := map[string]string{"merge": "Merge !%d: /merge /close", "squash": "/merge /close (!%d)"}[method]; title != fmt.Sprintf(want, n) {
				t.Errorf("what has landed has the title %q", title)
			}
			if page := string(s.get("/queue?queue=" + url.QueryEscape("group/sub/shop@main"))); !strings.Contains(page, fmt.Sprintf(">!%d<", n)) || strings.Contains(page, fmt.Sprintf(">#%d<", n)) {
				t.Errorf("the page of the queue has no !%d: %s", n, page)
			}
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

// Where the configuration does not say how changes land, the project's own setting does: a
// straight history, or one commit for each merge request.
func TestServeGitLabByTheProjectsMethod(t *testing.T) {
	storetest.OneOf(t, 3)
	for name, set := range map[string]func(*fake.Settings){
		"semi-linear": func(s *fake.Settings) { s.MergeMethod, s.Squash = "rebase_merge", "never" },
		"ff":          func(s *fake.Settings) { s.MergeMethod = "ff" },
		"squash":      func(s *fake.Settings) { s.Squash = "always" },
		"merge":       func(*fake.Settings) {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			gl, p, s := gitlabServer(t, fake.Options{}, "version: 1\nsteps:\n  - {name: unit, run: 'true'}\n", set)
			p.Push("ann", "topic", map[string]string{"a.txt": "n\n"})
			p.Push("ann", "topic", map[string]string{"b.txt": "n\n"})
			n := p.Open(fake.Opening{Author: "ann", Source: "topic"})
			p.Push("ann", "main", map[string]string{"c.txt": "n\n"})
			gl.Settle()
			p.Comment("ann", n, "/land")
			s.until("it is merged", func() bool { return p.Look(n).State == "merged" })
			own, merges := p.History("main")
			want := map[string][2]int{"semi-linear": {6, 1}, "ff": {5, 0}, "squash": {4, 0}, "merge": {6, 1}}[name]
			if own != want[0] || merges != want[1] {
				t.Errorf("main has %d commits, of these %d merges; want %v", own, merges, want)
			}
			if straight := p.Straight("main"); straight != (name != "merge") {
				t.Errorf("the branches of main's merges stand on the commit before them: %v", straight)
			}
		})
	}
}

// Assigning the queue's account asks to land, and unassigning it takes that back.
func TestServeGitLabAssigned(t *testing.T) {
	t.Parallel()
	hold := filepath.Join(t.TempDir(), "hold")
	if err := os.WriteFile(hold, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	gl, p, s := gitlabServer(t, fake.Options{}, "version: 1\nsteps:\n  - {name: unit, run: 'while test -e "+hold+"; do sleep 0.05; done'}\n")
	p.Push("ann", "topic", map[string]string{"new.txt": "n\n"})
	n := p.Open(fake.Opening{Author: "ann", Source: "topic"})
	says := func(what string) func() bool {
		return func() bool {
			notes := p.Notes(gl.Bot(), n)
			return len(notes) == 1 && strings.Contains(notes[0].Body, what)
		}
	}
	p.Assign("ann", n, gl.Bot())
	s.until("it is queued", says(""))
	p.Assign("ann", n)
	s.until("it is taken out", says("ancelled"))
	if err := os.Remove(hold); err != nil {
		t.Fatal(err)
	}
	p.Assign("ann", n, "ann", gl.Bot())
	s.until("it is merged", func() bool { return p.Look(n).State == "merged" })
}

// The source branch of what has landed is deleted where the project wants it, and only
// after GitLab shows it as merged; what asks for it then asks for main.
func TestServeGitLabDeletesBranches(t *testing.T) {
	storetest.OneOf(t, 3)
	t.Parallel()
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

// The project's templates say what the commits of merge requests say, where the
// configuration has none of its own.
func TestServeGitLabTemplates(t *testing.T) {
	set := func(s *fake.Settings) {
		s.MergeText = "Merge %{source_branch} into %{target_branch}\n\n%{title}\n\n%{issues}\n\nSee merge request %{reference}"
		s.SquashText = "%{title} (%{local_reference})\n\n%{all_commits}"
	}
	for name, c := range map[string]struct{ queue, want string }{
		"merge":  {"", "Merge topic into main\n\nTwice\n\nSee merge request group/sub/shop!1\n"},
		"squash": {"queue: {method: squash}\n", "Twice (!1)\n\n* Change topic\n"},
		"own":    {"queue: {messages: {merge: {title: 'Ours: {title}'}}}\n", "Ours: Twice\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, p, s := gitlabServer(t, fake.Options{}, "version: 1\n"+c.queue+"steps:\n  - {name: unit, run: 'true'}\n", set)
			p.Push("ann", "topic", map[string]string{"a.txt": "n\n"})
			n := p.Open(fake.Opening{Author: "ann", Source: "topic", Title: "Twice", Body: "Closes #7"})
			p.Comment("ann", n, "/land")
			s.until("it is merged", func() bool { return p.Look(n).State == "merged" })
			if got := p.Message("main"); !strings.HasPrefix(got, c.want) {
				t.Errorf("main says %q, which does not begin with %q", got, c.want)
			}
		})
	}
}
