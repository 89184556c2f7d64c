package speculation

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/submitqueue/submitqueue/queue"
)

// TestEveryHashOfMainWasVerifiedUnderAnyVersion: versions that see other inputs of
// targets than each other, changes that choose another analyzer, servers that know
// other versions each time, and all that can happen to a queue. Whenever main counts
// as proven, each of its hashes under the version in force is that of a target as it
// was when it passed, in a build that there was; and so is each that a commit brings
// which is about to land. Once all is calm, the newest version comes to decide.
func TestEveryHashOfMainWasVerifiedUnderAnyVersion(t *testing.T) {
	seen := map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		h := newHistory(rt, shrinking(rt))
		defer logging(rt, h.world)
		v := &versionProof{history: h, seen: seen, ran: map[string][]tree{}, told: map[string]bool{}}
		h.passes, h.audit.arrives, h.audit.looks = v.passed, v.lands, v.look
		h.sees = map[string]map[string][]string{}
		for _, by := range servers[3] {
			h.sees[by] = map[string][]string{}
			for _, n := range h.targets {
				for _, d := range h.targets {
					if h.chance(15, "sees") {
						h.sees[by][n] = append(h.sees[by][n], d)
					}
				}
			}
		}
		h.versions = servers[h.pick(len(servers), "server")]
		h.begin(rapid.IntRange(1, 6).Draw(rt, "slots"))
		for range rapid.IntRange(5, 40).Draw(rt, "events") {
			switch n := h.pick(100, "of versions"); {
			case n > 92:
				if h.chance(50, "forgetful") {
					clear(h.store.archive)
				}
				h.serve(servers[h.pick(len(servers), "server")]...)
			case n > 87:
				p := h.open(h.main, []edit{{settingsFile: "rs"}, {settingsFile: "-rs"}, {settingsFile: "rs", "a/code": "fine"}}[h.pick(3, "settings")])
				h.step(h.say(p, "boss", "/land"))
			case n > 85:
				h.commitOutside(h.commits[h.main].tree.with([]edit{{settingsFile: "rs"}, {settingsFile: "-rs"}}[h.pick(2, "settings")]))
				h.tell(queue.MainMoved{Branch: "main"})
			default:
				h.happen()
			}
		}
		h.serve(servers[3]...)
		h.calm()
		for n := 0; h.core.State().Main.Next != nil && n < 300 && h.wake > h.now; n++ {
			h.now = h.wake
			h.tell(queue.Tick{})
			h.quiesce()
		}
		h.mustDecide(h.knownFor(h.commits[h.main].tree)[0])
		h.audit.final()
	})
	t.Log(seen)
	for _, what := range []string{"landed", "landed with another analyzer", "proven under go/3", "proven under rs/2"} {
		if seen[what] == 0 && long && !t.Failed() {
			t.Errorf("no case of: %s", what)
		}
	}
}

// versionProof is a history, with what has passed in builds: by step and target,
// on which trees.
type versionProof struct {
	*history
	ran  map[string][]tree
	told map[string]bool // what was looked at
	seen map[string]int
}

func runOf(k queue.Key) string { return string(k.Step) + " " + k.Target }

func (v *versionProof) passed(t tree, keys []queue.Key) {
	for _, k := range keys {
		v.ran[runOf(k)] = append(v.ran[runOf(k)], t)
	}
}

// mustHaveRun demands that each key of a tree that a list has under a version has
// passed on a tree that has it too.
func (v *versionProof) mustHaveRun(what string, by string, keys []queue.Key) {
	v.Helper()
	defer v.allKnown()()
	defer v.under(by)()
	for _, k := range keys {
		if !slices.ContainsFunc(v.ran[runOf(k)], func(t tree) bool { return v.hasKey(t, k) }) {
			v.Fatalf("%s under %s, and %s has passed on no tree that has it", what, by, short([]queue.Key{k}))
		}
	}
}

// look looks at main after each turn.
func (v *versionProof) look() {
	v.Helper()
	m := v.core.State().Main
	if !v.core.facts.ProvenMain() {
		return
	}
	what := fmt.Sprint(m.Tip, " ", m.Analyzer)
	if v.told[what] {
		return
	}
	v.told[what] = true
	t := v.commits[m.Tip].tree
	if v.core.s.Main.Analyzer != v.versionOf(t, m.Analyzer) {
		v.Fatalf("main is judged by %s, which its settings do not have", m.Analyzer)
	}
	defer v.under(m.Analyzer)()
	v.mustHaveRun("main is proven at "+string(m.Tip), m.Analyzer, v.keysOf(t))
	v.seen["proven under "+m.Analyzer]++
}

// versionOf is a version if a tree's settings have it, known to servers or not.
func (v *versionProof) versionOf(t tree, by string) string {
	defer v.allKnown()()
	return v.version(by, t)
}

// allKnown has the world know all versions until what it returns is called.
func (v *versionProof) allKnown() (back func()) {
	before := v.versions
	v.versions = []string{"go/3", "go/2", "go/1", "rs/2", "rs/1"}
	return func() { v.versions = before }
}

// lands looks at a commit that is about to be main's.
func (v *versionProof) lands(c *commit) {
	v.Helper()
	s := v.core.State()
	var link *queue.Link
	for _, l := range s.Links {
		if l.Commit == c.id && l.Change != "" {
			link = l
		}
	}
	if link == nil {
		v.Fatalf("there is no link to %s", c.id)
	}
	if link.Parent == s.Main.Tip && link.Before != s.Main.Analyzer {
		v.Fatalf("%s was told apart from main under %s, and main is judged by %s", c.id, link.Before, s.Main.Analyzer)
	}
	if link.Analyzer != v.versionOf(c.tree, link.Analyzer) {
		v.Fatalf("%s is judged by %s, which its settings do not have", c.id, link.Analyzer)
	}
	v.mustHaveRun("landing "+string(c.id), link.Analyzer, v.crossKeys(v.commits[c.parent].tree, link.Before, c.tree, link.Analyzer))
	v.seen["landed"]++
	if link.Before != link.Analyzer {
		v.seen["landed with another analyzer"]++
	}
	if s.Main.Next != nil {
		v.seen["landed in an upgrade"]++
	}
}
