package bench

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/redisstore"
)

// benchLand lands changes through a whole server: real Redis, real git merges and
// pushes on a bare repository, commands over HTTP. Only the builds are not real: they
// pass at once.
type benchLand struct {
	Changes     int           `default:"100" help:"Changes to land."`
	Areas       int           `default:"50" help:"Areas they are spread over; changes of one area conflict, though their texts merge. 1: all conflict."`
	Commits     int           `name:"files" default:"3" help:"One-file commits of each change."`
	Size        int           `default:"500" help:"Files on main."`
	Concurrency int           `default:"5" help:"Commands that are sent at once."`
	Open        int           `default:"0" help:"Changes that are in the queue at a time, at most; 0: all of them."`
	Recent      bool          `help:"Each branch begins on main as it is when it is asked for, and main does not grow; else all begin where main began. Needs --forge local, and --open of at most 100."`
	Slots       int           `default:"16" help:"Builds that can run at once."`
	Forge       string        `enum:"local,github" default:"local" help:"local: commands through the JSON API; github: signed webhooks of a simulated GitHub."`
	Redis       string        `default:"auto" help:"redis://... or auto: a private redis-server that syncs each write."`
	Rounds      int           `default:"1" help:"Do it all again; the figures are those of the median round. With --single: changes to land."`
	Single      bool          `help:"Land --rounds changes one after the other, each on an idle queue."`
	Readers     int           `default:"0" help:"So many look at pages and API meanwhile; each round is made without them first, and the rates are compared."`
	Every       time.Duration `default:"1s" help:"How often each of them looks."`
	JSON        string        `name:"json" help:"Write the figures to a file." placeholder:"FILE" type:"path"`
	Timeout     time.Duration `default:"10m" help:"Give up on a round after this."`
	Keep        bool          `help:"Keep the folder with repository, Redis and log."`
	Profile     string        `hidden:"" type:"path" help:"Write a CPU profile of the server to a file, and one of its memory at the end beside it."`
}

// Run implements the command.
func (b *benchLand) Run(ctx context.Context) error {
	if b.Changes < 1 || b.Areas < 1 || b.Areas > 1000 || b.Commits < 1 || b.Size < 1 || b.Concurrency < 1 || b.Slots < 1 || b.Rounds < 1 || b.Open < 0 || b.Readers < 0 || b.Every <= 0 {
		return errors.New("all counts are at least 1, --areas is at most 1000, --open and --readers are not negative, and --every is some time")
	}
	if b.Recent && (b.Forge != "local" || b.Open == 0 || b.Open > benchFolders/2) {
		return fmt.Errorf("--recent needs --forge local, and --open of at most %d", benchFolders/2)
	}
	var rounds []landFigures
	n := b.Rounds
	if b.Single {
		n = 1
	}
	for range n {
		alone, err := landFigures{}, error(nil)
		if b.Readers > 0 {
			fmt.Println("without readers:")
			if alone, err = b.round(ctx, 0); err != nil {
				return err
			}
			alone.print(os.Stdout)
			fmt.Printf("with %d readers:\n", b.Readers)
		}
		f, err := b.round(ctx, b.Readers)
		if err != nil {
			return err
		}
		if f.Readers != nil && f.Wall > 0 {
			f.Readers.Rate = alone.Wall / f.Wall
		}
		rounds = append(rounds, f)
		f.print(os.Stdout)
	}
	figures := medianOf(rounds)
	if len(rounds) > 1 {
		fmt.Println("median of the rounds:")
		figures.print(os.Stdout)
	}
	return print.Figures(b.JSON, figures)
}

// round lands everything once, in a separate folder.
func (b *benchLand) round(ctx context.Context, readers int) (f landFigures, err error) {
	ctx, cancel := context.WithTimeout(ctx, b.Timeout)
	defer cancel()
	shape := benchShape{Files: b.Size, Areas: b.Areas, Changes: b.Changes, Commits: b.Commits, Later: b.Recent}
	if b.Single {
		shape.Changes = b.Rounds
	}
	rig, err := newRig(ctx, rigOptions{shape: shape, redis: b.Redis, orders: benchOrders{Slots: b.Slots, Profile: b.Profile}, keep: b.Keep, forge: b.forge})
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, rig.close()) }()
	f = landFigures{Changes: shape.Changes, Areas: b.Areas, Forge: b.Forge, Single: b.Single, Redis: rig.kind, Machine: machineOf(rig.folder)}
	if err := b.land(ctx, rig, readers, &f); err != nil {
		return f, err
	}
	if err := rig.repo.verify(ctx, rig.host.dir()); err != nil {
		return f, fmt.Errorf("main is not what it should be: %w", err)
	}
	return f, nil
}

// land lands everything on a rig, and ends its server.
func (b *benchLand) land(ctx context.Context, rig *rig, readers int, f *landFigures) error {
	run := &landRun{child: rig.child, host: rig.host, store: rig.store, branches: rig.repo.names, open: b.Open}
	if b.Recent {
		run.make = rig.repo.branch
	}
	packs := watchPacks(ctx, filepath.Join(rig.data, "mirrors"))
	look := watchers{base: rig.child.url, token: rig.orders.Token, count: readers, every: b.Every}
	stopReaders := look.start(ctx)
	var err error
	if b.Single {
		err = run.oneByOne(ctx, f)
	} else {
		err = run.together(ctx, b.Concurrency, f)
	}
	seen, unread := stopReaders()
	if readers > 0 {
		f.Readers = seen
	}
	if err = errors.Join(err, unread); err != nil {
		return rig.failed(err)
	}
	err = run.finish(ctx, f)
	f.Packs = packs()
	return err
}

