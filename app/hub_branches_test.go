package app_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/submitqueue/submitqueue/forge/forgetest"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/storetest"
)

// layout is how the branches of a repository hang together: each has a pull request
// into main, and some are used for more than that.
type layout struct {
	branches []laidOut
	remove   bool // the repository deletes the branches of merged pull requests
}

type laidOut struct {
	name      string
	method    string
	into      int  // pull requests from other branches ask for it
	also      bool // it has a pull request into another branch, too
	protected bool
	served    bool // another server has a queue of it
	target    bool // this server has
}

// used reports whether a branch is there for more than its pull request into main.
func (l laidOut) used() bool { return l.into > 0 || l.also || l.protected || l.served || l.target }

func drawLayout(t *rapid.T) layout {
	var l layout
	for i := range 5 {
		b := laidOut{name: fmt.Sprintf("b%d", i), method: rapid.SampledFrom([]string{"squash", "rebase", "merge"}).Draw(t, "method")}
		switch rapid.IntRange(0, 6).Draw(t, "use") {
		case 1:
			b.into = rapid.IntRange(1, 2).Draw(t, "into")
		case 2:
			b.also = true
		case 3:
			b.protected = true
		case 4:
			b.served = true
		case 5:
			b.target = true
		}
		l.branches = append(l.branches, b)
	}
	l.remove = rapid.Bool().Draw(t, "remove")
	return l
}

// Whatever is merged, squashed or rebased: a branch that is used for anything but its
// pull request is where it was, and the pull request says what has become of it.
func TestBranchesThatOthersUseStay(t *testing.T) {
	t.Parallel()
	draw := rapid.Custom(drawLayout)
	free, used := 0, 0
	for seed := range 4 {
		l := draw.Example(seed)
		for _, b := range l.branches {
			if b.used() {
				used++
			} else {
				free++
			}
		}
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			storetest.OneOf(t, 3)
			var targets []string
			for _, b := range l.branches {
				if b.target {
					targets = append(targets, b.name)
				}
			}
			h := newHub(t, hubOptions{files: methods("methods: [squash, rebase]"), targets: targets})
			h.DeleteMerged(l.remove)
			h.proven()
			for _, b := range l.branches {
				n := h.pull(b.name, map[string]string{b.name: "x\n"})
				at := h.Head(b.name)
				for i := range b.into {
					fix := fmt.Sprintf("%s-fix%d", b.name, i)
					must(h.Commit("bob", forgetest.Commit{Branch: fix, From: at, Files: map[string]string{fix: "f\n"}}))
					must(h.OpenPull("bob", fix, b.name, "A fix"))
				}
				if b.also {
					must(h.Commit("bob", forgetest.Commit{Branch: b.name + "-old", From: "main", Files: map[string]string{b.name + "-old": "o\n"}}))
					must(h.OpenPull("bob", b.name, b.name+"-old", "The same elsewhere"))
				}
				if b.protected {
					h.ProtectBranch(b.name, forgetest.Protection{AllowForce: true})
				}
				if b.served {
					h.serve(b.name)
				}
				h.Comment("ann", n, "/land method="+b.method)
				ch := h.settled(n)
				if ch.Phase != queue.Landed {
					t.Fatalf("#%d is %s", n, ch.Phase)
				}
				h.says(n, "✅ Landed")
				h.seen()
				h.quiet()
				now := h.Head(b.name)
				switch {
				case b.used() && now != at:
					t.Errorf("%+v was at %s and is at %q", b, at, now)
				case !b.used() && now == at && (b.method != "merge" || l.remove):
					t.Errorf("%+v is still where it was", b)
				}
				if p := h.Pull(n); p.State == "open" || p.Merged == (b.used() && b.method != "merge") {
					t.Errorf("%+v: its pull request is %+v", b, p)
				}
			}
		})
	}
	if free == 0 || used == 0 {
		t.Errorf("%d branches are free, %d are used", free, used)
	}
}

// serve has the store hold a queue of a branch, as another server would.
func (h *hub) serve(branch string) {
	h.Helper()
	name := "acme/shop@" + branch
	token := must(h.store.Acquire(h.Context(), name, "another", time.Minute))
	record, _, err := queue.NewState(branch).Encode(queue.Ref{Kind: queue.KindMeta, ID: queue.MetaMain})
	mustNot(h.T, err)
	mustNot(h.T, h.store.Commit(h.Context(), queue.Turn{Queue: name, Token: token, Put: []queue.Record{record}}))
}

// A pull request of a branch that others ask for lands by squash: what they build on
// stays, with and without the deleting of branches.
func TestSquashFromAReleaseBranch(t *testing.T) {
	t.Parallel()
	for _, remove := range []bool{false, true} {
		t.Run(fmt.Sprint("delete ", remove), func(t *testing.T) {
			h := newHub(t, hubOptions{files: methods("method: squash")})
			h.DeleteMerged(remove)
			h.proven()
			must(h.Commit("ann", forgetest.Commit{Branch: "release", From: h.Head("main"), Files: map[string]string{"r": "r\n"}}))
			must(h.Commit("bob", forgetest.Commit{Branch: "fix", From: h.Head("release"), Files: map[string]string{"f": "f\n"}}))
			other := must(h.OpenPull("bob", "fix", "release", "A fix for the release"))
			h.push("ada", "main", map[string]string{"unreleased": "u\n"})
			h.proven()
			at := h.Head("release")
			n := must(h.OpenPull("ann", "release", "main", "Bring the release back"))
			h.Comment("ann", n, "/land")
			h.closedAsLanded(n)
			h.quiet()
			if now := h.Head("release"); now != at {
				t.Errorf("release was at %s and is at %q", at, now)
			}
			if p := h.Pull(other); p.State != "open" || p.Base != "release" {
				t.Errorf("the fix is %+v", p)
			}
			if !slices.Contains(h.Pull(n).Labels, "landed") {
				t.Errorf("%+v", h.Pull(n))
			}
		})
	}
}
