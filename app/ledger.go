package app

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/submitqueue/submitqueue/app/api"
	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/queue"
)

// ledger is one moment's view of a queue's keys.
type ledger struct {
	facts  *ledgerFacts
	names  map[queue.Digest]string // of steps
	state  map[queue.KeyID]queue.Entry
	sets   map[queue.KeyID][]queue.Entry
	builds map[queue.KeyID]queue.BuildID
	rests  map[queue.KeyID][]queue.ChangeID
	keys   map[queue.KeyID]queue.Key
	main   map[queue.KeyID]bool
	lost   string // why the keys that main rests on are not known
}

// Ledger looks up what is known of keys. The argument what is the id of a key or its
// beginning, a target, or a change by its id or its pull request's number.
func (o *Owner) Ledger(ctx context.Context, what string, most int) (api.LedgerView, error) {
	l, err := o.readLedger(ctx)
	if err != nil {
		return api.LedgerView{}, err
	}
	most = min(max(most, 1), api.LedgerMost)
	v := api.LedgerView{Main: l.facts.now.tip, Unknown: l.lost}
	if id, ok := l.facts.changeOf(what); ok {
		v.Kind, v.Change = "change", id
		for _, k := range l.facts.links[id].keys {
			l.keys[k.ID()] = k
			v.Keys = append(v.Keys, api.LedgerKey{Key: k})
		}
		return v, o.fill(ctx, l, &v, most)
	}
	search := queue.Search{Target: what, Max: most + 1}
	v.Kind = "target"
	if regexp.MustCompile(`^[0-9a-f]{6,64}$`).MatchString(what) {
		if v.Keys = l.matching(func(k queue.Key) bool { return strings.HasPrefix(string(k.ID()), what) }); len(v.Keys) > 0 {
			v.Kind = "key"
		}
		found, _, err := o.find(ctx, queue.Search{Prefix: what, Max: most + 1})
		if err != nil {
			return v, err
		}
		if len(found) > 0 || v.Kind == "key" {
			v.Kind, search = "key", queue.Search{Prefix: what, Max: most + 1}
		}
	}
	if v.Kind == "target" {
		v.Keys = l.matching(func(k queue.Key) bool { return k.Target == what })
	}
	found, more, err := o.find(ctx, search)
	if err != nil {
		return v, err
	}
	v.More = more
	for _, e := range found {
		if _, known := l.keys[e.Keys[0].ID()]; !known {
			l.keys[e.Keys[0].ID()] = e.Keys[0]
			v.Keys = append(v.Keys, api.LedgerKey{Key: e.Keys[0], Entry: e})
		}
	}
	return v, o.fill(ctx, l, &v, most)
}

func (o *Owner) find(ctx context.Context, s queue.Search) ([]queue.Entry, bool, error) {
	if o.Archive == nil {
		return nil, false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, storeWait)
	defer cancel()
	return o.Archive.Find(ctx, o.Queue, s)
}

func (o *Owner) known(ctx context.Context, keys []queue.Key) ([]queue.Entry, error) {
	ctx, cancel := context.WithTimeout(ctx, storeWait)
	defer cancel()
	return o.Store.Known(ctx, o.Queue, keys)
}

// changeOf returns the change that somebody names by its id or number.
func (l *ledgerFacts) changeOf(what string) (id queue.ChangeID, ok bool) {
	if id = queue.ChangeID(what); l.changes[id] {
		return id, true
	}
	if n, err := strconv.Atoi(strings.TrimPrefix(what, "#")); err == nil {
		id, ok = l.pulls[n]
		return id, ok
	}
	return "", false
}

// readLedger reads what the state knows of keys, and the keys of main's tip.
func (o *Owner) readLedger(ctx context.Context) (*ledger, error) {
	p, made := o.wait(ledgerWait, func(p *shown) bool {
		if p.ledger == nil {
			o.window.wantLedger()
		}
		return p.ledger != nil
	})
	switch {
	case !p.owned:
		return nil, api.ErrNotOwned
	case !made:
		return nil, errors.New("turns leave no time to look")
	}
	l := ledgerOf(p.ledger)
	now := l.facts.now
	if now.tip == "" || now.config == nil {
		l.lost = "main has not been read, or has no configuration that can be used"
		return l, nil
	}
	j, err := o.judge.shared(ctx, now.tip, now, "")
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		l.lost = "main's targets cannot be told: " + err.Error()
		return l, nil
	}
	for _, st := range j.steps.Steps {
		l.names[st.Digest()] = st.Name
	}
	for _, k := range conflict.Keys(nil, j.snapshot, nil, j.steps.Steps) {
		l.keys[k.ID()], l.main[k.ID()] = k, true
	}
	return l, nil
}

