package mirror

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/submitqueue/submitqueue/queue"
)

// A merge base is looked for from both sides, by date, through all that has landed since
// the older of two commits: the more lands, the longer it takes for commits that began a
// while ago. An ancestry remembers what the target branch has, so that the search goes
// through the commits of the change alone.

// ancestry is what the first-parent line of a branch has, from a commit of it on. A
// commit of the line has exactly the commits that came to the line with it or before,
// and those below the first: so a commit that leads to the line without meeting a
// known one leads below the first, and the ancestry has no answer for it.
type ancestry struct {
	line  []queue.CommitID       // the oldest first
	since map[queue.CommitID]int // place on the line of the first commit that has it, or that it is
	whole bool                   // there is nothing below the first
}

// Bounds of an ancestry. Beyond them git, or the search by date, is asked.
const (
	ancestryMost   = 50_000 // commits (10 MB); of a longer history, what comes from now on
	ancestryChain  = 300    // commits of ours above the line, or that the line has gained
	ancestryOwn    = 300    // commits of one side
	ancestryBranch = 4      // branches
)

// ancestries are those of the branches that are merged on.
type ancestries struct {
	mu sync.Mutex
	by map[string]*ancestry
}

// base is mergeBase where ours stands on a branch that is known.
func (a *ancestries) base(ctx context.Context, m *History, ours, theirs queue.CommitID) (base queue.CommitID, ok bool, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s, err := a.from(ctx, m, ours)
	if s == nil {
		return "", false, err
	}
	return s.base(ctx, theirs)
}

// from returns a search through what ours does not have; nil: ours does not stand on a
// branch that is known, or far above it.
func (a *ancestries) from(ctx context.Context, m *History, ours queue.CommitID) (*search, error) {
	line, under, chain, err := a.below(ctx, m, ours)
	if err != nil || line == nil {
		return nil, err
	}
	s := newSearch(m, line, line.since[under])
	for _, id := range slices.Backward(chain) {
		if !s.add(ctx, id) {
			return nil, s.err
		}
	}
	return s, nil
}

// Standing returns how many commits of its own a head has beside a commit that stands on a
// branch, and how many of that one's line it lacks. ok is false where that could be told by
// a long search only. It asks what is remembered of branches, as merging does.
func (m *History) Standing(ctx context.Context, ours, head queue.CommitID) (own, behind int, ok bool, err error) {
	a := &m.ancestries
	a.mu.Lock()
	defer a.mu.Unlock()
	s, err := a.from(ctx, m, ours)
	if s == nil {
		return 0, 0, false, err
	}
	above, met, ok := s.own(ctx, head)
	if !ok || len(met) == 0 {
		return 0, 0, false, s.err
	}
	latest := 0
	for _, id := range met {
		place, _ := s.place(id)
		latest = max(latest, place)
	}
	return len(above), s.under + len(s.chain) - latest, true, nil
}

// below follows first parents down to a line, and returns the commit of the line that it
// comes to and those above it, newest first. No line: there is none near.
func (a *ancestries) below(ctx context.Context, m *History, ours queue.CommitID) (line *ancestry, under queue.CommitID, chain []queue.CommitID, err error) {
	tips := m.branchTips()
	for at := ours; len(chain) <= ancestryChain; {
		for _, l := range a.by {
			if l.on(at) {
				return l, at, chain, nil
			}
		}
		if name := tips[at]; name != "" {
			l, err := a.grown(ctx, m, name, at)
			return l, at, chain, err
		}
		info, err := m.objects.info(ctx, at)
		if err != nil || len(info.parents) == 0 {
			return nil, "", nil, err
		}
		chain = append(chain, at)
		at = info.parents[0]
	}
	return nil, "", nil, nil
}

// on reports whether a commit is on the line.
func (l *ancestry) on(id queue.CommitID) bool {
	place, ok := l.since[id]
	return ok && l.line[place] == id
}

// grown returns the ancestry of a branch with all that its tip has.
func (a *ancestries) grown(ctx context.Context, m *History, name string, tip queue.CommitID) (*ancestry, error) {
	l := a.by[name]
	if l != nil && len(l.since) <= ancestryMost {
		ok, err := l.grow(ctx, m, tip)
		if err != nil || ok {
			return l, err
		}
	}
	delete(a.by, name)
	for other := range a.by {
		if len(a.by) < ancestryBranch {
			break
		}
		delete(a.by, other)
	}
	l, err := readAncestry(ctx, m, tip)
	if err == nil {
		a.by[name] = l
	}
	return l, err
}

