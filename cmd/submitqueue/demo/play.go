package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// play opens the plan's pull requests and leaves the rest to a person. It says where to
// comment and how to push, and then prints a line for each new state of a pull request,
// until ctx ends.
func play(ctx context.Context, plan *Plan, stack Stack, flags *Flags, deps Deps) error {
	clone, err := stack.Play()
	if err != nil {
		return err
	}
	for _, c := range plan.Changes {
		if _, err := stack.Open(ctx, c); err != nil {
			return fmt.Errorf("open %s: %w", c.Branch, err)
		}
	}
	links := stack.Links()
	fmt.Fprintf(deps.Out, `
%-15s %s
Dashboard:      %s

%d %ss are open, and none is asked to land. It is your turn:

1. Open one of them in the browser and comment /land. Try /cancel, /land explain and /land help, too.
2. Push a change of your own. The address holds a password that only this terminal shows:

   git clone %s && cd %s
   git switch -c mine
   # edit a file
   git commit --all --message 'My change'
   git push origin mine

   The push opens a %s and prints where it is.

Interrupt to stop. Everything is removed then, the clone apart.

`, flags.plural()+":", links.Pulls, links.Dashboard, len(plan.Changes), flags.noun(), clean(clone), clean(plan.Name), flags.noun())
	return watchPlay(ctx, stack, flags, deps)
}

// watchPlay prints the new states of the pull requests until ctx ends.
func watchPlay(ctx context.Context, stack Stack, flags *Flags, deps Deps) error {
	said := map[int]string{}
	tick := time.NewTicker(deps.Poll)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		rows, err := stack.Rows(ctx)
		if errors.Is(err, context.Canceled) {
			return nil
		}
		if err != nil {
			return err
		}
		slices.SortFunc(rows, func(a, b Row) int { return cmp.Compare(a.Number, b.Number) })
		for _, r := range rows {
			now := r.label()
			if said[r.Number] == now || r.Phase == "" && !r.decided() {
				continue
			}
			said[r.Number] = now
			line := fmt.Sprintf("%s  %s%d %s: %s", deps.Now().Format("15:04:05"), flags.mark(), r.Number, clean(r.Title), now)
			if r.decided() {
				line += reason(r.why())
			}
			fmt.Fprintln(deps.Out, line)
		}
	}
}
