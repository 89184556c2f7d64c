package sim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"

	"github.com/submitqueue/submitqueue/queue"
)

// Features are what can be seen of a change before it is built. The truth does not follow
// from them: a generated world draws them from the truth about its changes.
type Features struct {
	Author   string
	Paths    []string // the first of the touched files
	Files    int
	Dirs     int
	Added    int // lines
	Removed  int
	Commits  int
	Revision int // pushes, from 1
	Attempts int // earlier changes of the same pull request
	Tests    bool
	TestPlan bool
	Revert   bool
}

// mostPaths bounds the paths that a generated change lists.
const mostPaths = 20

// authors of a generated world: how many changes each has on average, and how unevenly.
const (
	changesPerAuthor = 25
	authorZipf       = 0.8
	authorSkill      = 1.0 // deviation of the logarithm of how much likelier than usual an author's change is broken
)

// features draws the features of all changes from a separate stream, given whether each is
// broken on its own and how long it builds. If an author's record is known, all features
// together tell broken changes from sound ones with an area under the curve of 0.75 to
// 0.8; no feature alone does. The size of a change grows with its duration, so broken ones
// are larger.
func (p *Params) features(w *World) {
	r := draw(p.Seed, streamFeatures)
	crowd := crowdOf(r, len(w.Changes))
	for i := range w.Changes {
		c := &w.Changes[i]
		broken := c.BrokenTarget >= 0 || c.BreaksTree
		either := func(sound, bad float64) float64 {
			if broken {
				return bad
			}
			return sound
		}
		longer := max(-2, min(2, math.Log(c.DurationMin/p.MedianMin)/max(p.Sigma, 0.1)))
		lines := math.Exp(math.Log(40) + 0.6*longer + either(0, 0.55) + 0.9*r.NormFloat64())
		f := &Features{Author: crowd.author(r, broken)}
		f.Added = int(lines * (0.3 + 0.7*r.Float64()))
		f.Removed = max(0, int(lines)-f.Added)
		f.Files = max(1, int(math.Round(math.Sqrt(lines)/3*math.Exp(0.4*r.NormFloat64()))))
		f.Commits = 1 + int(r.ExpFloat64())
		f.Revision = 1 + int(either(1, 1.6)*r.ExpFloat64())
		if r.Float64() < either(0.08, 0.18) {
			f.Attempts = 1 + int(r.ExpFloat64()/2)
		}
		f.Tests = r.Float64() < either(0.55, 0.38)
		f.TestPlan = r.Float64() < either(0.7, 0.56)
		f.Revert = r.Float64() < either(0.02, 0.005)
		f.touch(r, w, c)
		c.Features = f
	}
}

// touch draws the paths: files that only this change touches, in folders that all changes
// of a target share. So no two changes fail to merge.
func (f *Features) touch(r *rand.Rand, w *World, c *Change) {
	dirs := map[string]bool{}
	for i := range f.Files {
		t := c.Targets[r.IntN(len(c.Targets))]
		dir := fmt.Sprintf("c%03d/t%06d", w.Targets[t].Group, t)
		dirs[dir] = true
		if i < mostPaths {
			ending := ".go"
			if f.Tests && i == 0 {
				ending = "_test.go"
			}
			f.Paths = append(f.Paths, fmt.Sprintf("%s/f%d_%d%s", dir, c.ID, i, ending))
		}
	}
	slices.Sort(f.Paths)
	f.Dirs = len(dirs)
}

// crowd is the authors of changes.
type crowd struct{ sound, broken []float64 } // chances added up

func crowdOf(r *rand.Rand, changes int) *crowd {
	c := &crowd{}
	sound, broken := 0.0, 0.0
	for k := range max(3, changes/changesPerAuthor) {
		often := math.Pow(float64(k+1), -authorZipf)
		sound += often
		broken += often * math.Exp(authorSkill*r.NormFloat64())
		c.sound, c.broken = append(c.sound, sound), append(c.broken, broken)
	}
	return c
}

func (c *crowd) author(r *rand.Rand, broken bool) string {
	sums := c.sound
	if broken {
		sums = c.broken
	}
	return fmt.Sprintf("dev%d", min(sort.SearchFloat64s(sums, r.Float64()*sums[len(sums)-1]), len(sums)-1)+1)
}

// check returns what is wrong with features.
func (f *Features) check() error {
	for _, n := range []int{f.Files, f.Dirs, f.Added, f.Removed, f.Commits, f.Revision, f.Attempts} {
		if n < 0 {
			return fmt.Errorf("its features have a negative number")
		}
	}
	return nil
}

// nobody is the author of all changes in worlds without features.
const nobody = "dev"

// author returns the author of a change.
func (w *World) author(change int) string {
	if f := w.Changes[change].Features; f != nil && f.Author != "" {
		return f.Author
	}
	return nobody
}

// show puts the facts of a change that a forge and git show into its footprint.
func (f *Features) show(into *queue.Footprint) {
	if f != nil {
		into.Paths, into.Files, into.Dirs = f.Paths, f.Files, f.Dirs
		into.Extent = queue.Extent{Counted: true, Lines: f.Added, Dropped: f.Removed}
		if f.Tests {
			into.Extent.Tests = 1
		}
	}
}

// facets are a forge's facts of it, with the earlier counts of a queue.
func (f *Features) facets() *queue.Facets {
	if f == nil {
		return nil
	}
	return &queue.Facets{Commits: &f.Commits, Files: &f.Files, Added: &f.Added, Removed: &f.Removed, Revert: &f.Revert, Plan: &f.TestPlan,
		Attempts: f.Attempts, Pushes: max(0, f.Revision-1)}
}

// featuresIn reads features from an event archive.
func featuresIn(a *queue.ArrivalRow) *Features {
	n := func(name string) int { return int(max(0, min(1e9, a.Features[name]))) }
	f := &Features{Author: a.Author, Paths: slices.Clone(a.Paths), Files: n("files"), Dirs: n("dirs"), Added: n("lines_added"), Removed: n("lines_removed"),
		Commits: n("commits"), Revision: 1 + n("pushes"), Attempts: n("attempts"), Tests: n("test_files") > 0, TestPlan: n("test_plan") > 0, Revert: n("revert") > 0}
	if a.Features["test_files"] == 0 {
		f.Tests = slices.ContainsFunc(f.Paths, func(p string) bool { return strings.Contains(strings.ToLower(p), "test") })
	}
	return f
}