// readAncestry begins an ancestry that ends with a tip: with the whole history, unless
// that is long. Git cannot choose a beginning in between: it goes by dates.
func readAncestry(ctx context.Context, m *History, tip queue.CommitID) (*ancestry, error) {
	if err := m.objects.Flush(ctx); err != nil {
		return nil, err
	}
	out, err := m.repo.git(ctx, "rev-list", "--parents", "--max-count="+strconv.Itoa(ancestryMost+1), string(tip))
	if err != nil {
		return nil, err
	}
	parents := map[string][]string{}
	for text := range strings.Lines(string(out)) {
		ids := strings.Fields(strings.Clone(text))
		parents[ids[0]] = ids[1:]
	}
	l := &ancestry{since: map[queue.CommitID]int{}, whole: len(parents) <= ancestryMost}
	if !l.whole {
		l.line = []queue.CommitID{tip}
		l.since[tip] = 0
		return l, nil
	}
	for at := string(tip); ; at = parents[at][0] {
		l.line = append(l.line, queue.CommitID(at))
		if len(parents[at]) == 0 {
			break
		}
	}
	slices.Reverse(l.line)
	for place, id := range l.line {
		l.since[id] = place
		for left := slices.Clone(parents[string(id)]); len(left) > 0; {
			at := left[len(left)-1]
			left = left[:len(left)-1]
			if _, known := l.since[queue.CommitID(at)]; !known {
				l.since[queue.CommitID(at)] = place
				left = append(left, parents[at]...)
			}
		}
	}
	return l, nil
}

// grow adds what a tip has that stands on the line. Not ok: it does not, as far as can
// be told.
func (l *ancestry) grow(ctx context.Context, m *History, tip queue.CommitID) (ok bool, err error) {
	var chain []queue.CommitID
	last := l.line[len(l.line)-1]
	for at := tip; at != last; {
		info, err := m.objects.info(ctx, at)
		if err != nil || len(info.parents) == 0 || len(chain) == ancestryChain {
			return false, err
		}
		chain = append(chain, at)
		at = info.parents[0]
	}
	for _, id := range slices.Backward(chain) {
		s := newSearch(m, l, len(l.line)-1)
		if !s.add(ctx, id) {
			return false, s.err
		}
		for brought := range s.above {
			l.since[brought] = len(l.line)
		}
		l.line = append(l.line, id)
	}
	return true, nil
}

// search goes through what a line and a chain above it do not have.
type search struct {
	m     *History
	line  *ancestry
	under int                    // place on the line that the chain stands on
	chain []queue.CommitID       // the oldest first
	above map[queue.CommitID]int // what the chain has: as since, counted on from there
	err   error                  // why something could not be read
}

func newSearch(m *History, line *ancestry, under int) *search {
	return &search{m: m, line: line, under: under, above: map[queue.CommitID]int{}}
}

func (s *search) place(id queue.CommitID) (int, bool) {
	if place, ok := s.above[id]; ok {
		return place, true
	}
	place, ok := s.line.since[id]
	return place, ok && place <= s.under
}

// add takes the next commit of the chain with what it brings. Not ok: that is much, or
// leads below the line.
func (s *search) add(ctx context.Context, id queue.CommitID) bool {
	info, err := s.m.objects.info(ctx, id)
	if err != nil {
		s.err = err
		return false
	}
	s.chain = append(s.chain, id)
	place := s.under + len(s.chain)
	s.above[id] = place
	for _, p := range info.parents[1:] {
		own, _, ok := s.own(ctx, p)
		if !ok {
			return false
		}
		for _, id := range own {
			s.above[id] = place
		}
	}
	return true
}

// own returns the commits of a tip that the line and the chain do not have, and the
// first ones below them that they have.
func (s *search) own(ctx context.Context, tip queue.CommitID) (own, met []queue.CommitID, ok bool) {
	seen := map[queue.CommitID]bool{tip: true}
	for left := []queue.CommitID{tip}; len(left) > 0; {
		at := left[len(left)-1]
		left = left[:len(left)-1]
		if _, known := s.place(at); known {
			met = append(met, at)
			continue
		}
		own = append(own, at)
		info, err := s.m.objects.info(ctx, at)
		if err != nil {
			s.err = err
			return nil, nil, false
		}
		if len(own) > ancestryOwn || len(info.parents) == 0 && !s.line.whole {
			return nil, nil, false
		}
		for _, p := range info.parents {
			if !seen[p] {
				seen[p] = true
				left = append(left, p)
			}
		}
	}
	return own, met, true
}

// base returns the one best common ancestor of the chain's end and a commit.
func (s *search) base(ctx context.Context, theirs queue.CommitID) (queue.CommitID, bool, error) {
	_, met, ok := s.own(ctx, theirs)
	if !ok || len(met) == 0 {
		return "", false, s.err
	}
	if len(met) == 1 {
		return met[0], true, nil
	}
	latest := -1
	for _, id := range met {
		place, _ := s.place(id)
		latest = max(latest, place)
	}
	for _, id := range met {
		if place, _ := s.place(id); place == latest && s.first(id, place) {
			return id, true, nil // a commit of the line has all that came before it
		}
	}
	return "", false, nil
}

// first reports whether a commit is the one of the line or the chain at its place.
func (s *search) first(id queue.CommitID, place int) bool {
	if place <= s.under {
		return s.line.line[place] == id
	}
	return s.chain[place-s.under-1] == id
}
