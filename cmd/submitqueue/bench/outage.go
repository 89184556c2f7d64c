package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"
	"github.com/submitqueue/submitqueue/queue"
)

// benchOutage lets a simulated code host fail at random for some time, while changes are
// in the queue and more are asked for. It fails where a change is lost, is on main twice,
// or needs a person.
type benchOutage struct {
	hostFlag

	For      time.Duration `name:"for" default:"30m" help:"How long the host is in trouble."`
	Seeds    string        `default:"1" help:"One run for each: 7, or 1-50." placeholder:"A-B"`
	Parallel int           `default:"4" help:"Runs at a time."`
	Changes  int           `default:"12" help:"Changes of a run: a third is asked for before the trouble, the others while it lasts."`
	Share    float64       `default:"0" help:"Part of what is asked of the host that fails, above 0 to 1; 0: by the seed, from 0.3 to 1."`
	Areas    int           `default:"6" help:"Areas they are spread over; changes of one area conflict."`
	Build    time.Duration `default:"10s" help:"Time of a build."`
	Hooks    bool          `name:"keep-hooks" help:"Webhooks are sent all the same. Lost ones are found by asking, every five minutes."`
	Redis    string        `default:"auto" help:"redis://... or auto: a private redis-server that syncs each write."`
	JSON     string        `name:"json" help:"Write the figures to a file." placeholder:"FILE" type:"path"`
	Keep     bool          `help:"Keep the folder with repository, Redis and log."`
}

// outageAfter is how long after the end of an outage all changes must be decided. The
// server finds the commands of lost webhooks by reading what the host has not delivered.
const outageAfter = 20 * time.Minute

// outageRun is one run.
type outageRun struct {
	Seed    uint64   `json:"seed"`
	Share   float64  `json:"share"`
	Failed  int      `json:"failed"`            // requests that failed during the outage
	Within  int      `json:"landed_within"`     // changes that landed during the outage
	First   float64  `json:"first_seconds"`     // from its end to the first landing; -1: all had landed before
	All     float64  `json:"all_seconds"`       // from its end until all had landed
	Stopped []string `json:"stopped,omitempty"` // stops that only a person could lift
	Wrong   string   `json:"wrong,omitempty"`   // changes lost, landed twice or not decided
}

// outageFigures are the figures of `bench outage`.
type outageFigures struct {
	Forge   string      `json:"forge"`
	For     float64     `json:"for_seconds"`
	Changes int         `json:"changes"`
	Runs    []outageRun `json:"runs"`
	First   spread      `json:"first_seconds"`
	All     spread      `json:"all_seconds"`
	Machine machine     `json:"machine"`
}

