package mirror

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/submitqueue/submitqueue/queue"
)

// Merges make commits: merges, squashes, replays and reverts of heads on a parent.
type Merges struct {
	// Identity is the author and committer of the commits. Set it before the first
	// merge; mirrors that must make the same commits need the same Identity.
	Identity Identity
	// Signer signs the commits, where it is not nil. Set it like Identity.
	Signer Signer

	repo    *repository
	objects *Objects
	history *History
	merger  *merger
	merges  *lru[mergeKey, merged]
	signed  *lru[string, string] // commits with their signatures, by the id that they would have without
	merging sync.RWMutex         // read-locked while objects are added in memory only

	mu         sync.Mutex
	attributes string // the content of info/attributes
	ruled      int    // how often attributes has changed
}

// Pick is one merge to make: Head into Parent.
type Pick struct {
	Parent  queue.CommitID
	Head    queue.CommitID
	Message string        // of the merge commit; not empty
	Date    queue.Instant // of the merge commit, unless the parent's is later

	// Squash makes a commit with the merge's tree and with Parent as its only parent.
	Squash bool
	// Rebase makes the commits that Head brings anew on Parent, one after the other;
	// Message is appended to the message of the last one. FastForward takes them as
	// they are, and needs Parent on their first-parent line.
	Rebase, FastForward bool
	// Joined has a rebase end in one commit more, which merges the others into Parent and
	// has all of Message: the history that GitLab calls semi-linear.
	Joined bool
	// Author is "Name <address>", of a commit that is not a merge; "": the Identity.
	Author string
	// Below is a commit with its content on Parent in other commits, so that Head brings
	// only the changes that it adds to Below. "": there is none.
	Below queue.CommitID
	// Revert is a commit of Parent's line to be reverted, whatever Head is.
	Revert queue.CommitID
}

// Merged is the result of a Pick.
type Merged struct {
	// Commit is the merge commit. It is the parent itself when Empty, and ""
	// when there is none because of Conflicts or Refused.
	Commit queue.CommitID
	Tree   queue.TreeID // of Commit
	// Between are the commits between the parent and Commit, in order, if the pick
	// makes several.
	Between []queue.CommitID
	// Conflicts are the paths that do not merge; "." when git says that there
	// is a conflict but not where.
	Conflicts []string
	// Refused says why git does not even try, e.g. unrelated histories.
	Refused string
	// Empty: the merge changes nothing. Either Head is Contained, or its changes are on
	// the parent already in other commits.
	Empty bool
	// Contained: Head is an ancestor of the parent, so that no merge can ever
	// bring its content back when the parent has reverted it.
	Contained bool
}

// Clean reports whether there is a commit.
func (m Merged) Clean() bool { return m.Commit != "" }

// MergeWave makes independent merges, all at once, and returns one result for
// each. The same picks have the same commit ids in every mirror with the same
// Identity and merge attributes. ErrNotFound: a commit is not in the mirror.
func (m *Merges) MergeWave(ctx context.Context, picks []Pick) ([]Merged, error) {
	m.merging.RLock()
	defer m.merging.RUnlock()
	ids := make([]queue.CommitID, 0, 2*len(picks))
	for _, p := range picks {
		ids = append(ids, p.Parent, p.Head)
	}
	infos, err := m.objects.infos(ctx, ids)
	if err != nil {
		return nil, err
	}
	lines, err := m.lines(ctx, picks)
	if err != nil {
		return nil, err
	}
	known, pairs, hard, err := m.contents(ctx, infos, picks, func(i int) bool { _, made := lines[i]; return made })
	if err != nil {
		return nil, err
	}
	rules := m.rules()
	made := make([]Merged, len(picks))
	for i, p := range picks {
		if one, ok := lines[i]; ok {
			made[i] = one
			continue
		}
		at := pairs[i]
		result := known[at]
		if made[i], err = m.finish(ctx, p, infos[p.Parent], &result); err != nil {
			return nil, err
		}
		known[at] = result
		m.merges.put(mergeKey{at, rules}, result, result.size())
	}
	if hard || m.objects.fresh.full() {
		err = m.objects.Flush(ctx) // the attributes that git used may change
	}
	return made, err
}

// contents merges the heads of picks into their parents, except the picks to skip,
// and returns the pair of commits of each merge. hard: git was asked.
func (m *Merges) contents(ctx context.Context, infos map[queue.CommitID]commitInfo, picks []Pick, skip func(int) bool) (known map[pair]merged, pairs []pair, hard bool, err error) {
	rules := m.rules()
	known = make(map[pair]merged, len(picks))
	var unknown []pair
	pairs = make([]pair, len(picks))
	for i, p := range picks {
		if skip(i) {
			continue
		}
		at := pair{p.Parent, p.Head}
		if p.Below != "" {
			if at.ours, err = m.shadow(ctx, infos, p); err != nil {
				return nil, nil, false, err
			}
		}
		pairs[i] = at
		if _, ok := known[at]; ok {
			continue
		}
		result, ok := m.merges.get(mergeKey{at, rules})
		if !ok {
			unknown = append(unknown, at)
		}
		known[at] = result
	}
	var difficult []pair // for git
	for _, at := range unknown {
		result, ok, err := m.mergeHere(ctx, at, infos[at.ours], infos[at.theirs])
		if err != nil {
			return nil, nil, false, err
		}
		if !ok {
			difficult = append(difficult, at)
		}
		known[at] = result
	}
	if len(difficult) > 0 {
		if err := m.objects.Flush(ctx); err != nil {
			return nil, nil, false, err
		}
		results, err := m.merger.merge(ctx, difficult)
		if err != nil {
			return nil, nil, false, err
		}
		for i, at := range difficult {
			known[at] = results[i]
		}
	}
	return known, pairs, len(difficult) > 0, nil
}

