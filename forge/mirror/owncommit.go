package mirror

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/queue"
)

// OwnMost bounds the commits of a pull request that are read; GitHub shows no more
// either.
const OwnMost = 250

// OwnCommit is a commit that a head brings. Its texts are hostile.
type OwnCommit struct {
	Commit  queue.CommitID
	Tree    queue.TreeID
	Parents []queue.CommitID
	Name    string // author's
	Address string
	Message string

	author string // the whole line, with date and zone
}

// Subject is the first line of the commit's message.
func (c OwnCommit) Subject() string {
	first, _, _ := strings.Cut(c.Message, "\n")
	return first
}

// Trailers returns the values of the trailers of a name in the last paragraph of
// the message.
func (c OwnCommit) Trailers(name string) []string {
	_, last, ok := cutLast(strings.TrimRight(c.Message, "\n"), "\n\n")
	if !ok {
		return nil
	}
	var out []string
	for line := range strings.SplitSeq(last, "\n") {
		key, value, found := strings.Cut(line, ":")
		if found && strings.EqualFold(strings.TrimSpace(key), name) && strings.TrimSpace(value) != "" {
			out = append(out, strings.TrimSpace(value))
		}
	}
	return out
}

// ErrTooMany is the error of Own if there are more commits than it reads.
var ErrTooMany = errors.New("forge: too many commits")

// Own returns the commits that a head contains and a base does not, the oldest
// first, each after its parents. Commits that one of not contains are left out,
// too. If there are more than OwnMost, it returns the latest of them, and
// ErrTooMany.
func (m *History) Own(ctx context.Context, base, head queue.CommitID, not ...queue.CommitID) ([]OwnCommit, error) {
	args := []string{"rev-list", "--topo-order", "--reverse", fmt.Sprintf("--max-count=%d", OwnMost+1), string(head), "^" + string(base)}
	for _, id := range append([]queue.CommitID{base, head}, not...) {
		if !isID(string(id)) {
			return nil, fmt.Errorf("%q is not a commit id", id)
		}
	}
	for _, id := range not {
		args = append(args, "^"+string(id))
	}
	if err := m.objects.Flush(ctx); err != nil {
		return nil, err
	}
	out, err := m.repo.git(ctx, args...)
	if err != nil {
		return nil, fmt.Errorf("listing the commits of %s: %w", head, err)
	}
	ids := commitIDs(out)
	many := error(nil)
	if len(ids) > OwnMost {
		ids, many = ids[len(ids)-OwnMost:], fmt.Errorf("%w: %s brings more than %d", ErrTooMany, head, OwnMost)
	}
	infos, err := m.objects.infos(ctx, ids)
	if err != nil {
		return nil, err
	}
	list := make([]OwnCommit, len(ids))
	for i, id := range ids {
		info := infos[id]
		c := OwnCommit{Commit: id, Tree: info.tree, Parents: info.parents,
			Message: strings.ToValidUTF8(info.message, "\uFFFD"), author: strings.ToValidUTF8(info.author, "\uFFFD")}
		name, after, _ := strings.Cut(c.author, "<")
		address, _, _ := strings.Cut(after, ">")
		c.Name, c.Address = strings.TrimSpace(plain(name)), strings.TrimSpace(plain(address))
		list[i] = c
	}
	return list, many
}

// commitIDs reads the output of rev-list, in its order.
func commitIDs(out []byte) []queue.CommitID {
	var ids []queue.CommitID
	for id := range strings.FieldsSeq(string(out)) {
		ids = append(ids, queue.CommitID(id))
	}
	return ids
}

// Held returns those commits of ids that the mirror has.
func (m *Objects) Held(ctx context.Context, ids []queue.CommitID) ([]queue.CommitID, error) {
	found, err := m.has(ctx, ids)
	if err != nil {
		return nil, err
	}
	var out []queue.CommitID
	for i, id := range ids {
		if found[i] {
			out = append(out, id)
		}
	}
	return out, nil
}

// LandedHeads returns the commits of a branch's first-parent line that are not merges
// and name one of the heads in their trailers, the newest first. own are the commits
// of the heads, as Own returns them. The commit that landed one of them is later on
// the line than all commits that they stand on, however old. Anybody can write
// trailers.
func (m *History) LandedHeads(ctx context.Context, tip queue.CommitID, own []OwnCommit) ([]LineCommit, error) {
	if len(own) == 0 || !isID(string(tip)) {
		return nil, nil
	}
	wanted := map[queue.CommitID]bool{}
	for _, c := range own {
		wanted[c.Commit] = true
	}
	args := []string{"rev-list", "--first-parent", "--no-merges", "--fixed-strings"}
	forks := []string{}
	for _, c := range own {
		args = append(args, "--grep=Head: "+string(c.Commit))
		for _, p := range c.Parents {
			if !wanted[p] && !slices.Contains(forks, string(p)) {
				forks = append(forks, string(p))
			}
		}
	}
	if err := m.objects.Flush(ctx); err != nil {
		return nil, err
	}
	args = append(args, string(tip))
	if len(forks) > 1 { // their common ancestors
		out, err := m.repo.git(ctx, append([]string{"merge-base", "--octopus"}, forks...)...)
		var failed *GitError
		if err != nil && !(errors.As(err, &failed) && failed.ExitCode == 1) {
			return nil, fmt.Errorf("finding where %s begins: %w", own[len(own)-1].Commit, err)
		}
		forks = strings.Fields(string(out))
	}
	for _, f := range forks {
		args = append(args, "^"+f)
	}
	out, err := m.repo.git(ctx, args...)
	if err != nil {
		return nil, fmt.Errorf("looking for landings on %s: %w", tip, err)
	}
	line, err := m.line(ctx, commitIDs(out))
	slices.Reverse(line)
	return slices.DeleteFunc(line, func(l LineCommit) bool { return !wanted[l.Head] || len(l.Merged) > 0 || l.Parent == "" }), err
}
