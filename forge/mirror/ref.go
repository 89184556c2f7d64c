package mirror

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

// The mirror's own refs.
const (
	keepRefs   = "refs/submitqueue/keep/"
	remoteRefs = "refs/submitqueue/remote/"
)

// keptness says what is known of a kept commit.
type keptness int

const (
	named    keptness = iota + 1 // a caller asked to keep it
	inMirror                     // it was found in the mirror, with all that it reaches
)

// Refs are the repository's own refs, which say which commits are kept.
type Refs struct {
	repo    *repository
	objects *Objects
	refs    *helper // update-ref

	kept    *lru[queue.CommitID, keptness]
	keeping sync.Mutex              // held while refs that keep commits move
	named   map[queue.CommitID]bool // which of kept have such a ref
}

func newRefs(repo *repository, objects *Objects) *Refs {
	return &Refs{repo: repo, objects: objects, refs: repo.helper("update-ref", "-z", "--stdin"), kept: newLRU[queue.CommitID, keptness](50_000)}
}

// Keep protects commits, and all they reach, from Maintain until Release, or until
// the mirror is closed. It costs nothing until Maintain packs the mirror.
func (m *Refs) Keep(_ context.Context, commits []queue.CommitID) error {
	for _, id := range commits {
		if !isID(string(id)) {
			return fmt.Errorf("%q is not a commit id", id)
		}
		if _, ok := m.kept.get(id); !ok {
			m.kept.put(id, named, 1)
		}
	}
	return nil
}

// Release ends what Keep began. Commits that are not kept are left alone.
func (m *Refs) Release(ctx context.Context, commits []queue.CommitID) error {
	m.keeping.Lock()
	defer m.keeping.Unlock()
	var named []queue.CommitID
	for _, id := range commits {
		m.kept.remove(id)
		if m.named[id] {
			named = append(named, id)
			delete(m.named, id)
		}
	}
	return m.updateRefs(ctx, named, func(b *bytes.Buffer, id string) {
		b.WriteString("delete " + keepRefs + id + "\x00\x00")
	})
}

// name makes refs for the kept commits, as far as the mirror has them, and removes
// the refs of all others: git keeps commits in no other way.
func (m *Refs) name(ctx context.Context) error {
	m.keeping.Lock()
	defer m.keeping.Unlock()
	kept := m.kept.keys()
	found, err := m.objects.has(ctx, kept)
	if err != nil {
		return err
	}
	out, err := m.repo.git(ctx, "for-each-ref", "--format=%(refname)", keepRefs)
	if err != nil {
		return err
	}
	gone := map[queue.CommitID]bool{}
	for ref := range strings.FieldsSeq(string(out)) {
		gone[queue.CommitID(strings.TrimPrefix(ref, keepRefs))] = true
	}
	named := map[queue.CommitID]bool{}
	var fresh, old []queue.CommitID
	for i, id := range kept {
		if !found[i] {
			continue
		}
		named[id] = true
		if !gone[id] {
			fresh = append(fresh, id)
		}
		delete(gone, id)
	}
	for id := range gone {
		old = append(old, id)
	}
	err = m.updateRefs(ctx, fresh, func(b *bytes.Buffer, id string) {
		b.WriteString("create " + keepRefs + id + "\x00" + id + "\x00")
	})
	if err == nil {
		err = m.updateRefs(ctx, old, func(b *bytes.Buffer, id string) {
			b.WriteString("delete " + keepRefs + id + "\x00\x00")
		})
	}
	if err == nil {
		m.named = named
	}
	return err
}

func (m *Refs) updateRefs(ctx context.Context, commits []queue.CommitID, write func(*bytes.Buffer, string)) error {
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
	return m.transact(ctx, transactWithin, b.Bytes())
}

// transactWithin bounds the time in which git moves refs, as many as there may be; only a git that
// hangs takes as long.
const transactWithin = 5 * time.Minute

// transact carries out `update-ref -z --stdin` commands, all or none, within a time. A caller that
// gives up does not end it halfway: git, killed, would leave the locks of the refs, nobody could
// move the refs any more, and the mirror would count as damaged.
func (m *Refs) transact(ctx context.Context, within time.Duration, commands []byte) error {
	if len(commands) == 0 {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), within)
	defer cancel()
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

// checkRef refuses a text that git does not take for the full name of a ref, or
// that would mean something else to it (patterns, options, revisions).
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