// MergeChain merges the heads one after the other, each into the result of the one
// before, the first into base; the Parent of the picks is not read. It stops at the
// first head that does not merge; the result of that head is then the last one. An
// empty merge makes no commit, and the chain goes on from its parent.
func (m *Merges) MergeChain(ctx context.Context, base queue.CommitID, picks []Pick) ([]Merged, error) {
	ids := []queue.CommitID{base}
	for _, p := range picks {
		ids = append(ids, p.Head)
	}
	if _, err := m.objects.infos(ctx, ids); err != nil {
		return nil, err
	}
	made := make([]Merged, 0, len(picks))
	for _, p := range picks {
		p.Parent = base
		one, err := m.MergeWave(ctx, []Pick{p})
		if err != nil {
			return made, err
		}
		made = append(made, one[0])
		if !one[0].Clean() {
			break
		}
		base = one[0].Commit
	}
	return made, nil
}

// mergeHere merges a pair if this needs no look into files; ok is false otherwise.
func (m *Merges) mergeHere(ctx context.Context, at pair, ours, theirs commitInfo) (merged, bool, error) {
	id, ok, err := m.history.mergeBase(ctx, at.ours, at.theirs)
	if err != nil || !ok {
		return merged{}, false, err
	}
	switch id {
	case at.theirs:
		return merged{tree: ours.tree, contained: true}, true, nil
	case at.ours:
		return merged{tree: theirs.tree}, true, nil
	}
	base, err := m.objects.info(ctx, id)
	if err != nil {
		return merged{}, false, err
	}
	tree, ok, err := m.mergeTrees(ctx, string(base.tree), string(ours.tree), string(theirs.tree))
	return merged{tree: queue.TreeID(tree)}, ok, err
}

// finish makes the commit of a merged tree.
func (m *Merges) finish(ctx context.Context, p Pick, parent commitInfo, result *merged) (Merged, error) {
	if result.refused != "" || len(result.conflicts) > 0 {
		return Merged{Conflicts: result.conflicts, Refused: result.refused}, nil
	}
	if result.tree == parent.tree {
		if !result.contained {
			contained, err := m.history.IsAncestor(ctx, p.Head, p.Parent)
			if err != nil {
				return Merged{}, err
			}
			result.contained = contained
		}
		return Merged{Commit: p.Parent, Tree: parent.tree, Empty: true, Contained: result.contained}, nil
	}
	message, err := p.message()
	if err != nil {
		return Merged{}, err
	}
	info := commitInfo{
		author:  p.Author,
		tree:    result.tree,
		parents: p.parents(),
		date:    max(parent.date, int64(p.Date)/1000),
		message: message,
	}
	return m.made(ctx, info, parent.tree)
}

// message is the message of the commit, as git takes it.
func (p Pick) message() (string, error) {
	if strings.TrimSpace(p.Message) == "" || strings.ContainsRune(p.Message, 0) {
		return "", errors.New("merging: the message of a merge must be text")
	}
	return strings.ToValidUTF8(strings.TrimRight(p.Message, "\n"), "\uFFFD") + "\n", nil
}

// made adds a commit, and remembers that its tree differs little from its parent's.
func (m *Merges) made(ctx context.Context, info commitInfo, parent queue.TreeID) (Merged, error) {
	commit, err := m.commit(ctx, m.body(info), info.date)
	if err != nil {
		return Merged{}, err
	}
	m.objects.nearby.put(info.tree, parent, 1)
	return Merged{Commit: commit, Tree: info.tree}, nil
}

func (m *Merges) body(c commitInfo) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "tree %s\n", c.tree)
	for _, p := range c.parents {
		fmt.Fprintf(&b, "parent %s\n", p)
	}
	us := fmt.Sprintf("%s <%s>", plain(m.Identity.Name), plain(m.Identity.Email))
	fmt.Fprintf(&b, "author %s %d +0000\ncommitter %s %d +0000\n", cmp.Or(c.author, us), c.date, us, c.date)
	b.WriteString("\n" + c.message)
	return b.Bytes()
}

// plain removes the characters that git does not allow in a name.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == '<' || r == '>' {
			return -1
		}
		return r
	}, s)
}

// IsAncestor reports whether old is next or an ancestor of it.
func (m *History) IsAncestor(ctx context.Context, old, next queue.CommitID) (bool, error) {
	if !isID(string(old)) || !isID(string(next)) {
		return false, fmt.Errorf("%q or %q is not a commit id", old, next)
	}
	if base, ok, err := m.mergeBase(ctx, old, next); err == nil && ok {
		return base == old, nil
	}
	if err := m.objects.Flush(ctx); err != nil {
		return false, err
	}
	_, err := m.repo.git(ctx, "merge-base", "--is-ancestor", string(old), string(next))
	var failed *GitError
	if errors.As(err, &failed) && failed.ExitCode == 1 {
		return false, nil
	}
	return err == nil, err
}
