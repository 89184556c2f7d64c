package mirror

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
)

// absent is an object that the mirror was asked for and does not have. It may
// never have come here, or be pruned; or the mirror is damaged.
type absent struct {
	kind string // commit, tree, blob
	id   string
	do   string // what the reader can do, or ""
}

func (e *absent) Error() string {
	return fmt.Sprintf("%v: %s %s is not in the mirror%s", forge.ErrNotFound, e.kind, e.id, e.do)
}

func (e *absent) Unwrap() error { return forge.ErrNotFound }

// errReplaced ends an operation if the mirror was replaced meanwhile.
var errReplaced = errors.New("forge: the mirror was made again meanwhile")

// probeTime bounds how long git looks for missing objects. A mirror that it has not
// walked by then counts as damaged: making it again takes about as long.
const probeTime = 2 * time.Minute

// damageWords are git's messages about objects, packs, refs and repositories that
// it cannot read.
var damageWords = []string{ // in lower case
	"not a git repository", "is corrupt", "inflate: ", "bad object", "bad tree object", "bad revision", "unable to read", "could not read ",
	"failed to read object", "missing blob", "missing tree", "unpack-object", "garbage at end of loose object", "unable to unpack",
	"unable to parse", "cannot unpack", "packfile ", "pack index", "index file ", "multi-pack-index", "commit-graph", "bad config",
	"unexpected line in", "unterminated line in", "invalid sha1 pointer", "not a valid object", "revision walk setup failed",
	"failed to traverse parents", "could not parse commit", "unable to find ", "hash mismatch", "reference broken", "cannot access",
	"cannot be accessed", "cannot lock ref", "unable to create temporary file", "unable to write", "object directory",
	"unresolved delta", "index-pack output", "did not send all necessary objects", "bad signature", "does not match any",
}

// noGraph makes git read the commits themselves, and not the commit graph, which is
// a copy.
var noGraph = []string{"GIT_CONFIG_PARAMETERS='core.commitGraph=false'"}

// Suspect reports whether an error may come from damage to the mirror: objects that
// are missing or unreadable, or a folder that is no repository any more. Examine
// tells whether the mirror is damaged.
func (m *Mirror) Suspect(err error) bool {
	if m == nil || err == nil || errors.Is(err, context.Canceled) {
		return false
	}
	var lacks *absent
	var failed *GitError
	died := errors.As(err, &failed) && !failed.abroad() && failed.ExitCode >= 128
	return died || errors.As(err, &lacks) || errors.Is(err, errReplaced) || m.says(err) || m.repo.ruined() != ""
}

// abroad reports whether the command has talked to a remote: then it repeats the
// remote's words.
func (e *GitError) abroad() bool {
	return slices.Contains([]string{"fetch", "push", "ls-remote"}, e.Command)
}

// says reports whether git has complained of damage, in any repository.
func (m *Mirror) says(err error) bool {
	var failed *GitError
	if !errors.As(err, &failed) {
		return false
	}
	said := strings.ToLower(failed.Stderr)
	return slices.ContainsFunc(damageWords, func(w string) bool { return strings.Contains(said, w) })
}

// Examine reports how the mirror is damaged; "": it is sound, as far as git can tell.
// err is the error that made the caller suspect damage. Unless err says enough, git
// reads all reachable objects, which takes up to two minutes. made are commits that the
// mirror may have made: those that it holds must be whole, too. If the mirror is sound,
// it forgets which objects it has, so that it notices when unreachable objects are
// gone, and makes them again.
func (m *Mirror) Examine(ctx context.Context, err error, made ...queue.CommitID) (damage string) {
	m.maintaining.Lock() // packs come and go there
	defer m.maintaining.Unlock()
	damage = m.examine(ctx, err, made)
	if damage == "" && ctx.Err() == nil {
		for _, h := range []*helper{m.Objects.reader, m.Refs.refs, m.Merges.merger.helper} {
			h.stop()
		}
		m.Refs.keeping.Lock()
		defer m.Refs.keeping.Unlock()
		m.forgetAll()
	}
	return damage
}

// forgetAll forgets all that is known of the mirror's content. The caller holds
// keeping.
func (m *Mirror) forgetAll() {
	for _, id := range m.Refs.kept.keys() {
		m.Refs.kept.put(id, named, 1)
	}
	m.Forget()
	m.repo.generation.Add(1)
}

func (m *Mirror) examine(ctx context.Context, err error, made []queue.CommitID) (why string) {
	if why := m.repo.unsound(ctx); why != "" {
		return why
	}
	var failed *GitError
	if m.says(err) && errors.As(err, &failed) {
		if strings.Contains(failed.Stderr, m.repo.dir+string(filepath.Separator)) || !failed.abroad() && !strings.Contains(failed.Stderr, "cannot lock ref") &&
			!strings.Contains(failed.Stderr, "unable to write") && !strings.Contains(failed.Stderr, "unable to create") {
			return failed.Error()
		}
	}
	if err := m.Objects.Flush(ctx); err != nil {
		return err.Error()
	}
	tips, err := m.repo.tips(ctx)
	if err != nil {
		return err.Error()
	}
	for _, id := range m.Refs.kept.keys() {
		if there, _ := m.Refs.kept.get(id); there == inMirror {
			tips = append(tips, string(id))
		}
	}
	found, err := m.Objects.has(ctx, made)
	if err != nil {
		return err.Error()
	}
	for i, id := range made {
		if found[i] {
			tips = append(tips, string(id))
		}
	}
	probe, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	_, _, err = m.repo.run(probe, invocation{stdin: []byte(strings.Join(tips, "\n") + "\n"),
		env: noGraph, args: []string{"rev-list", "--objects", "--quiet", "--stdin"}})
	switch {
	case ctx.Err() != nil || err == nil:
		return ""
	case probe.Err() != nil:
		return fmt.Sprintf("git did not read it within %s", probeTime)
	}
	return err.Error()
}

