package workers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/workers/cache"
)

// Caches say which caches of steps runners keep (config.Step.Caches).
type Caches struct {
	Bytes  int64            // that the caches of one slot may take; 0: nothing is kept
	Shared *cache.Shared    // the caches that runners share besides; nil: none
	Seen   func(CacheEvent) // is called with the result of each; may be nil
}

// CacheResult is what happened to a cache in one build.
type CacheResult string

// The results of a cache: before the steps Hit, Miss or Skipped, after them the others.
const (
	CacheHit     CacheResult = "hit"     // it was put into the checkout
	CacheMiss    CacheResult = "miss"    // there was none
	CacheFetched CacheResult = "fetched" // the slot has it from the store that runners share; Hit follows
	CacheFailed  CacheResult = "failed"  // that store cannot be used, or holds something that is no cache
	CacheSkipped CacheResult = "skipped" // the build runs without
	CacheKept    CacheResult = "kept"    // it was put away again
	CacheLost    CacheResult = "lost"    // it was not
)

// CacheEvent is a result of one cache in one build.
type CacheEvent struct {
	Result CacheResult
	Bytes  int64 // that were put into the checkout, or away
}

// openCaches opens the caches of the slot, if it is to keep any.
func (r *Runner) openCaches() (err error) {
	if r.o.Caches.Bytes <= 0 {
		return nil
	}
	r.kept, err = cache.Open(r.files.root, cache.Options{Bytes: r.o.Caches.Bytes, Owner: r.files.guest.uidOf(), Remove: RemoveAll, Low: r.shortOfDisk})
	return err
}

// roomForCaches is the least space, in bytes, that caches leave free on the disk besides
// RunnerOptions.MinFree.
const roomForCaches = 512 << 20

// shortOfDisk reports whether caches would take space that checkouts and steps need.
func (r *Runner) shortOfDisk() bool {
	free, ok := freeBytes(r.files.root)
	return ok && free < r.o.MinFree+roomForCaches
}

// whyCold says for people why a build runs without caches (queue.Build.Cold).
func whyCold(b queue.Build) string {
	if b.Change == "" {
		return "without caches: this verifies the branch itself"
	}
	return "without caches: something of this build has failed before"
}

// usedCaches are the caches of one checkout, while its steps run.
type usedCaches struct {
	r    *Runner
	log  io.Writer
	all  []usedCache
	cold bool
	torn bool // a step was ended while it may have written

	began, runs bool // a step has begun; a step runs now
	passed      bool // all steps that have run
}

type usedCache struct {
	config.Cache
	id      string
	unkeyed bool   // it is one for all commits
	short   string // says for people which of the caches with these paths it is
	held    cache.Held
}

// fillCaches puts the caches of jobs into a checkout that has the files of the commit and in
// which no step has run. An error is a fault of the slot.
func (r *Runner) fillCaches(ctx context.Context, b queue.Build, jobs []queue.Job, log io.Writer) (*usedCaches, error) {
	u := &usedCaches{r: r, log: log}
	asked := u.wanted(jobs)
	if len(asked) == 0 {
		return u, nil
	}
	if r.kept == nil {
		u.say("caches are off on this runner")
		return u, nil
	}
	if u.cold = b.Cold(); u.cold {
		u.say("%s", whyCold(b))
	}
	if err := u.name(b, asked); err != nil {
		return nil, err
	}
	return u, u.fillAll(ctx)
}

// fillAll puts the caches into the checkout, and gives it to the slot's user again.
func (u *usedCaches) fillAll(ctx context.Context) error {
	filled := false
	for i := range u.all {
		c := &u.all[i]
		found, err := u.fill(ctx, c)
		if err != nil {
			return fmt.Errorf("cache %s: %w", c.Name(), err)
		}
		filled = filled || found
	}
	if !filled {
		return nil
	}
	return u.r.files.hand()
}

// wanted returns the caches of jobs, each once. If the caches of two steps overlap, only the
// cache of the first step is used.
func (u *usedCaches) wanted(jobs []queue.Job) (all []config.Cache) {
	for _, j := range jobs {
		for _, c := range j.Step.Caches {
			clash := func(d config.Cache) bool {
				return slices.ContainsFunc(c.Paths, func(p string) bool {
					return slices.ContainsFunc(d.Paths, func(q string) bool { return config.Within(p, q) || config.Within(q, p) })
				})
			}
			switch i := slices.IndexFunc(all, clash); {
			case i < 0:
				all = append(all, c)
			case !all[i].Equal(c):
				u.say("cache %s of step %s: left out, a step before has cache %s in the same place", c.Name(), j.Step.Name, all[i].Name())
			}
		}
	}
	return all
}

// name finds the ids of the caches, which depend on files of the commit.
func (u *usedCaches) name(b queue.Build, asked []config.Cache) error {
	root, err := os.OpenRoot(u.r.files.checkout) // no link leads out of it
	if err != nil {
		return err
	}
	defer root.Close()
	for _, c := range asked {
		id, err := cache.ID(root.FS(), b.Queue, c)
		if err != nil {
			u.say("cache %s: left out: %s", c.Name(), err)
			continue
		}
		u.all = append(u.all, usedCache{Cache: c, id: id, unkeyed: len(c.Key) == 0, short: id[:8]})
	}
	return nil
}

