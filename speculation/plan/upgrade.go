package plan

import (
	"slices"
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

const valueUpgrade = 1e-6 // less than any change's build is worth

const upgradeSpan = 5 * time.Minute // the length of a build under the newer version; its work is lost when another build takes the slot

const upgradeKeys = 100 // the same in keys

const UpgradePatience = 6 * time.Hour // after this one build of the proof goes before others

// upgrade considers main's unproven keys under the newer version, for free slots; keys
// that have failed are tried again with back-off.
func (p *probes) upgrade() {
	root, n := p.facts.NextRoot(), p.s.Main.Next
	if root == nil {
		return
	}
	cand := candidate{link: root, value: valueUpgrade, aim: aim{kind: queue.WorthUpgrade}, spare: true}
	first := cand // the candidate that goes before others
	first.value, first.always, first.spare = valueMain, true, false
	held, late := p.facts.Changing(), p.facts.Now >= n.Begun.Add(UpgradePatience)
	if !late {
		p.lookAt(n.Begun.Add(UpgradePatience))
	}
	running := p.onlyRunning(root)
	if held || late {
		p.consider(first, running)
	} else {
		p.consider(cand, running)
	}
	if !p.facts.ProvenMain() || p.thrifty() && !held {
		return
	}
	keys := p.dueKeys(root, n.Retry)
	for chunks := 0; len(keys) > 0 && chunks < p.s.Slots; chunks++ {
		at := p.piece(root, keys)
		if held || late && chunks == 0 && len(running) == 0 {
			p.consider(first, keys[:at])
		} else {
			p.consider(cand, keys[:at])
		}
		keys = keys[at:]
	}
}

// thrifty reports whether half of the builds of this hour have been started: the
// others are left to changes.
func (p *probes) thrifty() bool {
	perHour := p.facts.Rules().BuildsPerHour
	if perHour == 0 {
		return false
	}
	late := slices.IndexFunc(p.s.Spent, func(at queue.Instant) bool { return p.facts.Now.Sub(at) < time.Hour })
	if late < 0 || 2*(len(p.s.Spent)-late) < perHour {
		return false
	}
	p.lookAt(p.s.Spent[late].Add(time.Hour))
	return true
}

// piece returns how many of some keys make one build under the newer version.
func (p *probes) piece(root *queue.Link, keys []queue.Key) int {
	var span time.Duration
	for i, k := range keys {
		if st, ok := p.facts.Links.Step(root, k); ok {
			span += p.facts.Beliefs.Duration(st.Name, k.Target)
		}
		if i > 0 && span > upgradeSpan || i == upgradeKeys {
			return i
		}
	}
	return len(keys)
}
