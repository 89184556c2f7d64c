package derived

import (
	"slices"

	"github.com/submitqueue/submitqueue/queue"
)

// Fact holds the facts about one key: its ledger entry and the live build that was
// asked for it. Every link that has the key shares it. Facts are derived memory; there
// is one for each key that a link or a live build has.
type Fact struct {
	ID       queue.Digest
	Entry    *queue.Entry   // nil: nothing is known
	Build    *queue.Build   // live, asked for it and not cancelling
	Sets     []queue.Digest // failed sets that hold it, sorted
	behind   []stake        // the assumption keys it is behind
	uses     int            // links and builds that have it
	Decisive bool           // its own failures decide
}

// stake is an assumption key that a fact is behind, and the number of sources that put
// it there.
type stake struct {
	known *Known
	by    int
}

// bear takes in that so many more sources put a fact behind an assumption key; by may
// be negative.
func (f *Fact) bear(k *Known, by int) {
	at := slices.IndexFunc(f.behind, func(s stake) bool { return s.known == k })
	if at < 0 {
		at = len(f.behind)
		f.behind = append(f.behind, stake{known: k})
	}
	if f.behind[at].by += by; f.behind[at].by == 0 {
		f.behind = slices.Delete(f.behind, at, at+1)
	}
}

// Passed reports whether the key has passed.
func (f *Fact) Passed() bool { return f.Entry != nil && f.Entry.Passed != 0 }

// use returns the fact of a key for one more link or build.
func (fs *Ledger) use(id queue.Digest) *Fact {
	f := fs.Keys[id]
	if f == nil {
		f = &Fact{ID: id, Entry: fs.s.Ledger[id], Sets: fs.Sets[id]}
		fs.Keys[id] = f
		fs.weighFailures(f)
	}
	f.uses++
	return f
}

func (fs *Ledger) release(f *Fact) {
	if f.uses--; f.uses == 0 {
		delete(fs.Keys, f.ID)
		delete(fs.Failing, f)
		if f.Entry != nil {
			fs.spare[f.ID] = 0
		}
	}
}

// weighFailures brings decisive up to date, and remembers when the oldest failure that
// counts, decisive or not, fades.
func (fs *Ledger) weighFailures(f *Fact) {
	f.Decisive = f.Entry != nil && f.Entry.Decisive(fs.Now, fs.Rules().Retries)
	delete(fs.Failing, f)
	if f.Entry == nil || f.Passed() {
		return
	}
	if at := f.Entry.Expires(fs.Now); at != 0 {
		fs.Failing[f] = at
	}
}

// WeighSet remembers when the oldest failure of a set fades. It ignores entries of one
// key.
func (fs *Ledger) WeighSet(id queue.Digest, e *queue.Entry) {
	if at := e.Expires(fs.Now); e.IsSet() && at != 0 {
		fs.FailingSets[id] = at
	}
}

// Fade takes back failures that have expired, and returns when the next one will
// expire; 0 means none.
func (fs *Ledger) Fade() (next queue.Instant) {
	later := func(at queue.Instant) {
		if at > fs.Now {
			next = queue.Earliest(next, at)
		}
	}
	var over []*Fact
	for f, at := range fs.Failing {
		if at > fs.Now {
			later(at)
		} else {
			over = append(over, f)
		}
	}
	for _, f := range over {
		fs.changed(f) // this remembers when its next failure fades
		later(fs.Failing[f])
	}
	for id, at := range fs.FailingSets {
		e := fs.s.Ledger[id]
		if e != nil && at > fs.Now {
			later(at)
			continue
		}
		delete(fs.FailingSets, id)
		if e != nil {
			fs.Learned(id, e) // this remembers when its next failure fades
			later(fs.FailingSets[id])
		}
	}
	return next
}

