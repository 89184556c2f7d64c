package mirror

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
)

// ErrChanged: the document to replace has changed since it was read.
var ErrChanged = errors.New("forge: changed by somebody else")

// Store keeps small documents in a git repository, each a blob under a separate
// ref, beside other users of the repository. It may be used from several goroutines
// and processes.
type Store struct {
	repo   *repository
	reader *helper // cat-file
	names  *Refs
}

// OpenStore opens the repository at dir, bare or not.
func OpenStore(ctx context.Context, dir string) (*Store, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	probe := &repository{dir: dir}
	out, _, err := probe.run(ctx, invocation{
		args: []string{"-C", dir, "rev-parse", "--absolute-git-dir", "--show-object-format"}, free: true, alone: true,
	})
	if err != nil {
		return nil, fmt.Errorf("%s is not a git repository that can be used: %w", dir, err)
	}
	gitDir, format, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	if format != "sha1" {
		return nil, fmt.Errorf("%s has the object format %s; only sha1 is known", dir, format)
	}
	repo := &repository{dir: gitDir, durable: true}
	return &Store{repo: repo, reader: repo.helper("cat-file", "--batch-command"), names: newRefs(repo, nil)}, nil
}

// Close ends the store's git processes.
func (s *Store) Close() error {
	s.reader.stop()
	s.names.refs.stop()
	return nil
}

// Dir returns the repository's git directory.
func (s *Store) Dir() string { return s.repo.dir }

// Get reads the document at ref and its version, which Put needs to replace it.
// ErrNotFound: there is none.
func (s *Store) Get(ctx context.Context, ref string) (data []byte, version string, err error) {
	o, id, err := s.object(ctx, ref)
	if err != nil {
		return nil, "", err
	}
	if o.kind != "blob" {
		return nil, "", fmt.Errorf("%s is a %s, not a document", ref, o.kind)
	}
	return o.data, id, nil
}

// Put replaces the version of the document at ref and returns the new one;
// version "" means that there is none yet. ErrChanged: it is not the present
// version. *Transient: another process holds the ref's lock, or has left it behind.
func (s *Store) Put(ctx context.Context, ref string, data []byte, version string) (string, error) {
	if err := checkRef(ref); err != nil {
		return "", err
	}
	id, err := s.repo.writeObject("blob", data)
	if err != nil {
		return "", err
	}
	if version == "" {
		version = strings.Repeat("0", len(id))
	}
	command := []byte("update " + ref + "\x00" + id + "\x00" + version + "\x00")
	err = s.names.transact(ctx, updateWithin, command)
	if said := stderrOf(err); lockedRef(said) && takeStaleLock(forge.Remote{URL: s.repo.dir}, ref, said) != "" {
		err = s.names.transact(ctx, updateWithin, command)
	}
	switch said := stderrOf(err); {
	case lockedRef(said):
		return "", &forge.Transient{Err: err} // the document is as it was: to read it again would not help
	case strings.Contains(said, "cannot lock ref"):
		return "", fmt.Errorf("%w: %s", ErrChanged, ref)
	}
	return id, err
}

// updateWithin bounds the time in which git moves one ref.
const updateWithin = 30 * time.Second

// lockedRef reports whether git could not move a ref because a process holds its lock, or has
// left it behind: this says nothing of the ref's value.
func lockedRef(stderr string) bool {
	return strings.Contains(stderr, "Unable to create") && strings.Contains(stderr, "File exists")
}

// Commit returns the commit at ref and the first line of its message, which is
// hostile text. ErrNotFound: there is no such ref.
func (s *Store) Commit(ctx context.Context, ref string) (id queue.CommitID, subject string, err error) {
	o, name, err := s.object(ctx, ref)
	if err != nil {
		return "", "", err
	}
	info, err := parseCommit(o)
	if err != nil {
		return "", "", fmt.Errorf("%s: %w", ref, err)
	}
	subject, _, _ = strings.Cut(info.message, "\n")
	return queue.CommitID(name), subject, nil
}

// Refs returns the versions of all documents below a prefix that ends in a
// slash, by the full names of their refs.
func (s *Store) Refs(ctx context.Context, prefix string) (map[string]string, error) {
	out, err := s.repo.git(ctx, "for-each-ref", "--format=%(refname) %(objectname)", prefix)
	if err != nil {
		return nil, err
	}
	refs := map[string]string{}
	for line := range strings.Lines(string(out)) {
		name, version, _ := strings.Cut(strings.TrimSpace(line), " ")
		refs[name] = version
	}
	return refs, nil
}

// Head returns the name of the repository's default branch.
func (s *Store) Head(ctx context.Context) (string, error) {
	out, err := s.repo.git(ctx, "symbolic-ref", "--short", "HEAD")
	return strings.TrimSpace(string(out)), err
}

// Bare reports whether the repository has no work tree.
func (s *Store) Bare(ctx context.Context) (bool, error) {
	out, err := s.repo.git(ctx, "rev-parse", "--is-bare-repository")
	return strings.TrimSpace(string(out)) == "true", err
}

// object reads the object that a ref names.
func (s *Store) object(ctx context.Context, ref string) (object, string, error) {
	if err := checkRef(ref); err != nil {
		return object{}, "", fmt.Errorf("%w: %w", forge.ErrNotFound, err)
	}
	var o object
	var id string
	err := s.reader.call(ctx, func(p *process) error {
		sent := p.send([]byte("contents " + ref + "\n"))
		line, err := p.field('\n')
		if err != nil {
			return err
		}
		o, id = object{}, ""
		if line == ref+" missing" {
			return <-sent
		}
		id, _, _ = strings.Cut(line, " ")
		if o, err = readBody(p, line, id); err != nil {
			return err
		}
		return <-sent
	})
	if err == nil && o.kind == "" {
		err = fmt.Errorf("%w: %s", forge.ErrNotFound, ref)
	}
	return o, id, err
}
