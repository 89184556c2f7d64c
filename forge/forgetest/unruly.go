package forgetest

import (
	"context"
	"strings"
)

// unruly says which rule about commits a push breaks, in GitHub's words; "" if
// none. Such rules apply to all commits that a push brings to the branch: "About
// protected branches", sections "Require signed commits" and "Require linear
// history".
func (r *rules) unruly(ctx context.Context, p Protection, m refMove) string {
	if !p.LinearHistory && !p.RequireSigned {
		return ""
	}
	args := []string{"rev-list", m.new}
	if m.old != "" {
		args = append(args, "^"+m.old)
	}
	if p.LinearHistory {
		if out, err := r.repo.store.git(ctx, nil, append(args, "--merges", "--max-count=1")...); err != nil || len(out) > 0 {
			return "This branch must not contain merge commits."
		}
	}
	if p.RequireSigned {
		out, err := r.repo.store.git(ctx, nil, args...)
		if err != nil {
			return "Commits must have verified signatures."
		}
		for id := range strings.FieldsSeq(string(out)) {
			raw, err := r.repo.store.git(ctx, nil, "cat-file", "commit", id)
			if head, _, _ := strings.Cut(string(raw), "\n\n"); err != nil || !strings.Contains(head, "\ngpgsig ") {
				return "Commits must have verified signatures."
			}
		}
	}
	return ""
}
