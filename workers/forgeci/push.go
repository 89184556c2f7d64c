package forgeci

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
)

const (
	pushAtOnce = 50              // builds with refs in one push
	goneLate   = 5 * time.Minute // after which refs that go apart from builds are deleted before the next ones
	pushTries  = 60              // of a push that may work later, within about an hour; then the build is an infrastructure error
)

// pushing reports whether the push of a build is under way.
func (e *entry) pushing() bool { return e.tries < 0 }

// TargetsFile is the name of the file on the side ref.
const TargetsFile = "targets.json"

// targets is the content of the file on the side ref.
type targets struct {
	Build  string              `json:"build"`
	Commit string              `json:"commit"`
	Main   string              `json:"main,omitempty"` // the commit of the target branch below
	Steps  map[string][]string `json:"steps"`          // by step, as its tool names them; ./... is everything
}

// targetsOf returns the file with the targets of a build.
func targetsOf(b queue.Build) ([]byte, error) {
	t := targets{Build: string(b.ID), Commit: string(b.Commit), Main: string(b.Main), Steps: map[string][]string{}}
	for _, j := range b.Jobs {
		t.Steps[j.Step.Name] = j.Step.ToolNames(j.Targets())
	}
	data, err := json.MarshalIndent(t, "", "  ")
	return append(data, '\n'), err
}

// pushes moves refs, one push at a time: refs that come meanwhile go into the next push.
func (c *Controller) pushes(ctx context.Context) {
	wait := time.NewTimer(0)
	defer wait.Stop()
	for {
		select {
		case <-c.toPush:
		case <-wait.C:
		case <-ctx.Done():
			return
		}
		held := c.held(ctx)
		for ctx.Err() == nil && held == 0 && c.pushBatch(ctx) {
			held = c.held(ctx)
		}
		if next := c.nextPush(); held > 0 {
			wait.Reset(held)
		} else if !next.IsZero() {
			wait.Reset(max(next.Sub(c.o.Now()), time.Millisecond))
		}
	}
}

