package github_test

import (
	"errors"
	"fmt"
	"os/exec"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/forgetest"
	"github.com/submitqueue/submitqueue/queue"
)

// merging is a world with an open pull request, and what asks for its merge.
func merging(t *testing.T) (*world, forge.PullMerge) {
	w := newWorld(t, forgetest.Options{})
	w.commit("topic", "")
	n := must(w.repo.OpenPull("ann", "topic", "main", "Topic"))
	return w, forge.PullMerge{Number: n, Head: queue.CommitID(w.repo.Head("topic")), Base: "main", Message: "A title\n\nWhy.\n\nMore.\n\nChange: 1.a\nHead: b\n"}
}

func TestSquashPull(t *testing.T) {
	w, m := merging(t)
	before := w.repo.Head("main")
	if err := w.forge.SquashPull(w.ctx, m); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("git", "log", "-1", "--format=%P %cn%n%B", "main")
	cmd.Dir = w.repo.Dir()
	out, err := cmd.Output()
	if want := before + " GitHub\n" + m.Message; err != nil || strings.TrimRight(string(out), "\n") != strings.TrimRight(want, "\n") {
		t.Errorf("main's commit is\n%s\nwant\n%s\n%v", out, want, err)
	}
	if p := w.repo.Pull(m.Number); !p.Merged {
		t.Errorf("%+v", p)
	}
	after := w.repo.Head("main")
	declined := (*forge.Declined)(nil)
	if err := w.forge.SquashPull(w.ctx, m); !errors.As(err, &declined) || w.repo.Head("main") != after {
		t.Errorf("once more: %v", err)
	}
}

// What GitHub answers to a merge is a refusal, something that goes away, or not known.
func TestSquashPullDeclined(t *testing.T) {
	const path = "/repos/o/r/pulls/*/merge"
	for name, c := range map[string]struct {
		so      func(*world, *forge.PullMerge)
		reason  string // of a refusal; "": it goes away
		after   time.Duration
		merged  bool
		forbids bool
	}{
		"method":       {so: func(w *world, _ *forge.PullMerge) { w.repo.SetMerges(forgetest.Merges{Only: []string{"rebase"}}) }, reason: "Squash merges are not allowed on this repository."},
		"another base": {so: func(_ *world, m *forge.PullMerge) { m.Base = "release" }, reason: "the pull request asks for another branch"},
		"another head": {so: func(_ *world, m *forge.PullMerge) { m.Head = "0123" }, reason: "the pull request has another head"},
		"head moves": {so: func(w *world, _ *forge.PullMerge) {
			w.repo.SetMerges(forgetest.Merges{Before: func() { w.commit("topic", "") }})
		}, reason: "Head branch was modified. Review and try the merge again."},
		"closed":   {so: func(w *world, m *forge.PullMerge) { w.repo.ClosePull("ann", m.Number) }, reason: "the pull request is not open"},
		"draft":    {so: func(w *world, m *forge.PullMerge) { w.repo.SetDraft("ann", m.Number, true) }, reason: "Pull Request is still a draft"},
		"conflict": {so: func(w *world, m *forge.PullMerge) { w.fight(); m.Head = queue.CommitID(w.repo.Head("topic")) }, reason: "Pull Request is not mergeable"},
		"rule": {so: func(w *world, m *forge.PullMerge) {
			w.repo.ProtectBranch("main", forgetest.Protection{Ruleset: true, RequiredChecks: []string{"ci"}})
		}, reason: "Repository rule violations found\n\nRequired status check \"ci\" is expected."},
		"reviews": {so: func(w *world, m *forge.PullMerge) {
			w.repo.ProtectBranch("main", forgetest.Protection{Reviews: forgetest.Reviews{Count: 1}})
		}, reason: "At least 1 approving review is required by reviewers with write access."},
		"invalid": {so: func(w *world, _ *forge.PullMerge) {
			w.server.Fail(forgetest.Fault{Method: "PUT", Path: path, Status: 422, Message: "Validation Failed"})
		}, reason: "Validation Failed"},
		"base modified": {so: func(w *world, _ *forge.PullMerge) { w.repo.SetMerges(forgetest.Merges{Stale: 1}) }, after: time.Second},
		"trouble": {so: func(w *world, _ *forge.PullMerge) {
			w.server.Fail(forgetest.Fault{Method: "PUT", Path: path, Status: 502})
		}},
		"no answer": {so: func(w *world, _ *forge.PullMerge) {
			w.server.Fail(forgetest.Fault{Method: "PUT", Path: path, After: true})
		}, merged: true},
		"forbidden": {so: func(w *world, _ *forge.PullMerge) {
			w.server.Fail(forgetest.Fault{Method: "PUT", Path: path, Status: 403, Message: "Resource not accessible by integration"})
		}, forbids: true},
	} {
		t.Run(name, func(t *testing.T) {
			w, m := merging(t)
			c.so(w, &m)
			before := w.repo.Head("main")
			err := w.forge.SquashPull(w.ctx, m)
			var declined *forge.Declined
			var passing *forge.Transient
			switch {
			case c.forbids:
				if !errors.Is(err, forge.ErrForbidden) {
					t.Errorf("%v", err)
				}
			case c.reason != "":
				if !errors.As(err, &declined) || strings.TrimSpace(declined.Reason) != c.reason {
					t.Errorf("%v, want %q", err, c.reason)
				}
			case !errors.As(err, &passing) || passing.After != c.after:
				t.Errorf("%v, want what goes away in %v", err, c.after)
			}
			if merged := w.repo.Head("main") != before; merged != c.merged {
				t.Errorf("main has moved: %v", merged)
			}
		})
	}
}

