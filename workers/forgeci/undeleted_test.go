package forgeci

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/mirror"
)

// guarded is a hub that lets nobody delete some of our refs by git, as GitLab does with
// protected branches: one such ref has the whole push refused.
type guarded struct {
	*hub
	prefix string
}

func (g guarded) Push(ctx context.Context, moves []mirror.RefMove) (fresh []bool, each []error, err error) {
	if !slices.ContainsFunc(moves, func(m mirror.RefMove) bool { return m.Commit == "" && strings.HasPrefix(m.Branch, g.prefix) }) {
		return g.hub.Push(ctx, moves)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.changed <- struct{}{}
	g.pushes = append(g.pushes, moves)
	why := fmt.Errorf("%w: GitLab: You can only delete protected branches using the web interface.", forge.ErrForbidden)
	return make([]bool, len(moves)), slices.Repeat([]error{why}, len(moves)), nil
}

// Refs that cannot be deleted stay. The builds after them are pushed, the refs of their targets
// are deleted, and nothing is tried again and again.
func TestRefsThatCannotBeDeleted(t *testing.T) {
	g := guarded{newHub(), "submitqueue/"}
	c := g.start(t, func(o *Options) { o.Refs = g })
	for i := range 8 {
		id := fmt.Sprint(i)
		mustRun(t, c, order(id), "run/"+id)
		pushed := func() bool { return g.refs[ref(id)] != "" }
		g.until(t, "it is pushed, or has ended", func() bool {
			c.mu.Lock()
			defer c.mu.Unlock()
			return pushed() || c.builds[order(id).ID].done != nil
		})
		if err := c.Stop(t.Context(), order(id).ID); err != nil {
			t.Fatal(err)
		}
		if got := c.ofEvent(t); len(got) != 1 || got[0] != "done cancelled run/"+id {
			t.Fatalf("build %s ended as %v", id, got)
		}
		g.until(t, "its refs are to be deleted", func() bool { return len(g.pushes) > 2*i })
	}
	g.until(t, "the refs of targets are deleted", func() bool {
		for branch := range g.refs {
			if strings.HasPrefix(branch, "submitqueue-targets/") {
				return false
			}
		}
		return true
	})
	c.mu.Lock()
	left := len(c.gone)
	c.mu.Unlock()
	g.mu.Lock()
	defer g.mu.Unlock()
	refused := 0
	for _, moves := range g.pushes {
		if slices.ContainsFunc(moves, func(m mirror.RefMove) bool { return m.Commit == "" && strings.HasPrefix(m.Branch, g.prefix) }) {
			refused++
		}
	}
	if left != 0 || refused > 3 {
		t.Errorf("%d refs are to be deleted still, and %d pushes were refused", left, refused)
	}
}
