package speculation

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

// cancelRefuted stops builds that nobody waits for any more. A build whose
// change is not known well enough to say so is left alone.
func (p *planning) cancelRefuted() {
	for _, id := range sorted(p.s.Builds) {
		b := p.s.Builds[id]
		if _, wanted := p.credit[id]; wanted || b.Cancel {
			continue
		}
		if b.Change == "" {
			if m := p.s.Main; m.Surveyed == m.Tip {
				p.stop(b)
			}
			continue
		}
		ch := p.s.Changes[b.Change]
		if ch == nil || ch.Phase.Final() || ch.Phase == queue.Parked || p.looked[b.Change] && !p.unsure[b.Change] && ch.Phase == queue.Pending {
			p.stop(b)
		}
	}
}

func (p *planning) stop(b *queue.Build) {
	b.Cancel = true
	p.unindexBuild(b)
	p.touch(queue.KindBuild, string(b.ID))
	p.ask(queue.Stop{Build: b.ID})
}

// take starts candidates by value until the slots are full or the value is
// under the threshold.
func (p *planning) take() {
	slices.SortStableFunc(p.found, func(a, b candidate) int {
		if a.spare != b.spare {
			if a.spare {
				return 1
			}
			return -1
		}
		return cmp.Or(cmp.Compare(b.value, a.value), cmp.Compare(a.link.ID, b.link.ID))
	})
	free := p.s.Slots - len(p.s.Builds)
	ending := 0
	for _, b := range p.s.Builds {
		if b.Cancel {
			ending++
		}
	}
	started := map[queue.Digest]bool{}
	for _, cand := range p.found {
		if !cand.always && !cand.spare && cand.value < p.rules().Threshold {
			p.wakeWorth(cand)
			continue
		}
		cand.keys = slices.DeleteFunc(slices.Clone(cand.keys), func(k queue.Key) bool { return started[k.ID()] })
		if len(cand.keys) == 0 || !p.affordable(cand) {
			continue
		}
		switch {
		case free > 0:
			free--
			for _, k := range cand.keys {
				started[k.ID()] = true
			}
			p.start(cand)
		case cand.spare:
			return
		case ending > 0:
			ending-- // a slot is about to come free for it
		case p.preempt(cand.value):
		default:
			return
		}
	}
}

// wakeWorth asks to be woken when waiting has made a build worth its slot.
func (p *planning) wakeWorth(cand candidate) {
	ch := p.s.Changes[cand.link.Change]
	if ch == nil || cand.value <= 0 {
		return
	}
	needed := cand.value / (1 + p.now.Sub(ch.Arrival).Hours())
	hours := p.rules().Threshold/needed - 1
	if hours < parkedHours {
		p.wakeAt(ch.Arrival.Add(time.Duration(hours*float64(time.Hour))) + 1)
	}
}

// preempt stops the running build that is worth least, if the newcomer is
// worth enough more.
func (p *planning) preempt(value float64) bool {
	var least *queue.Build
	for _, id := range sorted(p.s.Builds) {
		b := p.s.Builds[id]
		if !b.Cancel && (least == nil || p.credit[id] < p.credit[least.ID]) {
			least = b
		}
	}
	if least == nil || p.credit[least.ID]*preemptGain > value {
		return false
	}
	p.stop(least)
	return true
}

// affordable keeps the caps: speculation on a change stops at half of its
// builds, everything at all of them; builds of main are not capped.
func (p *planning) affordable(cand candidate) bool {
	r := p.rules()
	if perHour := r.BuildsPerHour; perHour > 0 {
		for len(p.s.Spent) > 0 && p.now.Sub(p.s.Spent[0]) >= time.Hour {
			p.s.Spent = p.s.Spent[1:]
			p.touch(queue.KindMeta, queue.MetaSpent)
		}
		if len(p.s.Spent) >= perHour {
			p.wakeAt(p.s.Spent[0].Add(time.Hour))
			return false
		}
	}
	if cand.link.Change == "" {
		return true
	}
	ch := p.s.Changes[cand.link.Change]
	limit := r.BuildsPerChange
	if !cand.always {
		limit = (limit + 1) / 2
	}
	if ch.Builds < limit {
		return true
	}
	if cand.always {
		p.park(ch, queue.Reason{Code: queue.ReasonBuildCap, Names: []string{fmt.Sprint(ch.Builds)}}, 0)
		p.again = true
	}
	return false
}

// start asks for a build.
func (p *planning) start(cand candidate) {
	l := cand.link
	l.Attempts++
	p.touch(queue.KindLink, string(l.ID))
	b := &queue.Build{
		ID: buildID(l, cand.keys), Link: l.ID, Change: l.Change, Commit: l.Commit,
		Main: p.under(l, cand.chain), Chain: slices.Clone(cand.chain), Attempt: l.Attempts, At: p.now, Value: cand.value, Why: cand.why,
	}
	for _, st := range p.s.Steps[l.Steps].Steps {
		d := st.Digest()
		var keys []queue.Key
		for _, k := range cand.keys {
			if k.Step == d {
				keys = append(keys, k)
			}
		}
		if len(keys) > 0 {
			b.Jobs = append(b.Jobs, queue.Job{Step: st, Keys: keys})
		}
	}
	p.s.Builds[b.ID] = b
	p.credit[b.ID] = cand.value
	p.indexBuild(b)
	p.touch(queue.KindBuild, string(b.ID))
	if ch := p.s.Changes[l.Change]; ch != nil {
		ch.Builds++
		p.touchChange(ch)
	} else if p.state(l).status == failed {
		m := &p.s.Main
		m.Backoff++
		m.Retry = p.now.Add(backoff(m.Backoff))
		p.touchMain()
	}
	if p.rules().BuildsPerHour > 0 {
		p.s.Spent = append(p.s.Spent, p.now)
		p.touch(queue.KindMeta, queue.MetaSpent)
	}
	p.ask(queue.Run{Build: b.ID})
	p.note(queue.Note{Change: b.Change, Number: p.numberOf(b), Build: b.ID, What: "build-asked", Commit: b.Commit, Reason: queue.Reason{Detail: b.Why}})
}

// buildID names the next build of a link. A link that was forgotten and made
// again counts its attempts anew; the time tells the two apart.
func buildID(l *queue.Link, keys []queue.Key) queue.BuildID {
	made := queue.LinkID(string(l.ID) + "@" + strconv.FormatInt(int64(l.At), 10))
	return queue.NewBuildID(made, keys, l.Attempts)
}
