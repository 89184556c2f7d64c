package notify

import (
	"context"
	"time"
)

// follower tells one target of the notes of one queue.
type follower struct {
	*Notifier
	name   string
	source Source
	target Target

	at   string // place that it has reached; "": not known yet
	kept string // the same, as the store has it

	tries int // tries so far of the message that is sent next
	fails int // failures of the store in a row
}

// untilChange says that there is nothing to do before the queue changes.
const untilChange time.Duration = -1

// follow tells the target until ctx ends.
func (f *follower) follow(ctx context.Context) {
	defer f.setTrouble(f.told(), "") // the next owner of the queue sets its own
	for ctx.Err() == nil {
		changed := f.source.Changed() // before the look: a later note wakes it
		wait, err := f.step(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			if f.fails++; f.fails == 1 {
				f.Log.Warn("the history cannot be followed for notifications; trying again", "queue", f.name, "target", f.target.Name(), "error", err)
			}
			wait = f.rest(f.fails)
		default:
			f.fails = 0
		}
		if wait != untilChange {
			changed = nil
		}
		if !pause(ctx, wait, changed) || wait == untilChange && !pause(ctx, f.pace, nil) {
			return
		}
	}
}

func (f *follower) told() told { return told{f.name, f.target.Name()} }

// step sends one message, if there is one, and moves on to the next place when it is
// sent. It returns how long there is nothing to do. An error comes from the store.
func (f *follower) step(ctx context.Context) (wait time.Duration, err error) {
	if f.at == "" {
		if f.at, err = f.Feed.Follow(ctx, f.name, f.target.Name()); err != nil {
			return 0, err
		}
		f.kept = f.at
	}
	list, end, err := f.unsent(ctx)
	if err != nil {
		return 0, err
	}
	if len(list) == 0 {
		return untilChange, f.reach(ctx, end)
	}
	head, m := list[:1], Message{}
	if len(list) > mostWaiting {
		head = list[:len(list)-newest]
		m = f.manyOf(f.name, f.source, head)
	} else {
		m = f.messageOf(ctx, f.name, f.source, list[0])
	}
	if wait, done := f.tell(ctx, m); !done {
		return wait, nil
	}
	return 0, f.reach(ctx, head[len(head)-1].Place)
}

// unsent returns the notes that the target is to be told of, oldest first, and the end of the
// history.
func (f *follower) unsent(ctx context.Context) (list []waiting, end string, err error) {
	for end = f.at; ; {
		notes, next, err := f.Feed.NotesAfter(ctx, f.name, end, page)
		if err != nil || next == end {
			return list, end, err
		}
		for _, n := range notes {
			if k, ok := kindOf(f.kinds, n.Note); ok && f.target.wants(f.source, k) {
				list = append(list, waiting{n, k})
			}
		}
		end = next
	}
}

// tell sends a message once, and returns how long to wait before the next try, unless
// this was the last one.
func (f *follower) tell(ctx context.Context, m Message) (wait time.Duration, done bool) {
	fault := f.send(ctx, f.target, m)
	log := f.Log.With("queue", f.name, "target", f.target.Name(), "kind", m.Kind)
	switch {
	case fault != nil && ctx.Err() != nil:
		return 0, false // it is not known whether it has arrived
	case fault == nil:
		f.tries = 0
		f.Record(f.name, f.target.Name(), Sent)
		if f.setTrouble(f.told(), "") {
			log.Info("notifications arrive again")
		}
		return 0, true
	}
	news := f.setTrouble(f.told(), fault.words)
	if f.tries++; f.tries < mostTries && !fault.refused {
		f.Record(f.name, f.target.Name(), Failed)
		if news {
			log.Warn("a notification did not arrive; trying again", "error", fault)
		}
		return max(f.rest(f.tries), fault.after), false
	}
	log.Error("a notification is dropped", "tries", f.tries, "error", fault, "text", m.Text)
	f.tries = 0
	f.Record(f.name, f.target.Name(), Dropped)
	return 0, true
}

// reach moves on to a place, also where ctx has just ended, because the messages before
// it were sent. Where the store cannot keep the place, it is kept with the next one.
func (f *follower) reach(ctx context.Context, to string) error {
	f.at = to
	if f.at == f.kept {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keepLimit)
	defer cancel()
	if err := f.Feed.Reached(ctx, f.name, f.target.Name(), f.at); err != nil {
		return err
	}
	f.kept = f.at
	return nil
}

// pause waits for a change or until some time has passed, whichever comes first, and
// reports whether ctx still lives.
func pause(ctx context.Context, d time.Duration, changed <-chan struct{}) bool {
	var over <-chan time.Time
	if d != untilChange {
		t := time.NewTimer(d)
		defer t.Stop()
		over = t.C
	}
	select {
	case <-over:
	case <-changed:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}
