package derived

import (
	"cmp"
	"slices"

	"github.com/submitqueue/submitqueue/queue"
)

// Known holds the facts about an assumption key: the keys behind it, as told by the
// links that have it, the latest first. If footprints are right the links agree.
type Known struct {
	mark   Mark
	Target int
	From   []*Source
	agreed bool   // all sources have the same keys; not set again if they agree later
	Status Status // verified if every key of one source has passed; else by the latest source
	asked  bool   // work is up to date
	work   KnownWork
}

// Source is one target of a link: the keys that the link has of it.
type Source struct {
	Link   *queue.Link
	of     queue.ChangeID // one of the link's changes
	Known  *Known         // nil: a change below that affects the target has been turned down, so the target will never be like this
	Target int
	place  int     // among the targets of that change
	Facts  []*Fact // of its keys
}

// sighting counts, for each target of a change, the change's paths on which it has
// passed.
type sighting struct {
	passed []int
	left   int // targets that have passed on no path
}

// add takes in a source, in an order that does not depend on when sources come. A
// source that only repeats known keys stirs no change.
func (fs *Futures) add(s *Source) {
	k := s.Known
	first, at := len(k.From) == 0, 0
	if !first && k.From[0].Link.At >= s.Link.At {
		at, _ = slices.BinarySearchFunc(k.From, s, func(a, b *Source) int {
			return cmp.Or(cmp.Compare(b.Link.At, a.Link.At), cmp.Compare(a.Link.ID, b.Link.ID), cmp.Compare(a.of, b.of))
		})
	}
	k.agreed = first || k.agreed && slices.Equal(s.Facts, k.From[0].Facts)
	k.From = slices.Insert(k.From, at, s)
	for _, f := range s.Facts {
		f.bear(k, 1)
	}
	if k.Status == Verified {
		fs.sight(s, 1)
	}
	if first || !k.agreed {
		fs.refresh(k)
		fs.stir(s.Target)
	}
}

// remove gives a source up.
func (fs *Futures) remove(s *Source) {
	k := s.Known
	for _, f := range s.Facts {
		f.bear(k, -1)
	}
	if k.Status == Verified {
		fs.sight(s, -1)
	}
	at := slices.Index(k.From, s)
	k.From = slices.Delete(k.From, at, at+1)
	last := len(k.From) == 0
	if last {
		delete(fs.Assumed.Known, k.mark)
	}
	if last || !k.agreed {
		fs.refresh(k)
		fs.stir(s.Target)
	}
	s.Known = nil
}

// Disprove takes in that a change has been turned down: it forgets what links with that
// change in or below them told of its targets.
func (fs *Futures) Disprove(id queue.ChangeID) {
	x := fs.AffectedBy(id)
	if x == nil {
		return
	}
	for l, i := range fs.Links.Infos {
		if l.Change != id && !slices.Contains(l.With, id) && !slices.Contains(l.Chain, id) {
			continue
		}
		for j := range i.Sources {
			if s := &i.Sources[j]; s.Known != nil && x.Touches(s.Target) {
				fs.remove(s)
			}
		}
		for _, of := range LinksTo(l) {
			fs.Links.Untidied(of)
		}
	}
}

// refresh brings the status of an assumption key up to date.
func (fs *Futures) refresh(k *Known) {
	st := Unknown
	for i, s := range k.From {
		got := s.judge()
		if i == 0 || got == Verified {
			st = got
		}
		if got == Verified || k.agreed {
			break
		}
	}
	was := k.Status
	if k.asked = false; st == was {
		return
	}
	k.Status = st
	fs.news++
	for _, s := range k.From {
		switch {
		case st == Verified:
			fs.sight(s, 1)
		case was == Verified:
			fs.sight(s, -1)
		}
	}
}

// judge returns the status of the keys behind one source.
func (s *Source) judge() Status {
	st := Verified
	for _, f := range s.Facts {
		switch {
		case f.Passed():
		case f.Decisive:
			return Failed
		default:
			st = Unknown
		}
	}
	return st
}

// sight counts a path of a change on which one of its targets has passed, or no longer
// counts it. While a new footprint waits to be taken in, sources and targets do not
// match; all is counted again afterwards.
func (fs *Futures) sight(s *Source, by int) {
	if fs.Assumed.stale {
		return
	}
	id := s.of
	x := fs.AffectedBy(id)
	if x == nil {
		return
	}
	got := fs.Assumed.Seen[id]
	if got == nil {
		got = &sighting{passed: make([]int, len(x.Targets)), left: len(x.Targets)}
		fs.Assumed.Seen[id] = got
	}
	before := got.passed[s.place] > 0
	got.passed[s.place] += by
	if after := got.passed[s.place] > 0; after != before {
		if got.left++; after {
			got.left -= 2
		}
		fs.noteVerified(id)
	}
}

// noteVerified remembers whether a change may be landable: each of its targets
// has passed on some path.
func (fs *Futures) noteVerified(id queue.ChangeID) {
	ch, x := fs.s.Changes[id], fs.AffectedBy(id)
	if ch == nil || x == nil || !InOrder(ch) {
		delete(fs.Verified, id)
		return
	}
	left := len(x.Targets)
	if s := fs.Assumed.Seen[id]; s != nil {
		left = s.left
	}
	if left == 0 {
		fs.Verified[id] = true
	} else {
		delete(fs.Verified, id)
	}
}

// Unassume forgets what a link told.
func (fs *Futures) Unassume(l *queue.Link) {
	i := fs.Links.Infos[l]
	if i == nil {
		return
	}
	for j := range i.Sources {
		if s := &i.Sources[j]; s.Known != nil {
			fs.remove(s)
		}
	}
	i.Sources = nil
}

// Look returns the facts about an assumption key: Unknown and nil if no link has told
// of it.
func (fs *Futures) Look(m Mark) (Status, *Known) {
	k := fs.Assumed.Known[m]
	if k == nil {
		return Unknown, nil
	}
	return k.Status, k
}

// KnownWork is what is under way for the open keys of an assumption key.
type KnownWork struct {
	Busy    []*queue.Build // the live builds that verify some of them
	Idle    bool           // some of them is left without a build
	Doubted bool           // some of them has failed, and has to be run again before that decides
}

// LastFailure returns when a run last failed of the open keys of an assumption key, by name or in a
// set of the ledger; 0: none has.
func (k *Known) LastFailure(ledger map[queue.Digest]*queue.Entry) (last queue.Instant) {
	failed := func(e *queue.Entry) {
		if e != nil && len(e.Failures) > 0 {
			last = max(last, e.Failures[len(e.Failures)-1].At)
		}
	}
	for _, f := range k.From[0].Facts {
		if f.Passed() {
			continue
		}
		failed(f.Entry)
		for _, id := range f.Sets {
			failed(ledger[id])
		}
	}
	return last
}

// Work returns what is under way for the open keys of an assumption key.
func (k *Known) Work() *KnownWork {
	w := &k.work
	if k.asked {
		return w
	}
	k.asked = true
	*w = KnownWork{}
	for _, f := range k.From[0].Facts {
		if f.Passed() {
			continue
		}
		switch {
		case f.Build == nil:
			w.Idle = true
		case !slices.Contains(w.Busy, f.Build):
			w.Busy = append(w.Busy, f.Build)
		}
		if f.Entry != nil && len(f.Entry.Failures) > 0 && !f.Decisive {
			w.Doubted = true
		}
	}
	return w
}