// ruined reports what the folder lacks to be a repository, as far as a glance
// tells, or "".
func (m *repository) ruined() string {
	head, err := os.ReadFile(filepath.Join(m.dir, "HEAD"))
	if err != nil {
		return "HEAD is missing"
	}
	if text := strings.TrimSpace(string(head)); !strings.HasPrefix(text, "ref: refs/") && !isID(text) {
		return "HEAD is damaged"
	}
	for _, name := range []string{"objects", "refs"} {
		if info, err := os.Stat(filepath.Join(m.dir, name)); err != nil || !info.IsDir() {
			return name + " is missing"
		}
	}
	return ""
}

// connected returns an error unless the mirror has all commits that the two commits
// of a pair reach.
func (m *repository) connected(ctx context.Context, at pair) error {
	_, _, err := m.run(ctx, invocation{env: noGraph, args: []string{"rev-list", "--quiet", string(at.ours), string(at.theirs)}})
	return err
}

// unsound takes a quick look at a mirror that nobody has open, and returns the
// damage that it finds: refs that git cannot read or that lead nowhere, and packs
// that do not match their indexes. It does not read the objects themselves: there
// may be millions.
func (m *repository) unsound(ctx context.Context) string {
	if why := m.ruined(); why != "" {
		return why
	}
	packs, _ := filepath.Glob(filepath.Join(m.dir, "objects", "pack", "*.idx"))
	for _, index := range packs {
		if !wholePack(strings.TrimSuffix(index, ".idx")) {
			return "the pack of " + filepath.Base(index) + " is missing or damaged"
		}
	}
	tips, err := m.tips(ctx)
	if err == nil && len(tips) > 0 {
		_, _, err = m.run(ctx, invocation{stdin: []byte(strings.Join(tips, "\n") + "\n"), args: []string{"rev-list", "--quiet", "--max-count=1", "--stdin"}})
	}
	if err != nil && ctx.Err() == nil {
		return err.Error()
	}
	return ""
}

// tips returns the commits that the refs name. git itself skips refs that lead
// nowhere; here they are an error.
func (m *repository) tips(ctx context.Context) ([]string, error) {
	out, said, err := m.run(ctx, invocation{args: []string{"for-each-ref", "--format=%(objectname)"}})
	if err == nil && strings.Contains(string(said), "ignoring broken ref") {
		err = &GitError{Command: "for-each-ref", Stderr: strings.TrimSpace(string(said))}
	}
	return strings.Fields(string(out)), err
}

// wholePack reports whether a pack ends with the checksum that is in its index.
func wholePack(path string) bool {
	const sum = 20
	tail := func(name string, from int64) []byte {
		f, err := os.Open(name)
		if err != nil {
			return nil
		}
		defer f.Close()
		end, err := f.Seek(-from, io.SeekEnd)
		if err != nil || end < 0 {
			return nil
		}
		out := make([]byte, sum)
		if _, err := io.ReadFull(f, out); err != nil {
			return nil
		}
		return out
	}
	pack := tail(path+".pack", sum)
	return pack != nil && bytes.Equal(pack, tail(path+".idx", 2*sum))
}

// clearAway removes all of git's files from the mirror. It keeps files that serve
// any repository: submodules, files of LFS, and the indexes of checkouts.
func (m *repository) clearAway() error {
	entries, err := os.ReadDir(m.dir)
	for _, e := range entries {
		if !slices.Contains(beside, e.Name()) && e.Name() != ownerFile {
			err = errors.Join(err, os.RemoveAll(filepath.Join(m.dir, e.Name())))
		}
	}
	return err
}

// beside are the folders of a mirror that are not git's.
var beside = []string{"submodules", "lfs", "checkouts"}

// SetMend has mend called when a checkout, or a push of our own branches, meets an
// error that Suspect suspects; nil: no function is called. generation is the mirror's
// generation before the failed attempt, and commits are the commits that it needed.
// mend returns true where another attempt is worthwhile.
func (m *Mirror) SetMend(mend func(ctx context.Context, generation int64, err error, commits []queue.CommitID) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mend = mend
}

// mendTries bounds how often one operation is tried, each time on a mended mirror.
const mendTries = 3

// mending repeats an operation as long as mend says that another attempt is
// worthwhile.
func (m *Mirror) mending(ctx context.Context, do func() error, commits ...queue.CommitID) error {
	for try := 1; ; try++ {
		generation := m.Generation()
		err := do()
		m.mu.Lock()
		mend := m.mend
		m.mu.Unlock()
		if mend == nil || try == mendTries || !m.Suspect(err) || !mend(ctx, generation, err, commits) {
			return err
		}
	}
}