// Learned takes in that an entry, of one key or of a set, has changed.
func (fs *Ledger) Learned(id queue.Digest, e *queue.Entry) {
	fs.version++
	if f := fs.Keys[id]; f != nil {
		f.Entry = fs.s.Ledger[id]
		fs.changed(f)
	} else if fs.s.Ledger[id] != nil {
		fs.spare[id] = 0
	}
	if e == nil || !e.IsSet() {
		return
	}
	if fs.s.Ledger[id] != nil {
		fs.WeighSet(id, e)
	}
	for _, k := range e.Keys {
		if f := fs.Keys[k.ID()]; f != nil {
			fs.changed(f)
		}
	}
}

// changed tells all assumption keys that rest on a key that its facts have changed.
func (fs *Ledger) changed(f *Fact) {
	fs.version++
	fs.weighFailures(f)
	for _, s := range f.behind {
		fs.Futures.refresh(s.known)
		fs.Futures.stir(s.known.Target)
	}
}

// busied takes in that a build has begun or ceased to verify a key.
func (fs *Ledger) busied(f *Fact, b *queue.Build) {
	f.Build = b
	for _, s := range f.behind {
		s.known.asked = false
		fs.Futures.stir(s.known.Target)
	}
}

// LinkInfo holds the facts derived of one link.
type LinkInfo struct {
	Facts   []*Fact  // of its keys, in order
	Sources []Source // by target of its change; none if it tells nothing of assumptions
	Change  *queue.Change
	state   LinkState
	at      basis // the basis that state was made on
	rest    Footing
}

// basis is the state that links are judged by, besides the links themselves. It says how
// far main is proven, since failures on an unproven main count for less (Weighed).
type basis struct {
	version  int          // of the ledger, and of the landed changes
	surveyed bool         // main's unproven keys are known
	root     queue.LinkID // the link of these keys, if any
}

func (fs *Links) basis() basis {
	m := &fs.s.Main
	return basis{version: fs.version, surveyed: m.Surveyed == m.Tip, root: m.Root}
}

// Footing says whether the changes on a link's chain are still sound ground.
type Footing struct {
	at   int  // losses when it was looked at
	Lost bool // the footprint of a change there is gone
	Down bool // a change there has been turned down
}

// Lose has links looked at again that rest on a change that has gone, or that more is
// known of now.
func (fs *Links) Lose(id queue.ChangeID) {
	if fs.AssumedBy[id] > 0 {
		fs.Futures.Assumed.losses++
	}
}

// Footing returns the Footing of a link. Only tidy calls it: it is not up to date
// earlier in a turn.
func (fs *Links) Footing(l *queue.Link) Footing {
	i := fs.Info(l)
	if i.rest.at != fs.Futures.Assumed.losses {
		i.rest = Footing{at: fs.Futures.Assumed.losses, Down: slices.ContainsFunc(l.Chain, fs.TurnedDown),
			Lost: slices.ContainsFunc(l.Chain, func(id queue.ChangeID) bool { return fs.s.Footprints[id] == nil })}
	}
	return i.rest
}

// Info returns the facts derived of a link.
func (fs *Links) Info(l *queue.Link) *LinkInfo {
	if i := fs.Infos[l]; i != nil {
		return i
	}
	i := &LinkInfo{Facts: fs.useKeys(l), Change: fs.s.Changes[l.Change]}
	fs.Infos[l] = i
	fs.Futures.Assumed.latest[l.Change] = l
	fs.assumes(l.Chain)
	return i
}

// useKeys returns the facts of a link's keys, for that link. Most are those of the
// latest link of the same change, in the same order: comparing keys is cheaper than
// naming them.
func (fs *Links) useKeys(l *queue.Link) []*Fact {
	out := make([]*Fact, len(l.Keys))
	var keys []queue.Key
	var facts []*Fact
	if like := fs.Futures.Assumed.latest[l.Change]; like != nil {
		keys, facts = like.Keys, fs.Infos[like].Facts
	}
	at := 0
	for j := range l.Keys {
		k := &l.Keys[j]
		if j > 0 && k.Step != l.Keys[j-1].Step {
			at = max(0, slices.IndexFunc(keys, func(o queue.Key) bool { return o.Step == k.Step }))
		}
		for at < len(keys) && keys[at].Step == k.Step && keys[at].Target < k.Target {
			at++
		}
		if at < len(keys) && keys[at] == *k {
			out[j] = facts[at]
			out[j].uses++
			at++
			continue
		}
		out[j] = fs.Ledger.use(k.ID())
	}
	return out
}

