package demo

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// blamer is a product that blames a commit by itself, and heals at the second look.
type blamer struct {
	Stack
	wrong  int // round in which it blames the wrong one
	round  int
	looks  int
	pushed []Pushed
}

func (b *blamer) Publish(context.Context, *Plan) error { return nil }
func (b *blamer) Close() error                         { return nil }

func (b *blamer) PushPast(_ context.Context, commits []Pushed) (ids []string, err error) {
	b.round++
	b.looks, b.pushed = 0, commits
	for i := range commits {
		ids = append(ids, fmt.Sprintf("%d.%d", b.round, i))
	}
	return ids, nil
}

func (b *blamer) Main(context.Context) (Main, error) {
	b.looks++
	if b.looks == 1 {
		return Main{Tip: fmt.Sprintf("%d.%d", b.round, len(b.pushed)-1)}, nil
	}
	bad := 0
	for i, c := range b.pushed {
		if strings.HasPrefix(c.Message, "Hurry") == (b.round != b.wrong) {
			bad = i
		}
	}
	at := time.Unix(1000, 0)
	return Main{Tip: "healed", Proven: b.looks > 2, Slowest: 10 * time.Second,
		Culprits: []Blamed{{Commit: fmt.Sprintf("%d.%d", b.round, bad), Began: at, Found: at.Add(15 * time.Second)}}}, nil
}

func TestRunRed(t *testing.T) {
	for wrong, want := range []string{"Culprit right in 3 of 3 red mains. Evidence complete 15s after the first failure (median; at most 15s): 1.5 build times", "WRONG: "} {
		var out strings.Builder
		stack := &blamer{wrong: wrong}
		err := Run(t.Context(), Flags{Changes: MinChanges, Runners: 1, Seed: 1, Red: 3}, Deps{Out: &out, Now: time.Now, Poll: time.Millisecond,
			Start: func(context.Context, int) (Stack, error) { return stack, nil }})
		if !strings.Contains(out.String(), want) || (wrong == 0) != (err == nil) || wrong != 0 && !errors.Is(err, ErrWrong) {
			t.Errorf("%v:\n%s", err, out.String())
		}
	}
}

func TestRedFlags(t *testing.T) {
	for _, f := range []Flags{{Runners: 1, Red: -1}, {Runners: 1, Red: 2, Keep: true}, {Runners: 1, Red: 2, Repo: "x", Branches: "y"}} {
		if f.Validate() == nil {
			t.Errorf("%+v is taken", f)
		}
	}
}
