package gitlab_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/forge"
	fake "github.com/submitqueue/submitqueue/forge/forgetest/gitlab"
	"github.com/submitqueue/submitqueue/queue"
)

// mostly is what a merge request does not meet, as one text.
func (w *world) mostly(n int) string {
	w.Helper()
	var out []string
	for _, r := range w.unmet(n) {
		out = append(out, fmt.Sprintf("%s%v", r.Kind, r.Names))
	}
	return strings.Join(out, " ")
}

// GitLab tells the first reason of several. Those that it hides are read all the same, for
// the queue would land what they hold back: here behind a pipeline that fails, a rebase that
// is needed and a draft.
func TestUnmetBehindOthers(t *testing.T) {
	t.Parallel()
	for name, hide := range map[string]func(*world, int){
		"nothing": func(*world, int) {},
		"draft":   func(w *world, n int) { w.project.SetTitle("ann", n, "Draft: x") },
		"rebase": func(w *world, n int) {
			w.project.Set(func(s *fake.Settings) { s.MergeMethod = "ff" })
			w.project.Push("ann", "main", nil)
			w.server.Settle()
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, fake.Options{Premium: true})
			low, n := w.opened("low"), w.opened("topic")
			hide(w, n)
			w.project.Block(n, low)
			w.project.SetExternal(n, fake.ExternalCheck{Name: "licence", Status: "pending"}, fake.ExternalCheck{Name: "audit", Status: "failed"}, fake.ExternalCheck{Name: "ok", Status: "passed"})
			want := fmt.Sprintf("depends[#%d blocks] checks[licence] checks-failed[audit]", low)
			if got := w.mostly(n); got != want {
				t.Errorf("not met: %s; want %s", got, want)
			}
			w.project.Close("ann", low)
			if got := w.mostly(n); got != want {
				t.Errorf("closed, and not merged: %s; want %s", got, want)
			}
			w.project.Block(n)
			w.project.SetExternal(n)
			if got := w.mostly(n); got != "" {
				t.Errorf("not met: %s", got)
			}
		})
	}
}

// Before version 16.5, there is the one reason that the merge status tells, and what can be
// read by itself.
func TestUnmetByOneReason(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fake.Options{Premium: true, Unchecked: true})
	low, n := w.opened("low"), w.opened("topic")
	w.project.Block(n, low)
	w.project.Set(func(s *fake.Settings) { s.MustResolve = true })
	thread := w.project.Discuss("cyn", n, "Why?")
	if got := w.mostly(n); got != "conversations[1]" {
		t.Errorf("not met: %s", got)
	}
	w.project.Resolve("cyn", n, thread)
	if got := w.mostly(n); got != fmt.Sprintf("depends[#%d blocks]", low) {
		t.Errorf("not met: %s", got)
	}
}

// For ten seconds after a push, approvals look intact that GitLab is about to take away, also
// where the merge status tells another reason. They do not count, and then are gone.
func TestApprovalsThatAreAboutToGo(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]fake.Options{"told": {Premium: true}, "before 16.5": {Premium: true, Unchecked: true}} {
		t.Run(name, func(t *testing.T) { approvalsThatAreAboutToGo(t, o) })
	}
}

func approvalsThatAreAboutToGo(t *testing.T, o fake.Options) {
	w := newWorld(t, o)
	w.project.Set(func(s *fake.Settings) { s.Approvals = 1 })
	n := w.opened("topic")
	w.project.Approve("cyn", n)
	w.server.Pass(time.Minute)
	ask := func() (queue.CommitID, error) {
		head := queue.CommitID(w.project.Look(n).SHA)
		_, standing, err := w.forge.Stands(t.Context(), forge.Requirements{Number: n})
		if err == nil && len(standing.Unmet) != 0 {
			return head, fmt.Errorf("not met: %v", standing.Unmet)
		}
		return head, err
	}
	if _, err := ask(); err != nil {
		t.Fatal(err)
	}
	w.project.SetTitle("ann", n, "Draft: x") // which is what the merge status tells then
	w.project.Push("ann", "topic", nil)
	w.server.Settle()
	if _, err := ask(); transient(err) == nil || transient(err).After <= 0 || transient(err).After > 20*time.Second {
		t.Errorf("right after a push: %v", err)
	}
	w.server.Pass(11 * time.Second)
	w.server.Settle()
	if _, err := ask(); err == nil || transient(err) != nil || !strings.Contains(err.Error(), "reviews [0 1]") {
		t.Errorf("when they are gone: %v", err)
	}
}

// A project's merge method and squash option say by what methods merge requests land.
func TestMethods(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ method, squash, want string }{
		{"merge", "", "[merge squash]"}, {"merge", "never", "[merge]"}, {"merge", "always", "[squash]"}, {"merge", "default_on", "[squash merge]"},
		{"rebase_merge", "never", "[semi-linear]"}, {"ff", "default_off", "[rebase squash]"}, {"ff", "default_on", "[squash rebase]"},
	} {
		w := newWorld(t, fake.Options{})
		w.project.Set(func(s *fake.Settings) { s.MergeMethod, s.Squash = c.method, c.squash })
		if got, err := w.forge.Methods(t.Context()); err != nil || fmt.Sprint(got) != c.want {
			t.Errorf("%s, %s: %v, %v; want %s", c.method, c.squash, got, err, c.want)
		}
	}
}

// A pipeline that tests what a merge would give has the commit of that merge, not the head.
func TestPipelinesOfMergedResults(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fake.Options{Premium: true})
	w.project.Set(func(s *fake.Settings) {
		s.MustSucceed, s.Reset, s.Merged, s.Results, s.Jobs = true, false, true, true, []string{"test"}
	})
	n := w.opened("topic")
	w.server.Settle()
	old := w.project.Pipelines()[0].ID
	is := func(want string) {
		t.Helper()
		if got := w.mostly(n); got != want {
			t.Errorf("not met: %s; want %s", got, want)
		}
	}
	is("checks[test]")
	w.project.Report(old, "test", "failed")
	is("checks-failed[test]")
	w.project.Push("ann", "topic", nil)
	w.server.Settle()
	list := w.project.Pipelines()
	if is("checks[test]"); len(list) != 2 {
		t.Fatalf("%+v", list)
	}
	w.project.Report(list[1].ID, "test", "success")
	is("")
}

// The branch of a fork is tested in the fork, whose jobs may be hidden from us: then GitLab's
// word on the whole pipeline counts.
func TestPipelinesOfForks(t *testing.T) {
	t.Parallel()
	for _, hidden := range []bool{false, true} {
		w := newWorld(t, fake.Options{})
		w.project.Set(func(s *fake.Settings) { s.MustSucceed, s.Jobs = true, []string{"test"} })
		fork := w.project.Fork("cyn")
		wait, bad := "checks[pipeline]", "checks-failed[pipeline]"
		if !hidden {
			fork.SetLevel(w.server.Bot(), 20)
			wait, bad = "checks[test]", "checks-failed[test]"
		}
		fork.Push("cyn", "theirs", nil)
		w.server.Settle()
		n := w.project.Open(fake.Opening{Author: "cyn", Source: "theirs", Fork: fork})
		ci := fork.Pipelines()[0].ID
		is := func(want string) {
			t.Helper()
			if got := w.mostly(n); got != want {
				t.Errorf("hidden: %v: not met: %s; want %s", hidden, got, want)
			}
		}
		is(wait)
		fork.Report(ci, "test", "failed")
		is(bad)
		fork.RetryPipeline("cyn", ci)
		is(wait)
		fork.Report(ci, "test", "success")
		is("")
	}
}
