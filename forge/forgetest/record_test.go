package forgetest_test

import (
	"path/filepath"
	"testing"

	"github.com/submitqueue/submitqueue/forge/forgetest"
)

// How a pull request ends whose squash lands, by the order of pushes and of what is
// recorded in between.
func TestHowASquashEnds(t *testing.T) {
	for name, x := range map[string]struct {
		act    func(push func(refs ...string), r *forgetest.Repository)
		merged bool
	}{
		"head, then main": {func(push func(...string), r *forgetest.Repository) { push("HEAD:topic"); push("HEAD:main") }, true},
		"both at once":    {func(push func(...string), r *forgetest.Repository) { push("HEAD:main", "HEAD:topic") }, false},
		"main, then head": {func(push func(...string), r *forgetest.Repository) { push("HEAD:main"); push("HEAD:topic") }, false},
		"head is recorded after main": {func(push func(...string), r *forgetest.Repository) {
			r.HoldHeads()
			push("HEAD:topic")
			push("HEAD:main")
			r.ReleaseHeads()
		}, false},
		"head is recorded, late, but then": {func(push func(...string), r *forgetest.Repository) {
			r.HoldHeads()
			push("HEAD:topic")
			r.ReleaseHeads()
			push("HEAD:main")
		}, true},
	} {
		s := mustServer(t, forgetest.Options{})
		r := mustRepository(t, s)
		mustCommit(t, r, "o", forgetest.Commit{Branch: "topic", Files: map[string]string{"a": "1"}})
		n, before := mustPull(t, r, "o", "topic"), r.Head("topic")
		dir := filepath.Join(t.TempDir(), "clone")
		mustGit(t, ".", "", "clone", "-q", r.CloneURL(), dir)
		mustGit(t, dir, "", "merge", "-q", "--squash", "origin/topic")
		mustGit(t, dir, "", "commit", "-qm", "squashed")
		x.act(func(refs ...string) {
			mustGit(t, dir, "Authorization: Bearer "+s.UserToken("o"), append([]string{"push", "-q", "--atomic", "--force-with-lease", "origin"}, refs...)...)
		}, r)
		if p := r.Pull(n); p.Merged != x.merged || p.State != "closed" || x.merged && p.Head != r.Head("main") {
			t.Errorf("%s: %+v", name, p)
		}
		// A closed pull request has the head that it was closed with.
		at := r.Pull(n).Head
		mustCommit(t, r, "o", forgetest.Commit{Branch: "topic", Files: map[string]string{"b": "1"}})
		if p := r.Pull(n); p.Head != at || r.Head("topic") == at {
			t.Errorf("%s: it was %s when it was closed and at %s before, and is %+v", name, at, before, p)
		}
	}
}
