package cache

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Dir is the folder in a slot that has the caches.
const Dir = "caches"

// maxKept is how many caches a slot keeps.
const maxKept = 200

// Options configure Open.
type Options struct {
	Bytes  int64                   // of disk for all caches of the slot together; required
	Owner  int                     // user id of the slot's steps: caches of another user are dropped
	Remove func(path string) error // removes a tree, with any file modes; nil: os.RemoveAll
	Low    func() bool             // the disk has no more room to give to caches; nil: it always has
}

// Kept has the caches of one slot. It is safe for concurrent use.
type Kept struct {
	o    Options
	dir  string // of the slot
	slot *os.Root

	mu     sync.Mutex
	caches map[string]entry // by id
	last   int
}

// entry is one cache, on disk as the file "about" beside the folders.
type entry struct {
	Bytes int64     `json:"bytes"`
	Owner int       `json:"owner"`
	At    time.Time `json:"at"` // when it was kept
}

// Open opens the caches of a slot. It removes caches that an earlier process began to keep and
// did not finish. Close it.
func Open(slot string, o Options) (*Kept, error) {
	if o.Remove == nil {
		o.Remove = os.RemoveAll
	}
	if o.Low == nil {
		o.Low = func() bool { return false }
	}
	root, err := os.OpenRoot(slot)
	if err != nil {
		return nil, err
	}
	k := &Kept{o: o, dir: slot, slot: root, caches: map[string]entry{}}
	if err := k.load(); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return k, nil
}

// Close ends the use of the slot's folder.
func (k *Kept) Close() error { return k.slot.Close() }