// fight has main change what topic changes.
func (w *world) fight() {
	w.Helper()
	must(w.repo.Commit("ann", forgetest.Commit{Branch: "topic", Files: map[string]string{"same": "topic\n"}}))
	must(w.repo.Commit("ann", forgetest.Commit{Branch: "main", Files: map[string]string{"same": "main\n"}}))
}

// What branches are used for is read in two requests; forks' branches of the same name are
// others, and what nobody may see of a protection the list of protected branches tells.
func TestUses(t *testing.T) {
	w := newWorld(t, forgetest.Options{})
	names := []string{"topic", "base", "kept", "ruled", "gone"}
	for _, b := range names[:4] {
		w.commit(b, "")
	}
	n := must(w.repo.OpenPull("ann", "topic", "base", "Topic"))
	fork := must(w.repo.Fork("bob"))
	must(fork.Commit("bob", forgetest.Commit{Branch: "topic", Files: map[string]string{"f": "f"}}))
	must(w.repo.OpenPull("bob", "bob:topic", "main", "A fork's branch of the same name"))
	w.repo.ProtectBranch("kept", forgetest.Protection{Concealed: true})
	w.repo.ProtectBranch("ruled", forgetest.Protection{Ruleset: true})
	from := len(w.server.Requests("", "/**"))
	got := must(w.forge.Uses(w.ctx, names))
	asked := w.server.Requests("", "/**")[from:]
	want := []forge.BranchUse{{From: []int{n}}, {Into: []int{n}}, {Protected: true}, {Protected: true}, {Gone: true}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if calls := len(asked); calls > 4 { // two, and a token's
		t.Errorf("%d requests: %v", calls, asked)
	}
}

// Where nearly everything is protected, each branch is looked at; many are asked for at
// once in parts.
func TestUsesOfMany(t *testing.T) {
	w := newWorld(t, forgetest.Options{})
	var names []string
	for i := range 120 {
		names = append(names, fmt.Sprintf("b%03d", i))
	}
	var list []forgetest.Commit
	for _, b := range names {
		list = append(list, forgetest.Commit{Branch: b, Files: map[string]string{"f": b}})
	}
	must(w.repo.Commits("ann", list))
	for _, b := range names[1:] {
		w.repo.ProtectBranch(b, forgetest.Protection{Concealed: true})
	}
	for i, use := range must(w.forge.Uses(w.ctx, names)) {
		if use.Gone || use.Protected != (i > 0) {
			t.Errorf("%s: %+v", names[i], use)
		}
	}
}
