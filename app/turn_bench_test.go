package app_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/redisstore"
	"github.com/submitqueue/submitqueue/queue/storetest"
	"github.com/submitqueue/submitqueue/speculation"
)

// BenchmarkTurn measures turns of a long queue: fold, settle, plan, and the commit to
// a real Redis that syncs each write. The core is driven as the server drives it, one
// event for each turn, which is the most turns that the same events can make; what
// would come of its actions comes at once and costs nothing. It reports what a turn
// takes, the part of it that decides (step), and what it sends to Redis. Run it with
// -benchtime 2000x.
func BenchmarkTurn(b *testing.B) {
	_, err := exec.LookPath("redis-server")
	storetest.Need(b, "redis", err == nil)
	store, closeStore, _, err := redisstore.Auto(b.Context(), redisstore.AutoOptions{DataDir: b.TempDir(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = closeStore() })
	for _, areas := range []int{50, 1} { // 1: all are in conflict
		for _, pending := range []int{100, 1000} {
			b.Run(fmt.Sprintf("areas=%d/pending=%d", areas, pending), func(b *testing.B) {
				if err := measureTurns(b, store, pending, areas); err != nil {
					b.Fatal(err)
				}
			})
		}
	}
}

// measureTurns fills a queue, then measures turns while each change that lands is
// followed by a new one.
func measureTurns(b *testing.B, store *redisstore.Store, pending, areas int) (err error) {
	ctx := b.Context()
	t := &turns{world: newTurnWorld(b, areas), store: store, queue: fmt.Sprintf("bench/%d-%d-%d", pending, areas, time.Now().UnixNano()),
		core: speculation.New(queue.NewState("main")), at: queue.At(time.Now())}
	if t.token, err = store.Acquire(ctx, t.queue, "bench", time.Hour); err != nil {
		return err
	}
	defer func() { _ = store.Release(context.WithoutCancel(ctx), t.queue, t.token) }() // it ends by itself
	t.world.answers = []queue.Body{queue.Capacity{Slots: 50}}
	if err := t.fill(ctx, pending); err != nil {
		return err
	}
	before, err := store.Usage(ctx)
	if err != nil {
		return err
	}
	t.took, t.stepped, t.records = nil, nil, 0
	landed := t.landed
	for b.Loop() {
		if err := t.next(ctx, pending); err != nil {
			return err
		}
	}
	after, err := store.Usage(ctx)
	for name, all := range map[string][]time.Duration{"turn": t.took, "step": t.stepped} {
		slices.Sort(all)
		for _, percent := range []int{50, 99} {
			b.ReportMetric(float64(all[(len(all)-1)*percent/100].Microseconds())/1000, fmt.Sprintf("%s-p%d-ms", name, percent))
		}
	}
	each := float64(len(t.took))
	b.ReportMetric(float64(after.BytesIn-before.BytesIn)/each/1024, "KB-to-redis/op")
	b.ReportMetric(float64(t.records)/each, "records/op")
	b.ReportMetric(float64(t.landed-landed)/each, "landed/op")
	return err
}

// turns makes the turns of one queue, as app does.
type turns struct {
	world   *turnWorld
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
}

// fill brings changes in until that many are pending and nothing is under way
// but builds.
func (t *turns) fill(ctx context.Context, pending int) error {
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

func (t *turns) waiting() int { return t.opened - t.landed }

func (t *turns) answerAll(ctx context.Context) error {
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
func (t *turns) next(ctx context.Context, pending int) error {
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

func (t *turns) events(bodies ...queue.Body) []queue.Event {
	events := make([]queue.Event, len(bodies))
	for i, b := range bodies {
		t.at += 5 // milliseconds
		events[i] = queue.Event{ID: fmt.Sprintf("bench/%d", t.at), At: t.at, Body: b}
	}
	return events
}

// command has n new pull requests asked to land, through the inbox.
func (t *turns) command(ctx context.Context, n int) error {
	var bodies []queue.Body
	for range n {
		t.opened++
		bodies = append(bodies, queue.Commented{Number: t.opened, Comment: fmt.Sprintf("c%d", t.opened), Author: "bench", Body: "/land"})
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
func (t *turns) make(ctx context.Context, events []queue.Event, eaten []string) error {
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
