package mirror

import (
	"context"
	"strings"

	"github.com/submitqueue/submitqueue/queue"
)

// PastCommit is a commit of a branch's first-parent line with its author.
type PastCommit struct {
	LineCommit
	Author string // the author's name: hostile text
}

// Past returns up to most commits of the first-parent line that ends at a commit,
// newest first. whole says that the last of them has no parent.
func (m *History) Past(ctx context.Context, tip queue.CommitID, most int) (line []PastCommit, whole bool, err error) {
	for at := tip; at != "" && len(line) < most; {
		info, err := m.objects.info(ctx, at)
		if err != nil {
			return nil, false, err
		}
		name, _, _ := strings.Cut(info.author, " <")
		line = append(line, PastCommit{LineCommit: lineCommit(at, info), Author: name})
		at = line[len(line)-1].Parent
		whole = at == ""
	}
	return line, whole, nil
}