// ledgerOf files the facts of the state under their keys.
func ledgerOf(facts *ledgerFacts) *ledger {
	l := &ledger{facts: facts, names: maps.Clone(facts.names), state: map[queue.KeyID]queue.Entry{}, sets: map[queue.KeyID][]queue.Entry{},
		builds: map[queue.KeyID]queue.BuildID{}, rests: map[queue.KeyID][]queue.ChangeID{},
		keys: map[queue.KeyID]queue.Key{}, main: map[queue.KeyID]bool{}}
	for _, e := range facts.entries {
		if len(e.Keys) == 1 && e.ID == e.Keys[0].ID() {
			l.state[e.ID], l.keys[e.ID] = e, e.Keys[0]
			continue
		}
		for _, k := range e.Keys {
			l.keys[k.ID()] = k
			l.sets[k.ID()] = append(l.sets[k.ID()], e)
		}
	}
	for _, b := range facts.builds {
		for _, k := range b.keys {
			l.builds[k.ID()], l.keys[k.ID()] = b.id, k
		}
	}
	for id, link := range facts.links {
		for _, k := range link.keys {
			if !link.final {
				l.keys[k.ID()] = k
				l.rests[k.ID()] = append(l.rests[k.ID()], id)
			}
		}
	}
	return l
}

func (l *ledger) matching(of func(queue.Key) bool) []api.LedgerKey {
	var out []api.LedgerKey
	for _, k := range l.keys {
		if of(k) {
			out = append(out, api.LedgerKey{Key: k})
		}
	}
	return out
}

// fill completes the keys of an answer with the knowledge of the state and the archive,
// sorts them, and cuts the list.
func (o *Owner) fill(ctx context.Context, l *ledger, v *api.LedgerView, most int) error {
	var ask []queue.Key
	for i := range v.Keys {
		k := &v.Keys[i]
		id := k.Key.ID()
		if e, known := l.state[id]; known {
			k.Entry = e
		}
		k.Step, k.Sets, k.Build, k.OnMain, k.Rests = cmp.Or(l.names[k.Key.Step], k.Entry.Step), l.sets[id], l.builds[id], l.main[id], l.rests[id]
		slices.Sort(k.Rests)
		slices.SortFunc(k.Sets, func(a, b queue.Entry) int { return cmp.Compare(a.ID, b.ID) })
		if k.Entry.Passed == 0 {
			ask = append(ask, k.Key)
		}
	}
	known, err := o.known(ctx, ask)
	if err != nil {
		return err
	}
	passes := map[queue.KeyID]queue.Entry{}
	for _, e := range known {
		passes[e.ID] = e
	}
	for i := range v.Keys {
		k := &v.Keys[i]
		if e, is := passes[k.Key.ID()]; is && k.Entry.Passed == 0 {
			e.Failures = append(slices.Clone(e.Failures), k.Entry.Failures...)
			k.Entry, k.Step = e, cmp.Or(k.Step, e.Step)
		}
		for _, f := range l.facts.void { // passes alone are taken back: a key that has not passed stays as it is
			if at := k.Entry.Passed; at != 0 && at <= f.At && f.Covers(k.Key, k.Step) {
				k.Forgotten = f
			}
		}
	}
	slices.SortFunc(v.Keys, func(a, b api.LedgerKey) int {
		return cmp.Or(order(b.OnMain, a.OnMain), cmp.Compare(latestOf(b), latestOf(a)), cmp.Compare(a.Key.Target, b.Key.Target),
			cmp.Compare(a.Step, b.Step), cmp.Compare(a.Key.ID(), b.Key.ID()))
	})
	if len(v.Keys) > most {
		v.Keys, v.More = v.Keys[:most], true
	}
	return nil
}

func order(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// latestOf is when something was last learned of a key.
func latestOf(k api.LedgerKey) queue.Instant {
	at := k.Entry.Passed
	for _, f := range k.Entry.Failures {
		at = max(at, f.At)
	}
	return at
}

// Forgetting says what forgetting would do, as things stand.
func (o *Owner) Forgetting(ctx context.Context, f queue.Forgotten) (api.ForgetView, error) {
	l, err := o.readLedger(ctx)
	if err != nil {
		return api.ForgetView{}, err
	}
	v := api.ForgetView{What: f, Landing: l.facts.push}
	var covered []queue.Key
	for id, k := range l.keys {
		if (l.main[id] || len(l.rests[id]) > 0) && f.Covers(k, l.names[k.Step]) {
			covered = append(covered, k)
		}
	}
	v.Unknown = len(covered) == 0
	known, err := o.known(ctx, covered)
	if err != nil {
		return v, err
	}
	passed := map[queue.KeyID]bool{}
	for _, e := range known {
		passed[e.ID] = !queue.Void(l.facts.void, &e, l.names[e.Keys[0].Step])
	}
	again := map[queue.ChangeID]bool{}
	for _, k := range covered {
		id := k.ID()
		if !passed[id] && l.state[id].Passed == 0 {
			continue
		}
		v.Passes++
		if l.main[id] {
			v.Main = append(v.Main, k)
		}
		for _, ch := range l.rests[id] {
			again[ch] = !slices.Contains(l.facts.push, ch)
		}
	}
	for id, yes := range again {
		if yes {
			v.Changes = append(v.Changes, id)
		}
	}
	slices.Sort(v.Changes)
	slices.SortFunc(v.Main, func(a, b queue.Key) int {
		return cmp.Or(cmp.Compare(a.Target, b.Target), cmp.Compare(a.ID(), b.ID()))
	})
	return v, nil
}
