package mirror

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/queue"
)

// ReplayMost bounds the commits of a pull request that lands commit by commit:
// each of them is judged.
const ReplayMost = 50

// lines returns the results of the picks that land commit by commit, or revert a
// commit, by their index.
func (m *Merges) lines(ctx context.Context, picks []Pick) (map[int]Merged, error) {
	out := map[int]Merged{}
	for i, p := range picks {
		land := m.replay
		switch {
		case p.Revert != "":
			land = m.revert
		case p.FastForward:
			land = m.fastForward
		case !p.Rebase:
			continue
		}
		one, err := land(ctx, p)
		if err != nil {
			return nil, err
		}
		out[i] = one
	}
	return out, nil
}

// replay makes the commits of a head anew on Parent, each as the difference to the
// one before it: author, date and message stay. Merges among them are left out, as
// are commits with content there already. The last one carries the trailers of
// Message; the others have no trailers of the queue, whatever their authors wrote.
//
// The result has the same content as the merge of the head, or the head is refused:
// a merge commit may add content that no other commit has. See unlike for an
// exception.
func (m *Merges) replay(ctx context.Context, p Pick) (Merged, error) {
	var not []queue.CommitID
	if p.Below != "" {
		not = append(not, p.Below)
	}
	own, err := m.history.Own(ctx, p.Parent, p.Head, not...)
	all := len(own)
	own = slices.DeleteFunc(own, func(c OwnCommit) bool { return len(c.Parents) != 1 })
	linear := len(own) == all
	switch {
	case errors.Is(err, ErrTooMany), err == nil && len(own) > ReplayMost:
		each := "verified"
		if p.Joined {
			each = "made anew"
		}
		return Merged{Refused: fmt.Sprintf("it has more than %d commits of its own, and each would have to be %s; land it by squash or merge", ReplayMost, each)}, nil
	case err != nil:
		return Merged{}, err
	}
	parent, err := m.objects.info(ctx, p.Parent)
	if err != nil {
		return Merged{}, err
	}
	type step struct {
		tree queue.TreeID
		of   OwnCommit
	}
	at := parent.tree
	var steps []step
	for _, c := range own {
		before, err := m.objects.info(ctx, c.Parents[0])
		if err != nil {
			return Merged{}, err
		}
		result, err := m.mergeContents(ctx, before.tree, at, c.Tree)
		switch {
		case err != nil:
			return Merged{}, err
		case result.refused != "" || len(result.conflicts) > 0:
			return m.unlike(ctx, p, linear, Merged{Conflicts: result.conflicts, Refused: result.refused})
		case result.tree != at:
			at = result.tree
			steps = append(steps, step{at, c})
		}
	}
	if loss, err := m.unlike(ctx, p, linear, Merged{Tree: at}); err != nil || loss.Tree == "" {
		return loss, err
	}
	if len(steps) == 0 || at == parent.tree {
		contained, err := m.history.IsAncestor(ctx, p.Head, p.Parent)
		return Merged{Commit: p.Parent, Tree: parent.tree, Empty: true, Contained: contained}, err
	}
	out := Merged{}
	on := p.Parent
	date := max(parent.date, int64(p.Date)/1000)
	for i, s := range steps {
		trailer := ""
		if i == len(steps)-1 && !p.Joined {
			trailer = p.Message
		}
		info := commitInfo{tree: s.tree, parents: []queue.CommitID{on}, date: date, message: replayed(s.of.Message, trailer)}
		id, err := m.commit(ctx, m.bodyBy(info, s.of.author), date)
		if err != nil {
			return Merged{}, err
		}
		if i < len(steps)-1 && !p.Joined {
			out.Between = append(out.Between, id)
		}
		out.Commit, out.Tree, on = id, s.tree, id
	}
	if p.Joined {
		return m.join(ctx, p, parent, out)
	}
	m.objects.nearby.put(out.Tree, parent.tree, 1)
	return out, nil
}

// join merges commits that were made anew on Parent; last is the last of them.
func (m *Merges) join(ctx context.Context, p Pick, parent commitInfo, last Merged) (Merged, error) {
	message, err := p.message()
	if err != nil {
		return Merged{}, err
	}
	return m.made(ctx, commitInfo{tree: last.Tree, parents: []queue.CommitID{p.Parent, last.Commit},
		date: max(parent.date, int64(p.Date)/1000), message: message}, parent.tree)
}

// unlike compares the result of a replay, a tree or the reason why there is none,
// with the merge of the whole head onto Parent. It returns the result of the replay,
// or why it must not be used.
//
// Where that merge has conflicts, the replay of a head without merge commits is
// used: if Parent already has the content of a commit in another commit, the replay
// sees it and the merge does not.
func (m *Merges) unlike(ctx context.Context, p Pick, linear bool, replayed Merged) (Merged, error) {
	whole, err := m.whole(ctx, p)
	if err != nil {
		return Merged{}, err
	}
	clean := whole.refused == "" && len(whole.conflicts) == 0
	switch {
	case clean && whole.tree == replayed.Tree, linear && (!clean || replayed.Tree == ""):
		return replayed, nil
	case !clean:
		return Merged{Conflicts: whole.conflicts, Refused: whole.refused}, nil
	case replayed.Tree == "":
		return Merged{Refused: unsafe("its commits do not apply one by one, because a merge commit of the branch settles their conflicts", replayed.Conflicts)}, nil
	}
	paths, _, err := m.objects.Touched(ctx, replayed.Tree, whole.tree)
	if err != nil {
		return Merged{}, err
	}
	if linear {
		return Merged{Refused: unsafe("its commits, applied one by one, would take back what is on the target branch", paths)}, nil
	}
	return Merged{Refused: unsafe("the branch holds a merge commit with changes of its own", paths)}, nil
}

