package mirror

import (
	"context"
	"errors"
	"strings"

	"github.com/submitqueue/submitqueue/queue"
)

// MergeTogether merges the heads of several picks into one commit on base: its
// parents are base and the heads, in order, and its tree is the result of
// MergeChain. The picks' own messages are used only in the commits in between,
// which nobody will see. The date is the latest of the picks' and the base's.
//
// If one pick does not merge, or is empty, there is no commit: the result has the
// Conflicts or Refused of that pick, or is Empty without a commit.
func (m *Merges) MergeTogether(ctx context.Context, base queue.CommitID, picks []Pick, message string) (Merged, error) {
	if strings.TrimSpace(message) == "" || strings.ContainsRune(message, 0) {
		return Merged{}, errors.New("merging: the message of a merge must be text")
	}
	made, err := m.MergeChain(ctx, base, picks)
	if err != nil {
		return Merged{}, err
	}
	for _, one := range made {
		switch {
		case !one.Clean():
			return one, nil
		case one.Empty:
			return Merged{Empty: true, Contained: one.Contained}, nil
		}
	}
	parent, err := m.objects.info(ctx, base)
	if err != nil {
		return Merged{}, err
	}
	info := commitInfo{
		tree:    made[len(made)-1].Tree,
		parents: []queue.CommitID{base},
		date:    parent.date,
		message: strings.ToValidUTF8(strings.TrimRight(message, "\n"), "\uFFFD") + "\n",
	}
	for _, p := range picks {
		info.parents = append(info.parents, p.Head)
		info.date = max(info.date, int64(p.Date)/1000)
	}
	if info.tree == parent.tree {
		return Merged{Empty: true}, nil // one head reverts the changes of another
	}
	return m.made(ctx, info, parent.tree)
}
