//go:build unix

package chaos

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// landings are the landings on main's line.
type landings struct {
	commits int
	heads   map[string]int // how often each head was merged
}

// audit looks at main with git alone, and returns what is wrong with it.
func (w *world) audit(ctx context.Context) (l landings, wrong []string, err error) {
	l.heads = map[string]int{}
	out, err := w.git(ctx, "", "-C", w.dir, "rev-list", "--first-parent", "--parents", "--reverse", "refs/heads/main")
	if err != nil {
		return l, nil, err
	}
	for line := range strings.Lines(out) {
		ids := strings.Fields(line)
		l.commits++
		for _, head := range ids[min(2, len(ids)):] {
			l.heads[head]++
		}
		names, err := w.git(ctx, "", "-C", w.dir, "ls-tree", "-r", "--name-only", ids[0])
		if err != nil {
			return l, nil, err
		}
		if !green(strings.Split(names, "\n")) {
			wrong = append(wrong, fmt.Sprintf("commit %.10s of main is red", ids[0]))
		}
	}
	asked := map[string]string{}
	for _, c := range w.changes {
		for _, head := range c.asked {
			asked[head] = c.branch
		}
	}
	for head, n := range l.heads {
		switch {
		case asked[head] == "":
			wrong = append(wrong, fmt.Sprintf("main has %.10s, for which nobody has asked", head))
		case n > 1:
			wrong = append(wrong, fmt.Sprintf("%s landed %d times", asked[head], n))
		}
	}
	slices.Sort(wrong)
	return l, wrong, nil
}

// landed reports whether a change is on main, at a head that its author asked to land.
func (l landings) landed(c *change) bool {
	return slices.ContainsFunc(c.asked, func(head string) bool { return l.heads[head] > 0 })
}

// verdict says what is wrong with the verdict on a change; phase is its last phase by the
// API.
func (l landings) verdict(c *change, phase string) string {
	switch {
	case l.landed(c) && c.kind == bad:
		return c.branch + " is bad, and landed"
	case !l.landed(c) && phase == "landed":
		return c.branch + " is said to have landed, and main does not have it"
	case !l.landed(c) && phase == "rejected" && c.kind == sound && !c.moves:
		return c.branch + " is sound, and was rejected"
	}
	return ""
}