// held returns how long the refs that are ready wait for others to join their push, so that the
// forge gets no more pushes than it recommends. The log of each build says so.
func (c *Controller) held(ctx context.Context) time.Duration {
	c.mu.Lock()
	builds, gone := c.waiting()
	c.mu.Unlock()
	if len(builds) == 0 && !gone {
		return 0
	}
	wait := c.o.Refs.Wait(ctx, len(builds) == 0)
	if wait == 0 {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range builds {
		if !e.held {
			e.held = true
			e.log.say("the push to %s waits %v, so that the forge is pushed to no more often than it recommends", e.branch, wait.Round(time.Second))
		}
	}
	return wait
}

// waiting returns the builds that are to be pushed now, and whether refs are to be deleted now.
// The caller holds mu.
func (c *Controller) waiting() (builds []*entry, gone bool) {
	now := c.o.Now()
	for _, e := range c.builds {
		if e.pushed.IsZero() && e.done == nil && !e.pushing() && !e.unstarted() && !now.Before(e.notBefore) {
			builds = append(builds, e)
		}
	}
	return builds, len(c.gone) >= pushAtOnce || len(c.gone) > 0 && !now.Before(c.goneAt.Add(c.o.Linger))
}

// nextPush returns when the next ref is to be pushed or deleted.
func (c *Controller) nextPush() (next time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	sooner := func(t time.Time) {
		if next.IsZero() || t.Before(next) {
			next = t
		}
	}
	for _, e := range c.builds {
		if e.pushed.IsZero() && e.done == nil && !e.pushing() && !e.unstarted() {
			sooner(e.notBefore)
		}
	}
	if len(c.gone) > 0 {
		sooner(c.goneAt.Add(c.o.Linger))
	}
	return next
}

// pushBatch pushes the waiting refs, and reports whether there were any.
func (c *Controller) pushBatch(ctx context.Context) bool {
	b, synced := c.nextBatch()
	if len(b.entries)+len(b.gone) == 0 {
		return false
	}
	if !synced && len(b.entries) > 0 {
		c.sync(ctx, b.entries[0].build.Commit)
	}
	c.lookForSkips(ctx, b.entries)
	c.makeMoves(ctx, b)
	fresh, each, err := c.o.Refs.Push(ctx, b.moves)
	if ctx.Err() != nil {
		return false
	}

	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range b.entries {
		e.tries = b.tries[e]
		switch i, why := b.at[e], b.failed[e]; {
		case e.known:
			if e.done == nil {
				c.finish(e, c.outcome(e))
			}
			e.tidy = true
		case why != nil:
			c.pushEnded(e, b, false, why)
		case err != nil:
			c.pushEnded(e, b, false, err)
		default:
			why = errors.Join(each[i-1], each[i])
			c.pushEnded(e, b, why == nil && fresh[i], why)
		}
	}
	c.deleted(b, each, err)
	return true
}

// batch has the builds and the refs of one push.
type batch struct {
	entries []*entry // builds that are to have their refs there
	gone    []string // refs of ours that are to be deleted
	moves   []mirror.RefMove
	tries   map[*entry]int   // of each entry, before
	at      map[*entry]int   // where its ref is among moves; the ref of its targets is right before it
	failed  map[*entry]error // these have nothing that could be pushed
}

// nextBatch takes the builds and refs of the next push, the highest value first. synced is
// false until the forge's clock is known.
func (c *Controller) nextBatch() (b *batch, synced bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	entries, gone := c.waiting()
	b = &batch{entries: entries, tries: map[*entry]int{}, at: map[*entry]int{}, failed: map[*entry]error{}}
	slices.SortFunc(b.entries, func(x, y *entry) int {
		return cmp.Or(cmp.Compare(y.build.Value, x.build.Value), cmp.Compare(x.build.ID, y.build.ID))
	})
	if len(c.apart) > 0 && gone && c.o.Now().Sub(c.goneAt) > goneLate {
		b.entries = nil // a busy queue may have no moment without builds
	}
	if i := slices.IndexFunc(b.entries, func(e *entry) bool { return e.single }); i >= 0 {
		b.entries = b.entries[i : i+1]
	}
	b.entries = b.entries[:min(len(b.entries), pushAtOnce)]
	if len(b.entries) == 0 && gone || len(b.entries) > 0 && len(c.apart) == 0 {
		b.gone, c.gone = c.gone, nil
	}
	if len(c.apart) > 0 && len(b.gone) > 0 {
		kind := c.kindOf(b.gone[0])
		b.gone = slices.DeleteFunc(b.gone, func(branch string) bool {
			if c.kindOf(branch) == kind {
				return false
			}
			c.gone = append(c.gone, branch)
			return true
		})
	}
	for _, e := range b.entries {
		b.tries[e] = e.tries
		e.tries = -1
	}
	return b, c.synced
}

// makeMoves fills in the moves of a batch.
func (c *Controller) makeMoves(ctx context.Context, b *batch) {
	asks := map[*entry]bool{}
	for _, e := range b.entries {
		quiet, told := c.starts(ctx, e)
		asks[e] = quiet
		c.mu.Lock()
		e.asks, e.tells = quiet, told
		c.mu.Unlock()
	}
	for _, e := range b.entries {
		if e.known {
			continue
		}
		data, err := targetsOf(e.build)
		var side queue.CommitID
		if err == nil {
			side, err = c.o.Refs.File(ctx, TargetsFile, data)
		}
		if err != nil {
			b.failed[e] = err
			continue
		}
		b.moves = append(b.moves, mirror.RefMove{Branch: e.side, Commit: side, Quiet: true}) // before the ref that starts a workflow which reads it
		b.at[e] = len(b.moves)
		b.moves = append(b.moves, mirror.RefMove{Branch: e.branch, Commit: e.build.Commit, Quiet: asks[e]})
	}
	for _, branch := range b.gone {
		b.moves = append(b.moves, mirror.RefMove{Branch: branch})
	}
}

// pushEnded takes in the result of a push of several builds, for one of them. The caller holds
// mu.
func (c *Controller) pushEnded(e *entry, b *batch, fresh bool, why error) {
	if e.single || len(b.moves) <= 2 || !refusedForGood(why) {
		c.afterPush(e, fresh, why)
		return
	}
	// A forge may refuse a whole push because of the content of one of its commits.
	if e.single = true; e.done != nil { // stopped meanwhile
		now := c.o.Now()
		e.pushed, e.tidyAt = now, now
		poke(c.toSee)
	}
	e.log.say("the push to %s was refused together with others; it is pushed by itself", e.branch)
}

// kinds returns the kinds of our refs: those of builds, and those beside them.
func (c *Controller) kinds() []string { return []string{c.o.Prefix, c.o.Prefix + "-targets"} }

// kindOf returns the kind of a ref of ours.
func (c *Controller) kindOf(branch string) string {
	kinds := c.kinds()
	if strings.HasPrefix(branch, kinds[1]+"/") {
		return kinds[1]
	}
	return kinds[0]
}

// stays reports whether a rule forbids to delete a ref of ours. The caller holds mu.
func (c *Controller) stays(branch string) bool { return c.stay[c.kindOf(branch)] }

// deleted keeps the refs that could not be deleted, to try again. Where a rule may forbid it,
// such as GitLab's for protected branches, which also has all other refs of the push refused,
// refs are deleted in pushes apart from builds, and each kind apart from the other. If a rule
// forbids it then, refs of that kind stay, until people delete them. When that is known of both
// kinds, the refs that do not stay go with builds again. A push that is refused as a
// whole says nothing of that: the queue may lack the right to push for a while. The caller holds mu.
func (c *Controller) deleted(b *batch, each []error, err error) {
	var again, stay []string
	apart := len(c.apart) > 0 && len(b.entries) == 0
	for i, branch := range b.gone {
		why := err
		if why == nil {
			why = each[len(b.moves)-len(b.gone)+i]
		}
		switch {
		case why == nil, c.wanted(branch):
		case err == nil && refusedForGood(why) && apart:
			stay = append(stay, branch)
		default:
			again = append(again, branch)
		}
	}
	if len(stay) > 0 {
		kind := c.kindOf(stay[0])
		c.stay[kind] = true
		delete(c.apart, kind)
		c.gone, again = slices.DeleteFunc(c.gone, c.stays), slices.DeleteFunc(again, c.stays)
		c.o.Log.Warn("the forge lets nobody delete branches of ours by git, so they stay; delete old ones by hand", "for example", stay[0], "error", errors.Join(each...))
	}
	if apart && len(b.gone) > 0 && len(again)+len(stay) == 0 {
		delete(c.apart, c.kindOf(b.gone[0]))
	}
	if refused := refusedForGood(err) || slices.ContainsFunc(each, refusedForGood); refused && len(c.apart) == 0 && len(again) > 0 {
		for _, kind := range c.kinds() {
			if !c.stay[kind] {
				c.apart[kind] = true
			}
		}
		c.gone, c.goneAt = append(c.gone, again...), c.o.Now()
		return
	}
	if len(again) > 0 {
		c.o.Log.Warn("refs of ours could not be deleted; they are tried again", "refs", len(again), "error", errors.Join(err, errors.Join(each...)))
		c.gone, c.goneAt = append(c.gone, again...), c.o.Now().Add(backoff(4))
	}
}

// wanted reports whether a branch is of a build that is not tidied up: it was asked for while its
// refs, which a sweep had found, were being deleted. The caller holds mu.
func (c *Controller) wanted(branch string) bool {
	e := c.builds[queue.BuildID(branch[strings.LastIndexByte(branch, '/')+1:])]
	return e != nil && !e.tidy && e.has(branch)
}

// afterPush takes in the result of the push of a build. The caller holds mu.
func (c *Controller) afterPush(e *entry, fresh bool, err error) {
	defer poke(c.toSee)
	now := c.o.Now()
	if err == nil && e.asks {
		e.arrived, e.unsure, e.beginAt, e.look = true, !fresh, now, !fresh
		e.log.say("pushed %.12s to %s", e.build.Commit, e.branch)
		if e.done != nil {
			e.pushed, e.tidyAt = now, now
		}
		return
	}
	if err == nil {
		e.pushed, e.look = now, !fresh // else it was there before, and checks may have been reported
		e.log.say("pushed %.12s to %s", e.build.Commit, e.branch)
		if e.done != nil {
			e.tidyAt = now
			return
		}
		c.settle(e)
		return
	}
	if e.done != nil { // stopped meanwhile; whether it arrived is not known
		e.pushed, e.tidyAt = now, now
		return
	}
	c.o.Log.Warn("a build could not be pushed", "build", e.build.ID, "ref", e.branch, "error", err)
	e.log.say("the push to %s failed: %v", e.branch, err)
	var transient *forge.Transient
	e.tries++
	if refusedForGood(err) {
		rule := ruleOf(err)
		c.finish(e, queue.BuildDone{Outcome: queue.JobInfra, NoCheck: true, Refused: rule, Detail: fmt.Sprintf("the forge refused the ref %s: %s", e.branch, rule)})
		return
	}
	if e.tries >= pushTries {
		c.finish(e, queue.BuildDone{Outcome: queue.JobInfra, Detail: fmt.Sprintf("the commit could not be pushed to %s: %s", e.branch, oneLine(err.Error()))})
		return
	}
	e.notBefore = now.Add(backoff(e.tries))
	if errors.As(err, &transient) && transient.After > 0 {
		e.notBefore = now.Add(transient.After)
	}
}

// refusedForGood reports whether a push failed because the forge forbids it.
func refusedForGood(err error) bool {
	var transient *forge.Transient
	return errors.Is(err, forge.ErrForbidden) && !errors.As(err, &transient)
}

// ruleOf returns the forge's own words for a refusal.
func ruleOf(err error) string {
	_, rule, ok := strings.Cut(err.Error(), forge.ErrForbidden.Error()+": ")
	if !ok {
		rule = err.Error()
	}
	return oneLine(strings.TrimSpace(strings.TrimPrefix(rule, "[remote rejected]")))
}

// backoff is how long to wait after the n-th failure.
func backoff(n int) time.Duration { return min(time.Second<<min(n, 6), time.Minute) }

// sync learns the forge's clock, which separates the results of a build from earlier ones.
func (c *Controller) sync(ctx context.Context, commit queue.CommitID) {
	before := c.o.Now()
	got, err := c.o.CI.CIResults(ctx, commit)
	if got.Now.IsZero() {
		if err != nil && ctx.Err() == nil {
			c.o.Log.Warn("the forge's clock could not be read; it is taken to be ours", "error", err)
		}
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clock(before, c.o.Now(), got.Now)
}

// clock notes the forge's clock from an answer. The forge tells whole seconds: a difference of
// less than two seconds does not count. Nor does a difference that the time of the request can
// explain.
func (c *Controller) clock(asked, answered, told time.Time) {
	if told.IsZero() {
		return
	}
	c.synced, c.skew = true, 0
	if ahead := told.Sub(answered); ahead >= 2*time.Second {
		c.skew = ahead
	} else if behind := told.Sub(asked); behind <= -2*time.Second {
		c.skew = behind
	}
}
