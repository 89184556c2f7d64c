package app

import (
	"cmp"
	"slices"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// ledgerFacts are the facts of one moment's state that a look into the ledger needs.
type ledgerFacts struct {
	now     inForce
	names   map[queue.Digest]string // of steps
	entries []queue.Entry
	builds  []ledgerBuild
	links   map[queue.ChangeID]ledgerLink // the present merge of each change
	pulls   map[int]queue.ChangeID        // the present change of each pull request, or its last one
	changes map[queue.ChangeID]bool
	void    []queue.Forgotten
	push    []queue.ChangeID
	flaky   []queue.Duration // of targets that have passed where they had failed before, or have failed in quarantine
	config  *config.Config   // in force; nil: none
}

// ledgerBuild is a build that verifies keys.
type ledgerBuild struct {
	id   queue.BuildID
	keys []queue.Key
}

// ledgerLink has the keys of a merge; final is true where its change has a verdict.
type ledgerLink struct {
	keys  []queue.Key
	final bool
}

// ledgerFactsOf copies these facts from the state.
func ledgerFactsOf(s *queue.State) *ledgerFacts {
	l := &ledgerFacts{now: inForce{s.Main.Config, s.Main.Tip, s.Main.Analyzer}, names: map[queue.Digest]string{},
		links: map[queue.ChangeID]ledgerLink{}, pulls: map[int]queue.ChangeID{}, changes: map[queue.ChangeID]bool{}, void: slices.Clone(s.Main.Forgotten)}
	for _, set := range s.Steps {
		for _, st := range set.Steps {
			l.names[st.Digest()] = st.Name
		}
	}
	for _, e := range s.Ledger {
		l.entries = append(l.entries, *e)
	}
	for _, b := range s.Builds {
		if !b.Cancel {
			l.builds = append(l.builds, ledgerBuild{b.ID, b.Keys()})
		}
	}
	if s.Push != nil {
		l.push = slices.Clone(s.Push.Changes)
	}
	l.config = s.Main.Config // no copy: it is replaced as a whole, never changed
	for _, d := range s.Durations {
		if d.Flakes > 0 || d.Flaked > 0 || d.Excused > 0 {
			l.flaky = append(l.flaky, *d)
		}
	}
	for n, p := range s.Pulls {
		if id := cmp.Or(p.Active, p.Last); id != "" {
			l.pulls[n] = id
		}
	}
	latest := map[queue.ChangeID]*queue.Link{}
	for _, link := range s.Links {
		for _, id := range link.Changes() {
			if old := latest[id]; link.Outcome == queue.Merged && (old == nil || present(link, old, s.Main.Tip)) {
				latest[id] = link
			}
		}
	}
	for id, link := range latest {
		ch := s.Changes[id]
		l.links[id] = ledgerLink{slices.Clone(link.Keys), ch == nil || ch.Phase.Final()}
	}
	for id := range s.Changes {
		l.changes[id] = true
	}
	return l
}

// present reports whether one merge of a change is to be shown rather than another: it
// is on main's tip, or was made later.
func present(a, b *queue.Link, tip queue.CommitID) bool {
	if on := a.Parent == tip; on != (b.Parent == tip) {
		return on
	}
	return cmp.Or(cmp.Compare(b.At, a.At), cmp.Compare(a.ID, b.ID)) < 0
}
