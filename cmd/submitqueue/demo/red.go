package demo

import (
	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"

	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// Breaker is a Stack that lets the demo push to the branch past the queue.
type Breaker interface {
	Stack
	// PushPast pushes commits to the branch, one on the other, in one push, and returns
	// their ids.
	PushPast(ctx context.Context, commits []Pushed) ([]string, error)
	// Main returns what the product says of the branch.
	Main(ctx context.Context) (Main, error)
}

// Pushed is a commit that somebody pushes past the queue.
type Pushed struct {
	Author, Message string
	Files           Files
}

// Main is what the product says of the branch.
type Main struct {
	Tip      string
	Proven   bool // the whole branch is proven
	Culprits []Blamed
	Slowest  time.Duration // the slowest build of the branch since the last push past the queue
}

// Blamed is a commit that, by the product, has turned the branch red.
type Blamed struct {
	Commit string
	Began  time.Time // the first failure
	Found  time.Time
	Revert string // the state of its revert
}

// Red is the result of red mains in the demo's repository.
type Red struct {
	Rounds int
	Right  int             // rounds in which the one blamed commit had broken the branch
	Found  []time.Duration // times from the first failure, in the rounds that are right; sorted
	Builds []float64       // the same, as multiples of the slowest build of the branch in that round
	Healed []time.Duration // times from the push until the branch was proven again; sorted
}

// roundLimit is how long a red main may last.
const roundLimit = 5 * time.Minute

// runRed breaks the branch flags.Red times, each time by one of several commits that
// are pushed past the queue. Each time it waits until the product has named a commit
// and reverted it.
func runRed(ctx context.Context, flags Flags, deps Deps) (err error) {
	plan, err := Generate(Size{Seed: flags.Seed, Changes: MinChanges, Slow: time.Millisecond})
	if err != nil {
		return err
	}
	plan.Base = maps.Clone(plan.Base)
	plan.Base[".submitqueue.yml"] += "  red_main: {revert: land}\n" // queue is its last section
	fmt.Fprintf(deps.Out, "SubmitQueue demo: %s on %s, %s\n", print.Counted(flags.Red, "red main"), clean(plan.Title), print.Counted(flags.Runners, "runner"))
	stack, err := deps.Start(ctx, flags.Runners)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stack.Close()) }()
	b, ok := stack.(Breaker)
	if !ok {
		return errors.New("demo: nobody can push past this queue")
	}
	fmt.Fprintf(deps.Out, "Testing %s itself first. Where Go has an empty cache, this takes a minute.\n", clean(plan.Branch))
	if err := b.Publish(ctx, plan); err != nil {
		return err
	}
	out := Red{Rounds: flags.Red}
	rng := rand.New(rand.NewPCG(flags.Seed, 2))
	for round := range flags.Red {
		if err := out.round(ctx, b, deps, breaks(rng, plan, round)); err != nil {
			return fmt.Errorf("red main %d: %w", round+1, err)
		}
	}
	fmt.Fprintln(deps.Out, out)
	if (out.Rounds-out.Right)*50 > out.Rounds {
		return ErrWrong
	}
	return nil
}

// String implements fmt.Stringer.
func (r Red) String() string {
	text := fmt.Sprintf("Culprit right in %d of %s.", r.Right, print.Counted(r.Rounds, "red main"))
	if n := len(r.Found); n > 0 {
		text += fmt.Sprintf(" Evidence complete %v after the first failure (median; at most %v): %.1f build times of the slowest (median; at most %.1f). Reverted and proven again %v after the push (at most %v).",
			r.Found[n/2].Round(10*time.Millisecond), r.Found[n-1].Round(10*time.Millisecond), r.Builds[n/2], r.Builds[n-1],
			r.Healed[len(r.Healed)/2].Round(10*time.Millisecond), r.Healed[len(r.Healed)-1].Round(10*time.Millisecond))
	}
	return text
}

// broken holds the commits of one round; bad is the index of the commit that breaks the branch.
type broken struct {
	commits []Pushed
	bad     int
}

// breaks draws commits that touch packages of the shop. One of them breaks a test, or
// does not compile.
func breaks(rng *rand.Rand, plan *Plan, round int) broken {
	dirs := map[string]bool{}
	for name := range plan.Base {
		if dir, _, ok := strings.Cut(name, "/"); ok && strings.Count(name, "/") == 1 && strings.HasSuffix(name, "_test.go") {
			dirs[dir] = true
		}
	}
	packages := slices.Sorted(maps.Keys(dirs))
	n := 2 + rng.IntN(6)
	out := broken{bad: rng.IntN(n)}
	for i := range n {
		dir := packages[rng.IntN(len(packages))]
		c := Pushed{Author: demoPusher, Message: fmt.Sprintf("Say more of %s", dir), Files: Files{
			fmt.Sprintf("%s/more%d_%d.go", dir, round, i): fmt.Sprintf("package %s\n\n// more%d_%d is here for nothing.\nconst more%d_%d = %d\n", dir, round, i, round, i, i)}}
		if i == out.bad {
			c.Message = fmt.Sprintf("Hurry with %s", dir)
			c.Files[fmt.Sprintf("%s/hurry%d_test.go", dir, round)] = fmt.Sprintf("package %s\n\nimport \"testing\"\n\nfunc TestHurry%d(t *testing.T) { t.Fatal(\"too fast\") }\n", dir, round)
			if rng.IntN(2) == 0 {
				c.Files[fmt.Sprintf("%s/hurry%d_test.go", dir, round)] = fmt.Sprintf("package %s\n\nvar hurry%d int = \"fast\"\n", dir, round)
			}
		}
		out.commits = append(out.commits, c)
	}
	return out
}

// demoPusher is the author of pushes past the queue.
const demoPusher = "acme"

// round is one red main.
func (r *Red) round(ctx context.Context, b Breaker, deps Deps, x broken) error {
	ctx, cancel := context.WithTimeoutCause(ctx, roundLimit, ErrStuck)
	defer cancel()
	pushed := deps.Now()
	ids, err := b.PushPast(ctx, x.commits)
	if err != nil {
		return err
	}
	blamed, slowest := map[string]Blamed{}, time.Duration(1)
	for {
		m, err := b.Main(ctx)
		if err != nil {
			return err
		}
		for _, c := range m.Culprits {
			if _, known := blamed[c.Commit]; !known {
				fmt.Fprintf(deps.Out, "%d commits pushed; blamed: %.10s, %v after the first failure\n", len(ids), c.Commit, c.Found.Sub(c.Began).Round(10*time.Millisecond))
			}
			blamed[c.Commit] = c
		}
		slowest = max(slowest, m.Slowest)
		if m.Proven && !slices.Contains(ids, m.Tip) && len(blamed) > 0 {
			break
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the branch was not healed; blamed: %v: %w", slices.Sorted(maps.Keys(blamed)), context.Cause(ctx))
		case <-time.After(deps.Poll):
		}
	}
	bad, right := blamed[ids[x.bad]]
	if right && len(blamed) == 1 {
		r.Right++
		r.Found = append(r.Found, bad.Found.Sub(bad.Began))
		r.Builds = append(r.Builds, float64(bad.Found.Sub(bad.Began))/float64(slowest))
		slices.Sort(r.Found)
		slices.Sort(r.Builds)
	} else {
		fmt.Fprintf(deps.Out, "WRONG: %.10s broke the branch\n", ids[x.bad])
	}
	r.Healed = append(r.Healed, deps.Now().Sub(pushed))
	slices.Sort(r.Healed)
	return nil
}
