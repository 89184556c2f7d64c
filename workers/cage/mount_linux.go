package cage

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// mount makes the machine read-only, and hides and shows the paths of the spec. The mounts are
// not visible outside.
func (s Spec) mount() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("have mounts of its own: %w", err)
	}
	trees, err := s.trees()
	if err != nil {
		return err
	}
	own := []struct {
		fs, at  string
		options map[string]string
	}{
		{"proc", "/proc", nil},
		{"devpts", "/dev/pts", map[string]string{"ptmxmode": "0666", "mode": "0620"}},
		{"tmpfs", "/dev/shm", map[string]string{"mode": "1777"}},
		{"mqueue", "/dev/mqueue", nil},
	}
	made := make([]int, len(own))
	for i, o := range own { // before anything is read-only: the kernel gives a new proc no more rights than the visible one has
		if made[i], err = newMount(o.fs, o.options); err != nil {
			return fmt.Errorf("mount %s: %w", o.fs, err)
		}
	}
	if err := unix.MountSetattr(unix.AT_FDCWD, "/", unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}); err != nil {
		return fmt.Errorf("make the machine read-only: %w", err)
	}
	for i, o := range own {
		if err := move(made[i], o.at); err != nil && !errors.Is(err, unix.ENOENT) {
			return fmt.Errorf("mount %s: %w", o.at, err)
		}
	}
	var covers []int
	for _, step := range s.steps() {
		if step.show >= 0 {
			if trees[step.show] < 0 {
				continue
			}
			if err := show(trees[step.show], step.at, s.Show[step.show]); err != nil {
				return fmt.Errorf("show %s: %w", step.at, err)
			}
			continue
		}
		cover, err := hide(step.at)
		if err != nil {
			return fmt.Errorf("hide %s: %w", step.at, err)
		}
		if cover >= 0 {
			covers = append(covers, cover)
		}
	}
	for _, cover := range covers { // not before: places to show things at are made in them
		if err := unix.MountSetattr(cover, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}); err != nil {
			return fmt.Errorf("make a cover read-only: %w", err)
		}
	}
	return nil
}

// trees copies the trees that are to be shown, before anything is hidden or read-only; -1 for
// an optional one that is missing.
func (s Spec) trees() ([]int, error) {
	trees := make([]int, len(s.Show))
	for i, shown := range s.Show {
		fd, err := unix.OpenTree(unix.AT_FDCWD, shown.From, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
		switch {
		case err == nil:
			trees[i] = fd
		case shown.Optional:
			trees[i] = -1
		default:
			return nil, fmt.Errorf("show %s: %w", shown.From, err)
		}
	}
	return trees, nil
}

// show mounts a tree at a path, which it makes if it is missing.
func show(tree int, at string, shown Shown) error {
	if !shown.Writable {
		if err := unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}); err != nil {
			return err
		}
	}
	err := move(tree, at)
	if !errors.Is(err, unix.ENOENT) {
		return err
	}
	var info unix.Stat_t
	if err := unix.Fstat(tree, &info); err != nil {
		return err
	}
	if err := place(at, info.Mode&unix.S_IFMT == unix.S_IFDIR); err != nil {
		return err
	}
	return move(tree, at)
}

// place makes an empty folder or file to mount something at. It follows no link: its parent may
// be a folder that steps write.
func place(at string, folder bool) error {
	parent := filepath.Dir(at)
	info, err := os.Lstat(parent)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := place(parent, true); err != nil {
			return err
		}
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is no folder", parent)
	}
	if folder {
		return os.Mkdir(at, 0o755)
	}
	f, err := os.OpenFile(at, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	return f.Close()
}

// hide covers a folder by an empty one, and a file by one without content. A path that
// is missing, or cannot be reached, need not be hidden.
func hide(at string) (cover int, err error) {
	info, err := os.Stat(at)
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission):
		return -1, nil
	case err != nil:
		return -1, err
	}
	if cover, err = newMount("tmpfs", map[string]string{"mode": "0755", "size": "1m"}); err != nil {
		return -1, err
	}
	if info.IsDir() {
		return cover, move(cover, at)
	}
	fd, err := unix.Openat(cover, "empty", unix.O_CREAT|unix.O_RDONLY|unix.O_CLOEXEC, 0o444)
	if err != nil {
		return -1, err
	}
	if err := unix.Close(fd); err != nil {
		return -1, err
	}
	file, err := unix.OpenTree(cover, "empty", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
	if err != nil {
		return -1, err
	}
	return file, move(file, at)
}

// newMount makes a file system that is mounted nowhere yet.
func newMount(kind string, options map[string]string) (int, error) {
	context, err := unix.Fsopen(kind, unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, err
	}
	defer unix.Close(context)
	for key, value := range options {
		if err := unix.FsconfigSetString(context, key, value); err != nil {
			return -1, err
		}
	}
	if err := unix.FsconfigCreate(context); err != nil {
		return -1, err
	}
	return unix.Fsmount(context, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_NOSUID)
}

// move mounts at a path a file system that is mounted nowhere yet.
func move(fd int, at string) error {
	return unix.MoveMount(fd, "", unix.AT_FDCWD, at, unix.MOVE_MOUNT_F_EMPTY_PATH)
}
