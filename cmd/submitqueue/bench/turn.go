package bench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime/pprof"
	"time"

	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/redisstore"
	"github.com/submitqueue/submitqueue/speculation"
)

// benchTurn measures turns: fold, settle, plan, and the commit to a real Redis.
// The core is driven as the server drives it, one event for each turn, which is
// the most turns that the same events can make. What would come of its actions
// comes at once and costs nothing.
type benchTurn struct {
	Pending int    `default:"1000" help:"Pending changes. The same is measured at a tenth of it."`
	Areas   []int  `default:"50,1" help:"Areas they are spread over, one measurement for each; 1: all conflict."`
	Turns   int    `default:"2000" help:"Turns to measure."`
	Slots   int    `default:"50" help:"Builds that can run at once."`
	Redis   string `default:"auto" env:"REDIS_URL" help:"redis://... or auto: a private redis-server that syncs each write."`
	JSON    string `name:"json" help:"Write the figures to a file." placeholder:"FILE" type:"path"`
	Profile string `hidden:"" type:"path" help:"Write a CPU profile of the measured turns to a file."`
}

// turnFigures are the figures of `bench turn`.
type turnFigures struct {
	Redis   string       `json:"redis"`
	Machine machine      `json:"machine"`
	Rows    []turnFigure `json:"rows"`
}

// turnFigure is one measurement. Step is the part of a turn that decides; the
// rest encodes what has changed and commits it.
type turnFigure struct {
	Pending int     `json:"pending"`
	Areas   int     `json:"areas"`
	Turns   int     `json:"turns"`
	Landed  int     `json:"landed"` // while it was measured
	Turn    spread  `json:"turn_seconds"`
	Step    spread  `json:"step_seconds"`
	Bytes   float64 `json:"redis_bytes_per_turn"`
	Records float64 `json:"records_per_turn"`

	Events map[string]spread `json:"events"`       // turns by their event
	Counts map[string]int    `json:"event_counts"` // of these
}

