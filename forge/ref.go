package forge

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/queue"
)

// The mirror's own refs.
const (
	keepRefs   = "refs/submitqueue/keep/"
	remoteRefs = "refs/submitqueue/remote/"
)

// Keep protects commits, and all they reach, from Maintain until Release. It
// may be called again for what is kept already, at no cost.
func (m *Mirror) Keep(ctx context.Context, commits []queue.CommitID) error {
	m.keeping.Lock()
	defer m.keeping.Unlock()
	fresh := slices.DeleteFunc(slices.Clone(commits), func(id queue.CommitID) bool {
		_, ok := m.kept.get(id)
		return ok
	})
	err := m.updateRefs(ctx, fresh, func(b *bytes.Buffer, id string) {
		b.WriteString("update " + keepRefs + id + "\x00" + id + "\x00\x00")
	})
	if err == nil {
		for _, id := range fresh {
			m.kept.put(id, struct{}{}, 1)
		}
	}
	return err
}

// Release ends what Keep began. Commits that are not kept are left alone.
func (m *Mirror) Release(ctx context.Context, commits []queue.CommitID) error {
	m.keeping.Lock()
	defer m.keeping.Unlock()
	for _, id := range commits {
		m.kept.remove(id)
	}
	return m.updateRefs(ctx, commits, func(b *bytes.Buffer, id string) {
		b.WriteString("delete " + keepRefs + id + "\x00\x00")
	})
}

func (m *Mirror) updateRefs(ctx context.Context, commits []queue.CommitID, write func(*bytes.Buffer, string)) error {
	var b bytes.Buffer
	seen := make(map[queue.CommitID]bool, len(commits))
	for _, id := range commits {
		if !isID(string(id)) {
			return fmt.Errorf("%q is not a commit id", id)
		}
		if !seen[id] {
			seen[id] = true
			write(&b, string(id))
		}
	}
	return m.transact(ctx, b.Bytes())
}

// transact carries out `update-ref -z --stdin` commands, all or none.
func (m *Mirror) transact(ctx context.Context, commands []byte) error {
	if len(commands) == 0 {
		return nil
	}
	request := append([]byte("start\x00"), commands...)
	request = append(request, "commit\x00"...)
	err := m.refs.call(ctx, func(p *process) error {
		sent := p.send(request)
		for _, want := range []string{"start: ok", "commit: ok"} {
			if line, err := p.field('\n'); err != nil {
				return err
			} else if line != want {
				return fmt.Errorf("unexpected answer %q", line)
			}
		}
		return <-sent
	})
	if err != nil {
		return fmt.Errorf("updating the mirror's refs: %w", err)
	}
	return nil
}

// checkRef refuses what git does not take for the full name of a ref, and what
// would mean something else to it (patterns, options, revisions).
func checkRef(ref string) error {
	bad := !strings.HasPrefix(ref, "refs/") || strings.HasSuffix(ref, ".") ||
		strings.Contains(ref, "..") || strings.Contains(ref, "@{") ||
		strings.ContainsAny(ref, " ~^:?*[\\\x7f")
	for part := range strings.SplitSeq(ref, "/") {
		bad = bad || part == "" || part[0] == '.' || strings.HasSuffix(part, ".lock")
	}
	for i := 0; i < len(ref); i++ {
		bad = bad || ref[i] < ' '
	}
	if bad {
		return fmt.Errorf("%q is not the name of a ref", ref)
	}
	return nil
}

func branchRef(branch string) (string, error) {
	ref := "refs/heads/" + branch
	if err := checkRef(ref); err != nil || branch == "" {
		return "", fmt.Errorf("%q is not the name of a branch", branch)
	}
	return ref, nil
}
