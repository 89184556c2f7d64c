package app

import (
	"context"
	"fmt"
	"strings"

	"github.com/submitqueue/submitqueue/app/texts"
	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// rollup makes the link of a merge of several changes at once.
func (p *performer) rollup(ctx context.Context, r *resolving, picks []queue.Pick, parent queue.CommitID) (queue.Link, error) {
	ids := make([]queue.ChangeID, len(picks))
	for i, k := range picks {
		ids[i] = k.Change
	}
	l := queue.Link{ID: queue.LinkOf(parent, ids...), Parent: parent, With: ids[:len(ids)-1], Change: ids[len(ids)-1], Before: r.now.by}
	m, err := p.mergeTogether(ctx, picks, parent)
	switch {
	case err != nil:
		return l, err
	case m.Empty || !m.Clean():
		l.Outcome, l.Conflicts, l.Refused = queue.MergeFailed, m.Conflicts, m.Refused
		return l, nil
	}
	if l, err = p.merged(ctx, r, l, m); err == nil {
		l.Taken, err = p.taken(ctx, r.globs, &l, picks...)
	}
	return l, err
}

func (p *performer) mergeTogether(ctx context.Context, picks []queue.Pick, parent queue.CommitID) (mirror.Merged, error) {
	var all []mirror.Pick
	for _, k := range picks {
		all = append(all, mergeOf(k, ""))
	}
	return p.Mirror.Merges.MergeTogether(ctx, parent, all, rollupMessage(picks))
}

// rollupMessage is the message of a merge of several changes: a line for each,
// and for each the trailers of mergeMessage.
func rollupMessage(picks []queue.Pick) string {
	var names []string
	var titles, trailers strings.Builder
	for _, k := range picks {
		names = append(names, fmt.Sprintf("#%d", k.Number))
		fmt.Fprintf(&titles, "#%d: %s\n", k.Number, texts.ClipLine(k.Title, 200))
		fmt.Fprintf(&trailers, "Change: %s\nHead: %s\n", k.Change, k.Head)
	}
	last := len(names) - 1
	return fmt.Sprintf("Merge %s and %s\n\n%s\n%s", strings.Join(names[:last], ", "), names[last], config.Unskipped(titles.String()), trailers.String())
}