// unsafe says why commits cannot be made anew one by one, and what to do.
func unsafe(why string, paths []string) string {
	const most = 5
	named := strings.Join(paths[:min(len(paths), most)], ", ")
	if more := len(paths) - most; more > 0 {
		named += fmt.Sprintf(" and %d more", more)
	}
	if named != "" {
		why += " (" + named + ")"
	}
	return why + ": land it by squash or merge, or rebase the branch"
}

// whole merges all that a head brings onto Parent, or what it adds to Below.
func (m *Merges) whole(ctx context.Context, p Pick) (merged, error) {
	infos, err := m.objects.infos(ctx, []queue.CommitID{p.Parent, p.Head})
	if err != nil {
		return merged{}, err
	}
	known, pairs, _, err := m.contents(ctx, infos, []Pick{p}, func(int) bool { return false })
	if err != nil {
		return merged{}, err
	}
	m.merges.put(mergeKey{pairs[0], m.rules()}, known[pairs[0]], known[pairs[0]].size())
	return known[pairs[0]], nil
}

// replayed returns the message of a commit made anew. Trailers that only the queue
// may write are removed from the original message.
func replayed(message, trailers string) string {
	var kept []string
	for line := range strings.SplitSeq(strings.TrimRight(strings.ReplaceAll(message, "\x00", ""), "\n"), "\n") {
		if key, _, ok := strings.Cut(line, ":"); ok && (key == "Change" || key == "Head") {
			continue
		}
		kept = append(kept, line)
	}
	text := strings.Trim(strings.Join(kept, "\n"), "\n")
	if strings.TrimSpace(text) == "" {
		text = "(no message)"
	}
	if trailers == "" {
		return text + "\n"
	}
	if _, last, ok := cutLast(text, "\n\n"); ok && allTrailers(last) {
		return text + "\n" + strings.TrimRight(trailers, "\n") + "\n"
	}
	return text + "\n\n" + strings.TrimRight(trailers, "\n") + "\n"
}

// allTrailers reports whether a paragraph is made of trailers such as
// Signed-off-by, so that another one belongs to it.
func allTrailers(paragraph string) bool {
	for line := range strings.SplitSeq(paragraph, "\n") {
		key, _, ok := strings.Cut(line, ": ")
		if !ok || key == "" || strings.ContainsAny(key, " \t") {
			return false
		}
	}
	return true
}

// mergeContents merges trees.
func (m *Merges) mergeContents(ctx context.Context, base, ours, theirs queue.TreeID) (merged, error) {
	switch {
	case base == theirs || ours == theirs:
		return merged{tree: ours}, nil
	case base == ours:
		return merged{tree: theirs}, nil
	}
	if tree, ok, err := m.mergeTrees(ctx, string(base), string(ours), string(theirs)); err != nil || ok {
		return merged{tree: queue.TreeID(tree)}, err
	}
	// git merges commits, not trees: these two have only the common past that git must
	// see.
	commit := func(tree queue.TreeID, parents ...queue.CommitID) queue.CommitID {
		return m.add(m.body(commitInfo{tree: tree, parents: parents, message: "replay\n"}))
	}
	root := commit(base)
	at := pair{commit(ours, root), commit(theirs, root)}
	if err := m.objects.Flush(ctx); err != nil {
		return merged{}, err
	}
	results, err := m.merger.merge(ctx, []pair{at})
	if err != nil {
		return merged{}, err
	}
	return results[0], nil
}

// fastForward takes a head as it is, where Parent is on its first-parent line.
func (m *Merges) fastForward(ctx context.Context, p Pick) (Merged, error) {
	head, err := m.objects.info(ctx, p.Head)
	if err != nil {
		return Merged{}, err
	}
	if contained, err := m.history.IsAncestor(ctx, p.Head, p.Parent); err != nil || contained {
		parent, err2 := m.objects.info(ctx, p.Parent)
		return Merged{Commit: p.Parent, Tree: parent.tree, Empty: true, Contained: true}, errors.Join(err, err2)
	}
	out := Merged{Commit: p.Head, Tree: head.tree}
	for at := head; ; {
		if len(at.parents) == 0 || len(out.Between) > ReplayMost {
			return Merged{Refused: "its line of commits does not stand on the branch as it is, or is too long: rebase it"}, nil
		}
		if at.parents[0] == p.Parent {
			slices.Reverse(out.Between)
			return out, nil
		}
		out.Between = append(out.Between, at.parents[0])
		if at, err = m.objects.info(ctx, at.parents[0]); err != nil {
			return Merged{}, err
		}
	}
}

// bodyBy is body with a given author line.
func (m *Merges) bodyBy(c commitInfo, author string) []byte {
	body := m.body(c)
	if author == "" {
		return body
	}
	from := bytes.Index(body, []byte("\nauthor ")) + len("\nauthor ")
	to := from + bytes.IndexByte(body[from:], '\n')
	return slices.Concat(body[:from], []byte(strings.Map(func(r rune) rune {
		if r < ' ' {
			return -1
		}
		return r
	}, author)), body[to:])
}