// ForgetLink drops the facts derived of a link.
func (fs *Links) ForgetLink(l *queue.Link) {
	fs.Futures.Unassume(l)
	if made := fs.Futures.Assumed.commit[l.Commit]; slices.Contains(made, l) {
		if made = slices.DeleteFunc(made, func(x *queue.Link) bool { return x == l }); len(made) > 0 {
			fs.Futures.Assumed.commit[l.Commit] = made
		} else {
			delete(fs.Futures.Assumed.commit, l.Commit)
		}
	}
	if i := fs.Infos[l]; i != nil {
		for _, f := range i.Facts {
			fs.Ledger.release(f)
		}
		delete(fs.Infos, l)
		if fs.Futures.Assumed.latest[l.Change] == l {
			delete(fs.Futures.Assumed.latest, l.Change)
		}
		fs.assumesNot(l.Chain)
	}
	for _, id := range LinksTo(l) {
		if of := fs.LinksOf[id]; of != nil {
			delete(of, l)
			if len(of) == 0 {
				delete(fs.LinksOf, id)
			}
		}
	}
}

// IndexLink takes in a link of the state.
func (fs *Links) IndexLink(l *queue.Link) {
	for _, id := range LinksTo(l) {
		of := fs.LinksOf[id]
		if of == nil {
			of = map[*queue.Link]bool{}
			fs.LinksOf[id] = of
		}
		of[l] = true
	}
	fs.Info(l)
	fs.serial++
	if l.Outcome == queue.Merged && l.Change != "" {
		made := fs.Futures.Assumed.commit[l.Commit]
		at, _ := slices.BinarySearchFunc(made, l.ID, func(x *queue.Link, id queue.LinkID) int { return CompareIDs(x.ID, id) })
		fs.Futures.Assumed.commit[l.Commit] = slices.Insert(made, at, l)
	}
}

// LinkTo returns the link that makes a commit, or nil if none is known. A fast-forward
// makes the same head on several parents, and for several changes: of these links
// LinkTo takes the one with the soundest ground, and of equal ones the first by id. A
// link is kept while a build runs on it, even if main has left the line that it stands
// on. Links on the commit still stand on main if another link leads there.
func (fs *Links) LinkTo(commit queue.CommitID) *queue.Link {
	made := fs.Futures.Assumed.commit[commit]
	if len(made) == 0 {
		return nil
	}
	best := made[0]
	for _, l := range made[1:] {
		if fs.groundOf(l) > fs.groundOf(best) {
			best = l
		}
	}
	return best
}

// ground is how well a link stands on main.
type ground int

const (
	lostGround    ground = iota // on a line that main has left, or on an unknown commit
	refutedGround               // on main's line, with a change that has been turned down
	sideGround                  // with changes that may still land, but not on main as it is
	tipGround                   // on a chain from main's tip that may still land
)

// groundOf says how a link stands at this moment. Footing remembers part of that for
// tidy.
func (fs *Links) groundOf(l *queue.Link) ground {
	line := fs.s.Main.Line
	switch gap := line.Seq - l.Since.Seq; {
	case l.Since.Epoch != line.Epoch, slices.ContainsFunc(l.Chain, func(id queue.ChangeID) bool { return fs.s.Footprints[id] == nil }):
		return lostGround
	case slices.ContainsFunc(l.Chain, fs.TurnedDown), slices.ContainsFunc(l.Changes(), fs.TurnedDown):
		return refutedGround
	case gap < 0, line.Seq > len(fs.Futures.Assumed.Line), !fs.Reached(l):
		return sideGround
	}
	return tipGround
}

// LinksTo returns the changes that a link belongs to; a root link belongs to "".
func LinksTo(l *queue.Link) []queue.ChangeID {
	return append(l.With[:len(l.With):len(l.With)], l.Change)
}
