package workers

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/submitqueue/submitqueue/workers/cache"
	"github.com/submitqueue/submitqueue/workers/cage"
)

// slotFiles are the places of one slot.
type slotFiles struct {
	root     string // absolute, without symbolic links: the slot's mark
	checkout string
	home     string // HOME of the steps
	tmp      string // for a guest's temporary files
	targets  string // SUBMITQUEUE_TARGETS_FILE
	script   string // a command too long for an argument
	guest    *guest // the user of checkout, home and tmp; nil: the user of this process
	keep     bool   // home stays from build to build
	seed     string // folder that is copied into a new home; "": none
}

// newSlotFiles makes a slot's places. A guest owns its checkout, home and folder for temporary
// files. It does not own the slot's folder and the files that are written there for its steps,
// so that it cannot replace them by links. Other users see nothing.
func newSlotFiles(dir string, g *guest) (slotFiles, error) {
	root, err := filepath.Abs(dir)
	if err != nil {
		return slotFiles{}, err
	}
	if g.uidOf() != 0 {
		if err = os.MkdirAll(filepath.Dir(root), 0o711); err == nil {
			err = Passable(filepath.Dir(root))
		}
		if err != nil {
			return slotFiles{}, err
		}
	}
	if err := os.MkdirAll(root, 0o700); err != nil {
		return slotFiles{}, err
	}
	if root, err = filepath.EvalSymlinks(root); err != nil {
		return slotFiles{}, err
	}
	f := slotFiles{
		root:     root,
		checkout: filepath.Join(root, "checkout"),
		home:     filepath.Join(root, "home"),
		tmp:      filepath.Join(root, "tmp"),
		targets:  filepath.Join(root, "targets"),
		script:   filepath.Join(root, "command.sh"),
	}
	if g == nil {
		return f, os.MkdirAll(f.home, 0o700)
	}
	own := *g // with the folders of this slot
	if f.guest = &own; g.room != nil {
		own.room = f.roomOf(*g.room)
	}
	return f, f.settle()
}

// roomOf returns a room that shows the slot. The slot's folder, and the files that this process
// writes there, are read-only.
func (f slotFiles) roomOf(r room) *room {
	r.hide = append(slices.Clip(r.hide), filepath.Join(f.root, cache.Dir))
	r.show = append(slices.Clip(r.show),
		cage.Shown{From: f.root},
		cage.Shown{From: f.checkout, Writable: true},
		cage.Shown{From: f.home, Writable: true})
	if roomsHaveTmp {
		r.show = append(r.show, cage.Shown{From: f.tmp, At: "/tmp", Writable: true}, cage.Shown{From: f.tmp, At: "/var/tmp", Writable: true})
	} else {
		r.show = append(r.show, cage.Shown{From: f.tmp, Writable: true})
	}
	return &r
}

// settle gives the slot to its guest. It removes files that another user left there, or this
// process before it had guests.
func (f slotFiles) settle() error {
	if uid := f.guest.uid; uid != 0 {
		if err := errors.Join(os.Chown(f.root, 0, uid), os.Chmod(f.root, 0o750)); err != nil {
			return err
		}
		for _, dir := range []string{f.home, f.tmp, f.checkout} {
			if owner, ok := ownerOf(dir); ok && owner != uid {
				if err := RemoveAll(dir); err != nil {
					return err
				}
			}
		}
	}
	return errors.Join(f.makeOwn(f.home), f.makeOwn(f.tmp))
}

func (f slotFiles) makeOwn(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return errors.Join(f.give(dir), os.Chmod(dir, 0o700))
}

// give makes the guest's user the owner of a file, unless the guest runs as the user of this
// process.
func (f slotFiles) give(path string) error {
	if uid := f.guest.uidOf(); uid != 0 {
		return os.Lchown(path, uid, uid)
	}
	return nil
}

// emptyCheckout makes the folder of a checkout that does not exist.
func (f slotFiles) emptyCheckout() error { return f.makeOwn(f.checkout) }

// fresh removes files that a build must not find, and makes a new home. No process of the guest
// may run.
func (f slotFiles) fresh() error {
	if err := f.forget(); err != nil {
		return err
	}
	if _, err := os.Lstat(f.home); err == nil { // it is kept
		return nil
	}
	if err := f.makeOwn(f.home); err != nil || f.seed == "" {
		return err
	}
	if err := f.copySeed(); err != nil {
		return fmt.Errorf("fill the home with what is in %s: %w", f.seed, err)
	}
	return nil
}

// forget removes the temporary files, and the home unless it is kept.
func (f slotFiles) forget() (err error) {
	if f.guest != nil {
		err = errors.Join(RemoveAll(f.tmp), f.makeOwn(f.tmp))
	}
	if !f.keep {
		err = errors.Join(err, RemoveAll(f.home))
	}
	return err
}

// hand gives the checkout to the guest's user, in folders that nobody else can write. It
// is called after the files were made, while nothing of the guest runs. A file that has
// another name elsewhere is not given away: it may be anybody's.
func (f slotFiles) hand() error {
	if f.guest.uidOf() == 0 {
		return nil
	}
	err := filepath.WalkDir(f.checkout, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if d.IsDir() && info.Mode().Perm()&0o022 != 0 { // another slot may hold it open
			if err := os.Chmod(path, 0o755); err != nil {
				return err
			}
		}
		owner, links := owned(info)
		switch {
		case owner == f.guest.uid:
			return nil
		case links > 1 && !d.IsDir():
			return fmt.Errorf("%s is a file that has another name, too", path)
		}
		return os.Lchown(path, f.guest.uid, f.guest.uid)
	})
	if err != nil {
		return fmt.Errorf("give the checkout to user %d: %w", f.guest.uid, err)
	}
	return nil
}

// write writes a file for the steps to read.
func (f slotFiles) write(path string, data []byte) error {
	if f.guest.uidOf() == 0 {
		return os.WriteFile(path, data, 0o600)
	}
	if err := os.WriteFile(path, data, 0o640); err != nil {
		return err
	}
	return errors.Join(os.Chown(path, 0, f.guest.uid), os.Chmod(path, 0o640))
}

// ownerOf returns the owner of a file.
func ownerOf(path string) (uid int, ok bool) {
	info, err := os.Lstat(path)
	if err != nil {
		return 0, false
	}
	uid, _ = owned(info)
	return uid, true
}