// Run implements the command.
func (b *benchOutage) Run(ctx context.Context) error {
	seeds, err := seedsOf(b.Seeds)
	if err != nil {
		return err
	}
	if b.For <= 0 || b.Parallel < 1 || b.Changes < 3 || b.Share < 0 || b.Share > 1 || b.Areas < 1 || b.Areas > 1000 || b.Build <= 0 {
		return errors.New("--for and --build are longer than nothing, --parallel and --areas at least 1, --changes at least 3, and --share is at most 1")
	}
	f := outageFigures{Forge: b.Forge, For: b.For.Seconds(), Changes: b.Changes, Runs: make([]outageRun, len(seeds)), Machine: machineOf(os.TempDir())}
	fmt.Fprintf(os.Stderr, "%d runs, %d at a time: about %v\n", len(seeds), b.Parallel,
		((b.For + time.Minute) * time.Duration((len(seeds)+b.Parallel-1)/b.Parallel)).Round(time.Minute))
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(b.Parallel)
	for i, seed := range seeds {
		group.Go(func() (err error) {
			f.Runs[i], err = b.one(within, seed)
			if err == nil {
				fmt.Fprintln(os.Stderr, f.Runs[i])
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	var first, all []time.Duration
	bad := 0
	for _, r := range f.Runs {
		if r.First >= 0 {
			first = append(first, time.Duration(r.First*float64(time.Second)))
		}
		all = append(all, time.Duration(r.All*float64(time.Second)))
		if r.Wrong != "" || len(r.Stopped) > 0 {
			bad++
		}
	}
	f.First, f.All = spreadOf(first), spreadOf(all)
	f.print(os.Stdout)
	if err := print.Figures(b.JSON, f); err != nil {
		return err
	}
	if bad > 0 {
		return fmt.Errorf("%d of %d runs lost something or need a person", bad, len(f.Runs))
	}
	return nil
}

// seedsOf reads "7" or "1-50".
func seedsOf(text string) ([]uint64, error) {
	from, to, ranged := strings.Cut(text, "-")
	if !ranged {
		to = from
	}
	first, err := strconv.ParseUint(from, 10, 32)
	last, err2 := strconv.ParseUint(to, 10, 32)
	if err != nil || err2 != nil || last < first || last-first >= 10_000 {
		return nil, fmt.Errorf("--seeds %q is neither a number nor a range such as 1-50", text)
	}
	var seeds []uint64
	for s := first; s <= last; s++ {
		seeds = append(seeds, s)
	}
	return seeds, nil
}

// one does a run on a separate server.
func (b *benchOutage) one(ctx context.Context, seed uint64) (run outageRun, err error) {
	chance := rand.New(rand.NewPCG(seed, 18))
	run = outageRun{Seed: seed, Share: b.Share, First: -1}
	if run.Share == 0 {
		run.Share = 0.3 + 0.7*chance.Float64()
	}
	rig, err := newRig(ctx, rigOptions{shape: benchShape{Changes: b.Changes, Areas: b.Areas, Files: 100, Commits: 1},
		orders: benchOrders{Slots: 16, Took: b.Build.Seconds(), Paced: true}, redis: b.Redis, keep: b.Keep, forge: b.on(false, 0)})
	if err != nil {
		return run, err
	}
	defer func() { err = errors.Join(err, rig.close()) }()
	host := rig.host.(benchHost)
	if err := host.started(ctx, rig.child); err != nil {
		return run, rig.failed(err)
	}
	landed := func() (n int, latest time.Time) {
		for _, v := range rig.child.verdictsNow() {
			if v.phase == queue.Landed {
				n++
				if v.at.After(latest) {
					latest = v.at
				}
			}
		}
		return n, latest
	}
	left := slices.Clone(rig.repo.names)
	ask := func() error {
		_, err := host.land(ctx, left[0])
		left = left[1:]
		return err
	}
	for range b.Changes / 3 {
		if err := ask(); err != nil {
			return run, rig.failed(err)
		}
	}
	host.beginOutage(rand.New(rand.NewPCG(seed, 19)), run.Share, !b.Hooks)
	before, gitBefore := host.requests()
	end := time.Now().Add(b.For)
	for len(left) > 0 {
		apart := time.Until(end) / time.Duration(len(left)+1)
		if err := pause(ctx, time.Duration(chance.Float64()*2*float64(apart))); err != nil {
			return run, rig.failed(err)
		}
		if err := ask(); err != nil {
			return run, rig.failed(err)
		}
	}
	if err := pause(ctx, time.Until(end)); err != nil {
		return run, rig.failed(err)
	}
	api, git := host.requests()
	for _, q := range append(api[len(before):], git[len(gitBefore):]...) {
		if q.status == 0 || q.status >= 429 {
			run.Failed++
		}
	}
	run.Within, _ = landed()
	host.endOutage()
	end = time.Now()

	late, cancel := context.WithTimeout(ctx, outageAfter)
	defer cancel()
	for {
		was, latest := landed()
		if was > run.Within && run.First < 0 {
			run.First = latest.Sub(end).Seconds()
		}
		if was == b.Changes {
			run.All = max(0, latest.Sub(end).Seconds())
			break
		}
		if err := rig.child.until(late, func() bool { return rig.child.landed() > was || rig.child.decided() == b.Changes }); err != nil && ctx.Err() == nil && late.Err() != nil {
			run.Wrong = fmt.Sprintf("%d of %d changes have landed %v after the end", was, b.Changes, outageAfter)
			break
		} else if err != nil {
			return run, rig.failed(err)
		}
		if n, _ := landed(); n < b.Changes && rig.child.decidedNow() == b.Changes {
			run.Wrong = fmt.Sprintf("%d of %d changes have landed, the others have another verdict", n, b.Changes)
			break
		}
	}
	if err := rig.repo.verify(ctx, host.dir()); err != nil && run.Wrong == "" {
		run.Wrong = err.Error()
	}
	run.Stopped = rig.child.stoppedNow()
	_, err = rig.child.stop()
	return run, err
}

// pause waits.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// landed is how many changes have landed; the caller holds mu.
func (c *benchChild) landed() (n int) {
	for _, v := range c.verdicts {
		if v.phase == queue.Landed {
			n++
		}
	}
	return n
}

// decided is how many changes have their verdict; the caller holds mu.
func (c *benchChild) decided() int { return len(c.verdicts) }

func (c *benchChild) decidedNow() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.decided()
}

// stoppedNow returns what has stopped the queue or a change so far.
func (c *benchChild) stoppedNow() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.stopped)
}

// String describes a run in a line.
func (r outageRun) String() string {
	first := "all had landed before the end"
	if r.First >= 0 {
		first = fmt.Sprintf("first landing %.1f s after the end, all %.0f s", r.First, r.All)
	}
	text := fmt.Sprintf("seed %d: %.0f %% fail (%d requests), %d landed meanwhile; %s", r.Seed, 100*r.Share, r.Failed, r.Within, first)
	for _, s := range r.Stopped {
		text += "\n  needs a person: " + s
	}
	if r.Wrong != "" {
		text += "\n  wrong: " + r.Wrong
	}
	return text
}

func (f outageFigures) print(to io.Writer) {
	fmt.Fprintf(to, "%d runs, %d changes each, %s in trouble for %v\n%s\n", len(f.Runs), f.Changes, hostNames[f.Forge], time.Duration(f.For*float64(time.Second)), f.Machine)
	fmt.Fprintf(to, "  %-28sP50 %.1f s, P99 %.1f s, at most %.1f s\n", "its end to a landing", f.First.P50, f.First.P99, f.First.Max)
	fmt.Fprintf(to, "  %-28sP50 %.1f s, P99 %.1f s, at most %.1f s\n", "its end to all landed", f.All.P50, f.All.P99, f.All.Max)
}