// Run implements the command.
func (b *benchTurn) Run(ctx context.Context) error {
	if b.Pending < 10 || b.Turns < 1 || b.Slots < 1 {
		return errors.New("--pending is at least 10, --turns and --slots are at least 1")
	}
	dir, err := os.MkdirTemp("", "submitqueue-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	url := b.Redis
	if url == "auto" {
		url = ""
	}
	store, closeStore, kind, err := redisstore.Auto(ctx, redisstore.AutoOptions{URL: url, DataDir: dir, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	f := turnFigures{Redis: kind, Machine: machineOf(dir)}
	err = errors.Join(b.measure(ctx, store, &f), closeStore())
	if err != nil {
		return err
	}
	return print.Figures(b.JSON, f)
}

func (b *benchTurn) measure(ctx context.Context, store *redisstore.Store, f *turnFigures) error {
	if b.Profile != "" {
		to, err := os.Create(b.Profile)
		if err != nil {
			return fmt.Errorf("the profile cannot be written: %w", err)
		}
		defer to.Close()
		if err := pprof.StartCPUProfile(to); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	fmt.Printf("turns of one event each; %s; %s\n", f.Redis, f.Machine)
	fmt.Println("  pending  areas   turn P50      P99      max   step P50      P99  to Redis per turn  records  landed meanwhile")
	for _, areas := range b.Areas {
		if areas < 1 || areas > 1000 {
			return errors.New("--areas are from 1 to 1000")
		}
		for _, pending := range []int{b.Pending / 10, b.Pending} {
			row, err := b.row(ctx, store, pending, areas)
			if err != nil {
				return fmt.Errorf("%d pending in %d areas: %w", pending, areas, err)
			}
			fmt.Printf("  %7d  %5d  %6.2f ms  %6.2f ms  %6.2f ms  %6.2f ms  %6.2f ms  %12.1f KB  %7.1f  %6d\n", row.Pending, row.Areas,
				row.Turn.P50*1000, row.Turn.P99*1000, row.Turn.Max*1000, row.Step.P50*1000, row.Step.P99*1000, row.Bytes/1024, row.Records, row.Landed)
			f.Rows = append(f.Rows, row)
		}
	}
	return nil
}

// row fills a queue, then measures turns while each change that lands is
// followed by a new one.
func (b *benchTurn) row(ctx context.Context, store *redisstore.Store, pending, areas int) (turnFigure, error) {
	f := turnFigure{Pending: pending, Areas: areas, Turns: b.Turns}
	world, err := newBenchWorld(areas)
	if err != nil {
		return f, err
	}
	t := &benchTurns{world: world, store: store, queue: fmt.Sprintf("bench/%d-%d-%d", pending, areas, time.Now().UnixNano()),
		core: speculation.New(queue.NewState("main")), at: queue.At(time.Now())}
	if t.token, err = store.Acquire(ctx, t.queue, "bench", time.Hour); err != nil {
		return f, err
	}
	defer func() { _ = store.Release(context.WithoutCancel(ctx), t.queue, t.token) }() // it ends by itself
	world.answers = []queue.Body{queue.Capacity{Slots: b.Slots}}
	if err := t.fill(ctx, pending); err != nil {
		return f, err
	}
	before, err := store.Usage(ctx)
	if err != nil {
		return f, err
	}
	t.took, t.stepped, t.records, t.byEvent = nil, nil, 0, map[string][]time.Duration{}
	landed := t.landed
	for len(t.took) < b.Turns {
		if err := t.next(ctx, pending); err != nil {
			return f, err
		}
	}
	after, err := store.Usage(ctx)
	f.Turn, f.Step, f.Landed = spreadOf(t.took), spreadOf(t.stepped), t.landed-landed
	f.Bytes = float64(after.BytesIn-before.BytesIn) / float64(b.Turns)
	f.Records = float64(t.records) / float64(b.Turns)
	f.Events, f.Counts = map[string]spread{}, map[string]int{}
	for name, took := range t.byEvent {
		f.Events[name], f.Counts[name] = spreadOf(took), len(took)
	}
	return f, err
}

// benchTurns makes the turns of one queue, as app does.
type benchTurns struct {
	world   *benchWorld
	store   *redisstore.Store
	queue   string
	token   int64
	version int64
	core    *speculation.Core
	at      queue.Instant
	opened  int // pull requests
	landed  int
	cursor  string

	took, stepped []time.Duration
	records       int
	byEvent       map[string][]time.Duration
}

// fill brings changes in until that many are pending and nothing is under way
// but builds.
func (t *benchTurns) fill(ctx context.Context, pending int) error {
	if err := t.answerAll(ctx); err != nil { // what the queue asks about main
		return err
	}
	for t.opened < pending {
		if err := t.command(ctx, min(100, pending-t.opened)); err != nil {
			return err
		}
		if err := t.answerAll(ctx); err != nil {
			return err
		}
	}
	if n := t.waiting(); n < pending {
		return fmt.Errorf("only %d changes are pending", n)
	}
	return nil
}

func (t *benchTurns) waiting() int { return t.opened - t.landed }

func (t *benchTurns) answerAll(ctx context.Context) error {
	for len(t.world.answers) > 0 {
		all := t.world.answers
		t.world.answers = nil
		if err := t.make(ctx, t.events(all...), nil); err != nil {
			return err
		}
	}
	return nil
}

// next makes one turn of one event: an answer, a new change, or a passed build.
func (t *benchTurns) next(ctx context.Context, pending int) error {
	if len(t.world.answers) == 0 && t.waiting() < pending {
		return t.command(ctx, 1)
	}
	if len(t.world.answers) == 0 && !t.world.pass(t.core.State()) {
		return errors.New("nothing is under way: the queue stands still")
	}
	one := t.world.answers[0]
	t.world.answers = t.world.answers[1:]
	return t.make(ctx, t.events(one), nil)
}

func (t *benchTurns) events(bodies ...queue.Body) []queue.Event {
	events := make([]queue.Event, len(bodies))
	for i, b := range bodies {
		t.at += 5 // milliseconds
		events[i] = queue.Event{ID: fmt.Sprintf("bench/%d", t.at), At: t.at, Body: b}
	}
	return events
}

// command has n new pull requests asked to land, through the inbox.
func (t *benchTurns) command(ctx context.Context, n int) error {
	var bodies []queue.Body
	for range n {
		t.opened++
		bodies = append(bodies, queue.Commented{Number: t.opened, Comment: fmt.Sprintf("c%d", t.opened), Author: benchUser, Body: "/land"})
	}
	if err := t.store.Append(ctx, t.queue, t.events(bodies...)...); err != nil {
		return err
	}
	arrived, err := t.store.Inbox(ctx, t.queue, t.cursor, n, 0)
	if err != nil {
		return err
	}
	var events []queue.Event
	var eaten []string
	for _, a := range arrived {
		events, eaten, t.cursor = append(events, a.Event), append(eaten, a.Cursor), a.Cursor
	}
	return t.make(ctx, events, eaten)
}

// make is a turn.
func (t *benchTurns) make(ctx context.Context, events []queue.Event, eaten []string) error {
	began := time.Now()
	turn := speculation.Step(t.core, events)
	stepped := time.Since(began)
	w := queue.Turn{Queue: t.queue, Token: t.token, Version: t.version, Eaten: eaten, Archive: turn.Archive, Notes: turn.Notes}
	for _, ref := range turn.Changed {
		r, ok, err := t.core.State().Encode(ref)
		switch {
		case err != nil:
			return err
		case ok:
			w.Put = append(w.Put, r)
		default:
			w.Delete = append(w.Delete, ref)
		}
	}
	if n := len(w.Put) + len(w.Delete); n+len(w.Eaten)+len(w.Notes) > 0 {
		if err := t.store.Commit(ctx, w); err != nil {
			return err
		}
		t.version++
		t.records += n
	}
	t.took, t.stepped = append(t.took, time.Since(began)), append(t.stepped, stepped)
	if len(events) == 1 && t.byEvent != nil {
		name := queue.EventName(events[0].Body)
		t.byEvent[name] = append(t.byEvent[name], time.Since(began))
	}
	for _, n := range turn.Notes {
		if queue.Phase(n.What) == queue.Landed {
			t.landed++
		}
	}
	for _, a := range turn.Actions {
		t.world.carryOut(t.core, a)
	}
	return nil
}