// fill puts one cache into the checkout, and reports whether there is one now.
func (u *usedCaches) fill(ctx context.Context, c *usedCache) (found bool, err error) {
	const checkout = "checkout"
	if u.cold {
		c.held = u.r.kept.Free(checkout, c.Paths)
	} else {
		u.fetch(ctx, c)
		if c.held, err = u.r.kept.Restore(checkout, c.id, c.Paths); err != nil {
			return false, err
		}
	}
	if len(c.held.Taken) > 0 {
		u.say("cache %s: the commit has %s itself, which is neither restored nor kept", c.Name(), some(c.held.Taken))
	}
	switch {
	case u.cold:
		u.seen(CacheSkipped, 0)
	case c.held.Found:
		u.say("cache %s: restored, %s (%s)", c.Name(), cache.Size(c.held.Bytes), c.label())
		u.seen(CacheHit, c.held.Bytes)
	case len(c.held.Free) > 0:
		u.say("cache %s: nothing kept yet (%s)", c.Name(), c.label())
		u.seen(CacheMiss, 0)
	}
	return c.held.Found, nil
}

// fetch copies a shared cache into the slot. If that fails, the build goes on without it.
func (u *usedCaches) fetch(ctx context.Context, c *usedCache) {
	shared := u.r.o.Caches.Shared
	if shared == nil || u.r.kept.Has(c.id) {
		return
	}
	found, err := shared.Fetch(ctx, u.r.kept, c.id, c.Paths)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		u.r.o.Log.Warn("fetch a shared cache", "cache", c.Name(), "id", c.id, "error", err)
		u.say("cache %s: the shared one cannot be had: %s", c.Name(), lastBytes(err.Error(), 300))
		u.seen(CacheFailed, 0)
	case found:
		u.say("cache %s: fetched from the shared store", c.Name())
		u.seen(CacheFetched, 0)
	}
}

// label says for people which of the caches with these paths it is.
func (c usedCache) label() string {
	if c.unkeyed {
		return "no key"
	}
	return "key " + c.short
}

// begins takes note that a job begins.
func (u *usedCaches) begins() {
	if !u.began {
		u.passed = true
	}
	u.began, u.runs = true, true
}

// ended notes how a run of a step has ended. A run that was stopped may have been writing, so
// its files may be torn.
func (u *usedCaches) ended(o queue.JobOutcome) {
	u.runs = false
	u.passed = u.passed && o == queue.JobPassed
	u.torn = u.torn || o != queue.JobPassed && o != queue.JobFailed
}

// found reports whether the steps had caches of other builds.
func (u *usedCaches) found() bool {
	return slices.ContainsFunc(u.all, func(c usedCache) bool { return c.held.Found })
}

// keep puts the caches away, when no step of the checkout runs any more. A cache that cannot be
// kept is lost with the checkout; the build does not suffer.
func (u *usedCaches) keep() {
	if len(u.all) == 0 || u.cold && !u.began {
		return
	}
	if err := u.r.alone(); err != nil {
		u.r.o.Log.Warn("keep caches", "dir", u.r.files.root, "error", err)
		return
	}
	for _, c := range u.all {
		if u.torn || u.runs {
			u.say("cache %s: not kept, as a step was ended while it may have written there", c.Name())
			u.seen(CacheLost, 0)
			continue
		}
		bytes, err := u.r.kept.Keep("checkout", c.id, c.held.Free)
		var large *cache.TooLarge
		switch {
		case errors.As(err, &large), errors.Is(err, cache.ErrLow):
			u.say("cache %s: not kept: %s", c.Name(), err)
			u.seen(CacheLost, 0)
		case err != nil:
			u.r.o.Log.Warn("keep a cache", "cache", c.Name(), "dir", u.r.files.root, "error", err)
			u.say("cache %s: not kept, as it cannot be moved", c.Name())
			u.seen(CacheLost, 0)
		case bytes > 0:
			u.say("cache %s: kept, %s", c.Name(), cache.Size(bytes))
			u.seen(CacheKept, bytes)
			u.offer(c)
		}
	}
}

// offer shares a cache with other runners, if all steps with it have passed.
func (u *usedCaches) offer(c usedCache) {
	shared := u.r.o.Caches.Shared
	if shared == nil || !u.passed {
		return
	}
	if err := shared.Offer(u.r.kept, c.id, c.unkeyed); err != nil {
		u.r.o.Log.Warn("share a cache", "cache", c.Name(), "id", c.id, "error", err)
		u.seen(CacheFailed, 0)
	}
}

func (u *usedCaches) say(format string, args ...any) {
	fmt.Fprintf(u.log, "[submitqueue] %s\n", u.r.mask(clean(fmt.Sprintf(format, args...))))
}

func (u *usedCaches) seen(result CacheResult, bytes int64) {
	if u.r.o.Caches.Seen != nil {
		u.r.o.Caches.Seen(CacheEvent{result, bytes})
	}
}
