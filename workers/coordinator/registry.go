package coordinator

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// registryFile is the file of the runners, in the data folder.
const registryFile = "runners.json"

// tokenPrefix is the prefix of GitLab's runner tokens: gitlab-runner takes a token with it for
// a runner that the server has made, and leaves its tags to the server.
const tokenPrefix = "glrt-"

// Runner is a token with which machines ask for jobs.
type Runner struct {
	ID       int64     `json:"id"`
	Name     string    `json:"name"` // unique; for people and in results
	Hash     string    `json:"hash"` // SHA-256 of the token
	Tags     []string  `json:"tags,omitempty"`
	TagsOnly bool      `json:"tags_only,omitempty"` // it takes no steps without tags
	Paused   bool      `json:"paused,omitempty"`    // it gets no new jobs
	Revoked  time.Time `json:"revoked,omitzero"`    // its token is no longer valid
	Made     time.Time `json:"made"`
}

// Registry keeps the runners of a server in a file of its data folder, which the server and
// commands beside it read and write. Tokens are kept as hashes. Its methods may be called
// at the same time.
type Registry struct {
	dir string

	mu   sync.Mutex
	read time.Time // modification time of the file that list is from
	size int64
	list []Runner
}

// NewRegistry returns the registry of a data folder.
func NewRegistry(dir string) *Registry { return &Registry{dir: dir} }

// Errors of a registry.
var (
	ErrNoRunner = errors.New("there is no runner of that name")
	ErrTaken    = errors.New("there is a runner of that name already")
)

var (
	nameForm = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._-]{0,62}$`)
	tagForm  = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._:/@+-]{0,99}$`)
)

// List returns the runners by name, revoked ones too.
func (r *Registry) List() ([]Runner, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.load(); err != nil {
		return nil, err
	}
	return slices.Clone(r.list), nil
}

// Add makes a runner and returns its token, which is kept nowhere.
func (r *Registry) Add(name string, tags []string, tagsOnly bool, now time.Time) (token string, err error) {
	if !nameForm.MatchString(name) {
		return "", fmt.Errorf("%q is no name of a runner: use up to 63 letters, digits, dots, dashes and underscores", name)
	}
	for _, t := range tags {
		if !tagForm.MatchString(t) {
			return "", fmt.Errorf("%q is no tag: use up to 100 letters, digits and . _ : / @ + -", t)
		}
	}
	if tagsOnly && len(tags) == 0 {
		return "", errors.New("a runner for steps with tags only needs tags")
	}
	token = tokenPrefix + rand.Text()
	return token, r.change(func(list []Runner) ([]Runner, error) {
		id := int64(1)
		for _, known := range list {
			if known.Name == name && known.Revoked.IsZero() {
				return nil, ErrTaken
			}
			id = max(id, known.ID+1)
		}
		list = slices.DeleteFunc(list, func(known Runner) bool { return known.Name == name })
		tags = slices.Compact(slices.Sorted(slices.Values(tags)))
		return append(list, Runner{ID: id, Name: name, Hash: hashOf(token), Tags: tags, TagsOnly: tagsOnly, Made: now.UTC()}), nil
	})
}

// Pause has a runner get no new jobs, or get them again. Jobs that it runs go on.
func (r *Registry) Pause(name string, paused bool) error {
	return r.edit(name, func(x *Runner) { x.Paused = paused })
}

// Revoke ends a runner's token. Its machines are refused, and stop asking.
func (r *Registry) Revoke(name string, now time.Time) error {
	return r.edit(name, func(x *Runner) { x.Revoked = now.UTC() })
}

func (r *Registry) edit(name string, f func(*Runner)) error {
	return r.change(func(list []Runner) ([]Runner, error) {
		i := slices.IndexFunc(list, func(x Runner) bool { return x.Name == name && x.Revoked.IsZero() })
		if i < 0 {
			return nil, fmt.Errorf("%w: %s", ErrNoRunner, name)
		}
		f(&list[i])
		return list, nil
	})
}

// Find returns the runner of a token. It finds revoked runners, too.
func (r *Registry) Find(token string) (Runner, bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	err := r.load()
	hash := []byte(hashOf(token))
	found, ok := Runner{}, false
	for _, x := range r.list {
		if subtle.ConstantTimeCompare(hash, []byte(x.Hash)) == 1 {
			found, ok = x, true
		}
	}
	return found, ok && token != "", err
}

func hashOf(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// load reads the file if it has changed; the caller holds mu. If it cannot be read, the former
// content stays in force.
func (r *Registry) load() error {
	path := filepath.Join(r.dir, registryFile)
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		r.list, r.read, r.size = nil, time.Time{}, 0
		return nil
	case err != nil:
		return fmt.Errorf("the runners cannot be read: %w", err)
	case info.ModTime().Equal(r.read) && info.Size() == r.size && time.Since(r.read) > 2*time.Second:
		return nil // a file that has just changed may change again at the same time
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("the runners cannot be read: %w", err)
	}
	var list []Runner
	if err := json.Unmarshal(raw, &list); err != nil {
		return fmt.Errorf("%s is damaged: put it right, or remove it and make the runners again (%w)", path, err)
	}
	slices.SortFunc(list, func(a, b Runner) int { return strings.Compare(a.Name, b.Name) })
	r.list, r.read, r.size = list, info.ModTime(), info.Size()
	return nil
}

// change rewrites the file as a whole, while no other process does.
func (r *Registry) change(f func([]Runner) ([]Runner, error)) (err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	lock, err := os.OpenFile(filepath.Join(r.dir, registryFile+".lock"), os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return fmt.Errorf("the runners cannot be changed: %w", err)
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	for {
		if err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("the runners cannot be locked: %w", err)
	}
	r.read = time.Time{}
	if err := r.load(); err != nil {
		return err
	}
	list, err := f(slices.Clone(r.list))
	if err != nil {
		return err
	}
	raw, err := json.MarshalIndent(list, "", " ")
	if err != nil {
		return err
	}
	r.read = time.Time{}
	return r.write(append(raw, '\n'))
}

// write replaces the file. If this process is root, the owner of the folder owns the file, too.
func (r *Registry) write(raw []byte) error {
	path := filepath.Join(r.dir, registryFile)
	f, err := os.CreateTemp(r.dir, registryFile+".new-*") // mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(raw)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil && os.Geteuid() == 0 {
		if info, e := os.Stat(r.dir); e == nil {
			if sys, ok := info.Sys().(*syscall.Stat_t); ok {
				err = os.Lchown(f.Name(), int(sys.Uid), int(sys.Gid))
			}
		}
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // it may be incomplete
		return fmt.Errorf("the runners cannot be written: %w", err)
	}
	return nil
}
