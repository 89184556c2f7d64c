package app_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/submitqueue/submitqueue/forge/forgetest"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/storetest"
)

// Whatever befalls the mirror of a server that runs, the next change lands, and
// nobody's change is parked or rejected for it. Without SUBMITQUEUE_REQUIRE=matrix a few
// damages befall, by chance: what a mirror makes of each, package mirror tests always.
func TestDamagedMirrorIsMadeAgain(t *testing.T) {
	t.Parallel()
	names := slices.Sorted(maps.Keys(forgetest.Damages))
	if !storetest.Required("matrix") {
		storetest.Draws(t.Name()).Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		names = names[:5]
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			storetest.OneOf(t, 3)
			h := newHub(t, hubOptions{http: true, files: map[string]string{"word": "1\n2\n3\n4\n5\n6\n7\n8\n9\n"}})
			h.proven()
			old := h.pull("old", map[string]string{"word": "one\n2\n3\n4\n5\n6\n7\n8\n9\n"})
			h.landed(h.land("first", map[string]string{"a": "a\n"}))
			mustNot(t, forgetest.Damages[name](h.mirror.Dir()))
			h.landed(h.land("second", map[string]string{"word": "1\n2\n3\n4\n5\n6\n7\n8\nnine\n"}))
			h.Comment("ann", old, "/land")
			h.landed(old)
			h.spared()
			h.green()
		})
	}
}

// spared fails where a change was parked or rejected.
func (h *hub) spared() {
	h.Helper()
	for _, what := range []string{"parked", "rejected", "build-infrastructure"} {
		if n := h.notes(what); n != 0 {
			h.Errorf("%d notes of %s\n%s", n, what, h.describe())
		}
	}
}

// Damages that come one after the other, while changes are being landed.
func TestDamagesWhileLanding(t *testing.T) {
	t.Parallel()
	draw := rapid.SliceOfN(rapid.SampledFrom(slices.Sorted(maps.Keys(forgetest.Damages))), 2, 4)
	seeds := []int{0, 1, 2, 3}
	if !storetest.Required("matrix") {
		seeds = []int{storetest.Draws(t.Name()).IntN(4)}
	}
	for _, seed := range seeds {
		damages := draw.Example(seed)
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			h := newHub(t, hubOptions{http: true, files: areas()})
			h.proven()
			var asked []int
			for i, name := range damages {
				for _, area := range []string{"api", "web"} {
					file := fmt.Sprintf("%s/f%d", area, i)
					asked = append(asked, h.land(fmt.Sprintf("%s%d", area, i), map[string]string{file: "x\n"}))
				}
				t.Log(name)
				// Files that the server removes or writes at the same moment are not damage of ours.
				if err := forgetest.Damages[name](h.mirror.Dir()); err != nil {
					t.Log(err)
				}
			}
			for _, n := range asked {
				if ch := h.settled(n); ch.Phase != queue.Landed {
					t.Errorf("#%d is %s: %+v", n, ch.Phase, ch.Reason)
				}
			}
			for _, n := range asked {
				h.landed(n)
			}
			h.green()
		})
	}
}
