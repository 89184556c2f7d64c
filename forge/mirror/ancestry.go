package mirror

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/submitqueue/submitqueue/queue"
)

// A merge base is looked for from both sides, by date, through all commits that have
// landed since the older of two commits. The more changes land, the longer this takes
// for changes that began a while ago. An ancestry remembers the commits of the target
// branch, so that the search goes through the commits of the change alone.

// ancestry holds the commits that the first-parent line of a branch contains, from
// one commit of the line on. A commit of the line contains exactly the commits that
// came to the line with it or before it, and those below the first. So if a commit
// does not lead to a known one, it leads below the first, and the ancestry has no
// answer for it.
type ancestry struct {
	line  []queue.CommitID       // the oldest first
	since map[queue.CommitID]int // place on the line of the first commit that contains it, or that it is itself
	whole bool                   // there is no commit below the first
}

// Bounds of an ancestry. Beyond them git, or the search by date, is asked.
const (
	ancestryMost   = 50_000 // commits (10 MB); of a longer history, only new commits are kept
	ancestryChain  = 300    // commits of our side above the line, or new commits of the line
	ancestryOwn    = 300    // commits of one side
	ancestryBranch = 4      // branches
)

// ancestries are the ancestries of the branches onto which changes are merged.
type ancestries struct {
	mu sync.Mutex
	by map[string]*ancestry
}

// base is mergeBase where ours stands on a known branch.
func (a *ancestries) base(ctx context.Context, m *History, ours, theirs queue.CommitID) (base queue.CommitID, ok bool, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s, err := a.from(ctx, m, ours)
	if s == nil {
		return "", false, err
	}
	return s.base(ctx, theirs)
}

// from returns a search through the commits that ours does not contain; nil: ours does
// not stand on a known branch, or stands too far above it.
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

// Standing compares a head with a commit that stands on a branch. It returns how many
// commits the head has that the commit does not contain, and how many commits of the
// commit's line the head lacks. ok is false where only a long search could tell. It uses
// the remembered branches, as merging does.
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

// below follows first parents down to a line. It returns the commit of the line where it
// arrives, and the commits above it, newest first. line is nil if none is near.
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

// grown returns the ancestry of a branch with all commits of its tip.
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

// grow adds the commits of a tip that stands on the line. Not ok: it does not stand on
// the line, as far as can be told.
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

// search goes through commits that a line and a chain above it do not contain.
type search struct {
	m     *History
	line  *ancestry
	under int                    // place on the line that the chain stands on
	chain []queue.CommitID       // the oldest first
	above map[queue.CommitID]int // the commits that the chain contains: places as in since, counted on from the line
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

// add takes the next commit of the chain with the commits that it brings. Not ok:
// these are too many, or lead below the line.
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

// own returns the commits of a tip that the line and the chain do not contain, and
// the first commits below those that they contain.
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
			return id, true, nil // a commit of the line contains all commits that came before it
		}
	}
	return "", false, nil
}

// first reports whether the commit at this place of the line or the chain is this
// very commit.
func (s *search) first(id queue.CommitID, place int) bool {
	if place <= s.under {
		return s.line.line[place] == id
	}
	return s.chain[place-s.under-1] == id
}
