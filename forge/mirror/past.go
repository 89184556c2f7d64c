package mirror

import (
	"context"
	"strings"

	"github.com/submitqueue/submitqueue/queue"
)

// PastCommit is a commit of a branch's first-parent line with its author.
type PastCommit struct {
	LineCommit
	Author string // the name that the commit has: hostile text
}

// Past returns up to most commits of the first-parent line that ends at a commit,
// newest first. whole says that the last of them is the first that there is.
func (m *History) Past(ctx context.Context, tip queue.CommitID, most int) (line []PastCommit, whole bool, err error) {
	for at := tip; at != "" && len(line) < most; {
		found, err := m.line(ctx, []queue.CommitID{at})
		if err != nil {
			return nil, false, err
		}
		objects, err := m.objects.read(ctx, string(at))
		if err != nil {
			return nil, false, err
		}
		line = append(line, PastCommit{LineCommit: found[0], Author: authorName(string(objects[0].data))})
		at = found[0].Parent
		whole = at == ""
	}
	return line, whole, nil
}

// authorName reads the author's name of a commit object.
func authorName(commit string) string {
	head, _, _ := strings.Cut(commit, "\n\n")
	for line := range strings.SplitSeq(head, "\n") {
		if who, ok := strings.CutPrefix(line, "author "); ok {
			name, _, _ := strings.Cut(who, " <")
			return name
		}
	}
	return ""
}
