package demo

import (
	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"

	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// maxRetries is how often an author retries a change that was parked for infrastructure
// errors.
const maxRetries = 3

// driver plays the people of a demo and watches the product.
type driver struct {
	deps    Deps
	stack   Stack
	plan    *Plan
	screen  *Screen
	watch   *Stopwatch
	start   time.Time
	pulls   []Pull // asked to land so far
	rows    []Row  // of the last look, one for each of pulls, in their order
	states  map[int]string
	changed time.Time // when a state last changed
	retried map[int]int
}

func (d *driver) header() {
	links := d.stack.Links()
	notes := append([]string{"Dashboard: " + links.Dashboard, cmp.Or(links.Label, "Pull requests") + ": " + links.Pulls, "Clone: " + links.Clone}, links.Notes...)
	fmt.Fprintln(d.deps.Out)
	for _, note := range notes {
		name, value, _ := strings.Cut(note, ": ")
		fmt.Fprintf(d.deps.Out, "%-15s %s\n", name+":", clean(value))
	}
	fmt.Fprintln(d.deps.Out)
}

// drive opens everything, waits for the verdicts, and verifies. It reports
// whether changes were left without a verdict because nothing moved any more.
func (d *driver) drive(ctx context.Context, dir string) (*Report, bool, error) {
	d.start, d.watch, d.states = d.deps.Now(), NewStopwatch(), map[int]string{}
	d.retried = map[int]int{}
	d.changed = d.start
	defer d.screen.Keep()
	stuck, err := d.follow(ctx)
	if err != nil {
		return nil, false, err
	}
	took := d.deps.Now().Sub(d.start)
	d.screen.Rows(d.rows, d.deps.Now(), took)
	if stuck {
		d.explain()
	}
	stats, err := d.stack.Stats(ctx)
	if err != nil {
		return nil, false, err
	}
	r := &Report{
		Plan: d.plan, Pulls: d.pulls, Rows: d.rows, Stats: stats,
		Turnarounds: d.watch.Turnarounds(), Took: took, Width: d.screen.Width(),
	}
	return r, stuck, d.prove(ctx, dir, r)
}

// follow asks to land all changes at a brisk pace and returns when all have a verdict,
// or when nothing has changed for too long.
func (d *driver) follow(ctx context.Context) (stuck bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	asked, failed := make(chan Pull), make(chan error, 1)
	go func() {
		defer close(asked)
		failed <- d.ask(ctx, asked)
	}()
	defer func() {
		cancel()
		for range asked { // until ask has ended
		}
	}()
	tick := time.NewTicker(d.deps.Poll)
	defer tick.Stop()
	open := asked
	for {
		select {
		case p, ok := <-open:
			if !ok {
				if err := <-failed; err != nil {
					return false, err
				}
				open = nil
				continue
			}
			d.pulls = append(d.pulls, p)
			d.changed = d.deps.Now()
			d.watch.Asked(p.Number, d.changed)
			continue
		case <-ctx.Done():
			return false, ctx.Err()
		case <-tick.C:
		}
		done, err := d.look(ctx)
		if err != nil {
			return false, err
		}
		if open == nil && done {
			return false, nil
		}
		if d.deps.Now().Sub(d.changed) > d.deps.Stall {
			return true, nil
		}
	}
}

// ask opens pull requests and comments /land on them, in order, at a pace at
// which the later ones arrive while the first are being built.
func (d *driver) ask(ctx context.Context, asked chan<- Pull) error {
	pace := min(5*d.deps.Poll, 20*time.Second/time.Duration(len(d.plan.Changes)))
	timer := time.NewTimer(0)
	defer timer.Stop()
	for _, c := range d.plan.Changes {
		p, err := d.stack.Open(ctx, c)
		if err != nil {
			return fmt.Errorf("open %s: %w", c.Branch, err)
		}
		p.Change = c
		select {
		case <-timer.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		timer.Reset(pace)
		select {
		case asked <- p:
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := d.stack.Land(ctx, p); err != nil {
			return fmt.Errorf("comment on %s: %w", Row{Number: p.Number, Mark: p.Mark}.ref(), err)
		}
	}
	return nil
}

// look reads the rows, shows them, and reports whether all have a verdict.
func (d *driver) look(ctx context.Context) (done bool, err error) {
	known, err := d.stack.Rows(ctx)
	if err != nil {
		return false, err
	}
	now := d.deps.Now()
	byNumber := map[int]Row{}
	for _, r := range known {
		byNumber[r.Number] = r
	}
	done = true
	running := false
	d.rows = d.rows[:0]
	for _, p := range d.pulls {
		r := byNumber[p.Number]
		r.Number, r.Mark, r.Title, r.Author = p.Number, p.Mark, p.Change.name(), p.Change.Author
		d.rows = append(d.rows, r)
		if d.states[p.Number] != r.state() {
			d.states[p.Number], d.changed = r.state(), now
			if r.broke() && d.retried[p.Number] < maxRetries {
				d.retried[p.Number]++
				if err := d.stack.Retry(ctx, p); err != nil {
					return false, fmt.Errorf("comment on %s: %w", Row{Number: p.Number, Mark: p.Mark}.ref(), err)
				}
			}
		}
		done = done && r.decided()
		running = running || r.Running
	}
	if running { // a build may take its time: the queue has a deadline for it
		d.changed = now
	}
	d.watch.Look(d.rows, now)
	d.screen.Show(d.rows, now, now.Sub(d.start))
	return done, nil
}

// explain says which changes are stuck and why.
func (d *driver) explain() {
	fmt.Fprintf(d.deps.Out, "\nNothing has changed for %v. Stuck:\n", d.deps.Stall)
	stuck := slices.DeleteFunc(slices.Clone(d.rows), Row.decided)
	slices.SortStableFunc(stuck, func(a, b Row) int { return cmp.Compare(a.Number, b.Number) })
	for _, r := range stuck {
		fmt.Fprintf(d.deps.Out, "  %s %s: %s%s\n", r.ref(), clean(r.Title), r.label(), reason(r.Detail))
	}
}

// prove finds out from a fresh clone what landed and whether it is green.
func (d *driver) prove(ctx context.Context, dir string, r *Report) (err error) {
	start := d.deps.Now()
	r.Line, err = Clone(ctx, Source{URL: d.stack.Links().Clone, Branch: d.plan.Branch, From: d.plan.From}, dir)
	if err != nil || d.plan.Check.Command == "" {
		return err
	}
	n := len(r.Line.Commits)
	r.Red, err = r.Line.Verify(ctx, d.plan.Check, func(done int) {
		d.screen.Note(fmt.Sprintf("Verifying %d of %d commits in a fresh clone %s", done, n, print.Bar(float64(done)/float64(n), 10)), done == n)
	})
	r.Checked, r.VerifyTook = n, d.deps.Now().Sub(start)
	return err
}
