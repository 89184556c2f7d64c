package mirror

import (
	"context"
	"strings"

	"github.com/submitqueue/submitqueue/queue"
)

// LineCommit is a commit on the first-parent line of a branch.
type LineCommit struct {
	Commit queue.CommitID
	Tree   queue.TreeID
	Parent queue.CommitID   // "" of a root
	Merged []queue.CommitID // its further parents
	// Change and Head are the trailers that the queue writes into its commits,
	// "" where there are none. Anybody can write them: trust them only for a change
	// that was being landed.
	Change  queue.ChangeID
	Head    queue.CommitID
	Also    []queue.Carried // further pairs of trailers, if the commit merges several changes
	Subject string          // first line of the message: hostile text
}

// FirstParents returns the commits on the first-parent line of to that from
// does not contain, oldest first. forced says that from is not an ancestor of to,
// or is unknown to the mirror: the branch was rewritten. If from is "" or unknown,
// only the commit to is returned.
func (m *History) FirstParents(ctx context.Context, from, to queue.CommitID) (line []LineCommit, forced bool, err error) {
	if from == "" {
		line, err = m.line(ctx, []queue.CommitID{to})
		return line, false, err
	}
	found, err := m.objects.has(ctx, []queue.CommitID{from, to})
	if err != nil {
		return nil, false, err
	}
	if !found[1] {
		return nil, false, &absent{"commit", string(to), "; fetch it first"}
	}
	if !found[0] {
		line, err = m.line(ctx, []queue.CommitID{to})
		return line, true, err
	}
	ids, ok, err := m.between(ctx, from, to)
	if err != nil {
		return nil, false, err
	}
	if !ok {
		if err := m.objects.Flush(ctx); err != nil {
			return nil, false, err
		}
		out, err := m.repo.git(ctx, "rev-list", "--first-parent", string(to), "^"+string(from))
		if err != nil {
			return nil, false, err
		}
		ids = commitIDs(out)
		ancestor, err := m.IsAncestor(ctx, from, to)
		if err != nil {
			return nil, false, err
		}
		forced = !ancestor
	}
	line, err = m.line(ctx, ids)
	return line, forced, err
}

// between walks first parents from to down to from, newest first. Not ok: from
// is not near, or not on the line.
func (m *History) between(ctx context.Context, from, to queue.CommitID) (ids []queue.CommitID, ok bool, err error) {
	at := to
	for range 500 {
		if at == from {
			return ids, true, nil
		}
		ids = append(ids, at)
		info, err := m.objects.info(ctx, at)
		if err != nil {
			return nil, false, err
		}
		if len(info.parents) == 0 {
			break
		}
		at = info.parents[0]
	}
	return nil, false, nil
}

// line reads commits given newest first and returns them oldest first.
func (m *History) line(ctx context.Context, ids []queue.CommitID) ([]LineCommit, error) {
	infos, err := m.objects.infos(ctx, ids)
	if err != nil {
		return nil, err
	}
	line := make([]LineCommit, len(ids))
	for i, id := range ids {
		line[len(ids)-1-i] = lineCommit(id, infos[id])
	}
	return line, nil
}

func lineCommit(id queue.CommitID, info commitInfo) LineCommit {
	c := LineCommit{Commit: id, Tree: info.tree}
	if len(info.parents) > 0 {
		c.Parent, c.Merged = info.parents[0], info.parents[1:]
	}
	c.Subject, _, _ = strings.Cut(info.message, "\n")
	if all := trailers(info.message); len(all) > 0 {
		c.Change, c.Head, c.Also = all[0].Change, all[0].Head, all[1:]
	}
	return c
}

// trailers reads the last paragraph of a message: for each change a Change: and
// a Head:, in this order. A forge that makes the squash may add one more paragraph, which
// names the co-authors.
func trailers(message string) (all []queue.Carried) {
	message = strings.TrimRight(message, "\n")
	before, last, ok := cutLast(message, "\n\n")
	if ok && allCoAuthors(last) {
		_, last, ok = cutLast(strings.TrimRight(before, "\n"), "\n\n")
	}
	if !ok {
		return nil
	}
	for line := range strings.SplitSeq(last, "\n") {
		key, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch {
		case key == "Change":
			all = append(all, queue.Carried{Change: queue.ChangeID(value)})
		case key == "Head" && isID(value) && len(all) > 0:
			all[len(all)-1].Head = queue.CommitID(value)
		}
	}
	return all
}

// allCoAuthors reports whether a paragraph contains only co-authors.
func allCoAuthors(paragraph string) bool {
	for line := range strings.SplitSeq(paragraph, "\n") {
		if !strings.HasPrefix(strings.ToLower(line), "co-authored-by:") {
			return false
		}
	}
	return true
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}