func (b *benchLand) forge(ctx context.Context, dir string, repo *benchRepo) (benchForge, error) {
	if b.Forge == "github" {
		return newBenchHub(ctx, dir, repo, false, 0)
	}
	return &benchLocal{repo: repo, token: rand.Text()}, nil
}

// landRun is one round under way.
type landRun struct {
	child    *benchChild
	host     benchForge
	store    *redisstore.Store
	branches []string
	open     int                              // 0: any number
	make     func(context.Context, int) error // makes a branch; nil: all branches exist
	began    redisstore.Usage
	sent     sync.Map // number → when the command was sent
}

func (r *landRun) start(ctx context.Context) (err error) {
	if err := r.host.started(ctx, r.child); err != nil {
		return err
	}
	r.began, err = r.store.Usage(ctx)
	if err != nil {
		r.began = redisstore.Usage{}
	}
	return nil
}

func (r *landRun) command(ctx context.Context, branch string) (int, error) {
	if r.make != nil {
		if err := r.make(ctx, slices.Index(r.branches, branch)); err != nil {
			return 0, fmt.Errorf("making %s: %w", branch, err)
		}
	}
	at := time.Now()
	n, err := r.host.land(ctx, branch)
	if err != nil {
		return 0, fmt.Errorf("asking to land %s: %w", branch, err)
	}
	r.sent.Store(n, at)
	return n, nil
}

// together sends all commands, some at once, and waits for all verdicts.
func (r *landRun) together(ctx context.Context, concurrency int, f *landFigures) error {
	if err := r.start(ctx); err != nil {
		return err
	}
	work := make(chan string)
	failed := make(chan error, concurrency)
	var senders sync.WaitGroup
	for range concurrency {
		senders.Go(func() {
			for branch := range work {
				if err := r.room(ctx); err != nil {
					failed <- err
					return
				}
				if _, err := r.command(ctx, branch); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	var err error
	for _, branch := range r.branches {
		select {
		case work <- branch:
			continue
		case err = <-failed:
		}
		break
	}
	close(work)
	senders.Wait()
	select {
	case err = <-failed:
	default:
	}
	if err != nil {
		return err
	}
	if err := r.child.until(ctx, func() bool { return len(r.child.verdicts) >= len(r.branches) }); err != nil {
		return fmt.Errorf("%d of %d changes have their verdict: %w", len(r.child.verdicts), len(r.branches), err)
	}
	return r.figures(f)
}

// room waits until another change may be in the queue. It may be off by the number of
// commands that are sent at once.
func (r *landRun) room(ctx context.Context) error {
	if r.open == 0 {
		return nil
	}
	return r.child.until(ctx, func() bool {
		sent := 0
		r.sent.Range(func(any, any) bool { sent++; return true })
		return sent-len(r.child.verdicts) < r.open
	})
}

// oneByOne waits for each change, and for the queue to be idle, before the next.
func (r *landRun) oneByOne(ctx context.Context, f *landFigures) error {
	if err := r.start(ctx); err != nil {
		return err
	}
	for _, branch := range r.branches {
		if err := r.child.until(ctx, func() bool { return r.child.idle }); err != nil {
			return err
		}
		n, err := r.command(ctx, branch)
		if err != nil {
			return err
		}
		if err := r.child.until(ctx, func() bool { return r.child.verdicts[n].phase != "" }); err != nil {
			return fmt.Errorf("#%d has no verdict: %w", n, err)
		}
	}
	return r.figures(f)
}

// figures computes times from when commands were sent to when verdicts were
// stored.
func (r *landRun) figures(f *landFigures) error {
	r.child.mu.Lock()
	defer r.child.mu.Unlock()
	var first, last time.Time
	var took []time.Duration
	for n, v := range r.child.verdicts {
		at, ok := r.sent.Load(n)
		if !ok || v.phase != queue.Landed {
			return fmt.Errorf("#%d is %s", n, v.phase)
		}
		sent := at.(time.Time)
		if first.IsZero() || sent.Before(first) {
			first = sent
		}
		if v.at.After(last) {
			last = v.at
		}
		took = append(took, v.at.Sub(sent))
	}
	f.Span, f.First, f.Last = pacesOf(slices.Collect(maps.Values(r.child.verdicts)))
	f.Landed, f.Wall, f.Latency = len(took), seconds(last.Sub(first)), spreadOf(took)
	return nil
}

// finish waits until the queue has published everything, ends the server and takes its
// counts.
func (r *landRun) finish(ctx context.Context, f *landFigures) error {
	idle := r.child.until(ctx, func() bool { return r.child.idle })
	used, usage := r.store.Usage(ctx)
	count, err := r.child.stop()
	if err = errors.Join(idle, err); err != nil {
		return err
	}
	f.CPU.Server = seconds(r.child.cpu())
	if usage == nil {
		f.CPU.Redis = seconds(used.CPU - r.began.CPU)
		f.RedisBytes = used.BytesIn - r.began.BytesIn
	}
	f.PerLanded = f.CPU.Server / float64(max(f.Landed, 1))
	f.RSS = float64(count.PeakRSS) / (1 << 20)
	f.Turns, f.Builds, f.Pushes, f.Actions = count.Turns, count.Actions["run"], count.Actions["land"], count.Actions
	return nil
}