// load reads the caches that are there, and removes those of no use.
func (k *Kept) load() error {
	if info, err := k.slot.Lstat(Dir); err == nil && !info.IsDir() {
		return fmt.Errorf("%s is no folder: remove it", filepath.Join(k.dir, Dir))
	}
	if err := k.slot.Mkdir(Dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := k.slot.Chmod(Dir, 0o700); err != nil {
		return err
	}
	found, err := fs.ReadDir(k.slot.FS(), Dir)
	if err != nil {
		return err
	}
	for _, d := range found {
		var e entry
		about, err := k.slot.ReadFile(filepath.Join(Dir, d.Name(), "about"))
		if err == nil {
			err = json.Unmarshal(about, &e)
		}
		if err != nil || e.Owner != k.o.Owner || e.Bytes < 0 {
			if err := k.remove(d.Name()); err != nil {
				return err
			}
			continue
		}
		k.caches[d.Name()] = e
	}
	return k.trim("")
}

// remove removes a cache, or an unfinished one.
func (k *Kept) remove(name string) error {
	delete(k.caches, name)
	return k.o.Remove(filepath.Join(k.dir, Dir, name))
}

// Held says which paths of a cache are in a checkout.
type Held struct {
	Found bool     // it was kept
	Bytes int64    // size of the folders that were moved in
	Taken []string // paths that the commit has itself: neither filled nor to be kept
	Free  []string // the others, which Keep is to move out
}

// Restore moves a cache into a checkout, a folder of the slot; the slot does not keep it any
// more. A path to which a link leads, or that is not in the cache, stays empty.
func (k *Kept) Restore(checkout, id string, paths []string) (Held, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	held := k.free(checkout, paths)
	e, ok := k.caches[id]
	if !ok {
		return held, nil
	}
	for _, path := range held.Free {
		from, to := filepath.Join(Dir, id, nameOf(path)), filepath.Join(checkout, filepath.FromSlash(path))
		if _, err := k.slot.Lstat(from); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := k.makeParents(checkout, path); err != nil {
			return held, errors.Join(err, k.remove(id))
		}
		if err := k.move(from, to); err != nil {
			return held, errors.Join(err, k.remove(id))
		}
		held.Found = true
	}
	if held.Found {
		held.Bytes = e.Bytes
	}
	return held, k.remove(id)
}

// Has reports whether a cache is kept.
func (k *Kept) Has(id string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	_, ok := k.caches[id]
	return ok
}

// Free returns the Held of a cache that is not put into the checkout.
func (k *Kept) Free(checkout string, paths []string) Held {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.free(checkout, paths)
}

func (k *Kept) free(checkout string, paths []string) (held Held) {
	for _, path := range paths {
		if k.plain(checkout, path) {
			held.Free = append(held.Free, path)
		} else {
			held.Taken = append(held.Taken, path)
		}
	}
	return held
}

// plain reports whether a path of a checkout does not exist, and only folders lead there.
func (k *Kept) plain(checkout, path string) bool {
	name := checkout
	parts := split(path)
	for i, part := range parts {
		name = filepath.Join(name, part)
		info, err := k.slot.Lstat(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return true
		case err != nil || i == len(parts)-1 || !info.IsDir():
			return false
		}
	}
	return false
}

// makeParents makes the folders that lead to a path.
func (k *Kept) makeParents(checkout, path string) error {
	name := checkout
	parts := split(path)
	for _, part := range parts[:len(parts)-1] {
		name = filepath.Join(name, part)
		if err := k.slot.Mkdir(name, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if err := k.isFolder(name); err != nil {
			return err
		}
	}
	return nil
}

func (k *Kept) isFolder(name string) error {
	info, err := k.slot.Lstat(name)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is no folder any more", name)
	}
	return err
}

// TooLarge says that a cache takes more than all caches of a slot may.
type TooLarge struct{ Limit int64 }

// Error implements error.
func (e *TooLarge) Error() string {
	return "it takes more than the " + Size(e.Limit) + " that all caches of a runner may take together (--cache-mb)"
}

// ErrLow says that the disk has no room for caches.
var ErrLow = errors.New("the disk is nearly full")

// Keep moves paths out of a checkout into a cache, in place of the cache kept under its id, and
// returns its size on disk; 0: there is nothing at these paths. It removes other caches, the
// oldest first, until all of them are within bounds. After an error nothing is kept.
func (k *Kept) Keep(checkout, id string, paths []string) (bytes int64, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.last++
	making := "new-" + strconv.Itoa(k.last)
	if err := errors.Join(k.remove(making), k.remove(id)); err != nil {
		return 0, err
	}
	if err := k.slot.Mkdir(filepath.Join(Dir, making), 0o700); err != nil {
		return 0, err
	}
	defer func() {
		if err != nil || bytes == 0 {
			err = errors.Join(err, k.remove(making))
		}
	}()
	for _, path := range paths {
		n, err := k.take(checkout, path, filepath.Join(Dir, making, nameOf(path)))
		if err != nil {
			return 0, fmt.Errorf("%s: %w", path, err)
		}
		bytes += n
	}
	if bytes == 0 {
		return 0, nil
	}
	if bytes > k.o.Bytes {
		return 0, &TooLarge{k.o.Bytes}
	}
	if err := k.commit(making, id, bytes); err != nil {
		return 0, err
	}
	if k.o.Low() {
		return 0, errors.Join(ErrLow, k.remove(id))
	}
	return bytes, nil
}

// commit makes a cache from the folder that was made, in place of the existing one.
func (k *Kept) commit(making, id string, bytes int64) error {
	e := entry{Bytes: bytes, Owner: k.o.Owner, At: time.Now()}
	about, err := json.Marshal(e)
	if err == nil {
		err = k.slot.WriteFile(filepath.Join(Dir, making, "about"), about, 0o600)
	}
	if err == nil {
		err = k.remove(id)
	}
	if err == nil {
		err = k.slot.Rename(filepath.Join(Dir, making), filepath.Join(Dir, id))
	}
	if err != nil {
		return err
	}
	k.caches[id] = e
	return k.trim(id)
}

// take moves one path out of a checkout, and measures it. It leaves a path that is neither a
// folder nor a file.
func (k *Kept) take(checkout, path, to string) (int64, error) {
	name := checkout
	parts := split(path)
	for i, part := range parts {
		name = filepath.Join(name, part)
		info, err := k.slot.Lstat(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return 0, nil
		case err != nil:
			return 0, err
		case !info.IsDir() && (i < len(parts)-1 || !info.Mode().IsRegular()):
			return 0, nil
		}
	}
	if err := k.move(name, to); err != nil {
		return 0, err
	}
	return sizeOf(filepath.Join(k.dir, to), k.o.Bytes)
}

// move renames a file or folder. It first makes a folder writable if its rights forbid to move
// it.
func (k *Kept) move(from, to string) error {
	err := k.slot.Rename(from, to)
	if errors.Is(err, fs.ErrPermission) {
		if err := k.slot.Chmod(from, 0o700); err != nil {
			return err
		}
		err = k.slot.Rename(from, to)
	}
	return err
}

// trim removes caches, the oldest first, until they are within bounds; keep goes last.
func (k *Kept) trim(keep string) error {
	order := slices.SortedFunc(maps.Keys(k.caches), func(a, b string) int {
		if a == keep || b == keep {
			return cmp.Compare(btoi(a == keep), btoi(b == keep))
		}
		return cmp.Or(k.caches[a].At.Compare(k.caches[b].At), cmp.Compare(a, b))
	})
	for _, id := range order {
		if len(k.caches) <= maxKept && k.total() <= k.o.Bytes && !k.o.Low() || id == keep {
			return nil
		}
		if err := k.remove(id); err != nil {
			return err
		}
	}
	return nil
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (k *Kept) total() (bytes int64) {
	for _, e := range k.caches {
		bytes += e.Bytes
	}
	return bytes
}

// Total returns how much disk the caches of the slot take.
func (k *Kept) Total() int64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.total()
}

// Empty removes all caches of the slot.
func (k *Kept) Empty() (err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, id := range slices.Collect(maps.Keys(k.caches)) {
		err = errors.Join(err, k.remove(id))
	}
	return err
}
