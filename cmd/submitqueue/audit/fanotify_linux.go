package audit

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// fanotify watches the file system that the checkout is on.
type fanotify struct{}

// The flags and the events that fanotify is asked for.
const (
	fanInit = unix.FAN_CLASS_NOTIF | unix.FAN_CLOEXEC | unix.FAN_NONBLOCK | unix.FAN_UNLIMITED_QUEUE
	fanMask = unix.FAN_OPEN | unix.FAN_OPEN_EXEC | unix.FAN_ONDIR
)

func newFanotify() (Tracer, error) {
	fd, err := unix.FanotifyInit(fanInit, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_LARGEFILE)
	if err != nil {
		return nil, fmt.Errorf("the rights of an administrator are needed (CAP_SYS_ADMIN): %w", err)
	}
	err = unix.FanotifyMark(fd, unix.FAN_MARK_ADD|unix.FAN_MARK_MOUNT, fanMask, unix.AT_FDCWD, os.TempDir())
	return fanotify{}, errors.Join(err, unix.Close(fd))
}

// Name implements Tracer.
func (fanotify) Name() string { return "fanotify" }

// Watch implements Tracer.
func (fanotify) Watch(root, scratch string, links []string) (Watch, error) {
	root, err := filepath.EvalSymlinks(root)
	if err != nil {
		return nil, err
	}
	scratch, err = filepath.EvalSymlinks(scratch)
	return &fanWatch{recorder: newRecorder(root, links), last: filepath.Join(scratch, "end")}, err
}

type fanWatch struct {
	recorder *recorder
	last     string // a file beside the checkout
	file     *os.File
	done     sync.WaitGroup
	err      error
}

// Shell implements Watch.
func (*fanWatch) Shell() []string { return []string{"sh", "-c"} }

// Begin implements Watch.
func (w *fanWatch) Begin() error {
	fd, err := unix.FanotifyInit(fanInit, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_LARGEFILE)
	if err != nil {
		return fmt.Errorf("fanotify: %w", err)
	}
	if err := unix.FanotifyMark(fd, unix.FAN_MARK_ADD|unix.FAN_MARK_MOUNT, fanMask, unix.AT_FDCWD, w.recorder.root); err != nil {
		return errors.Join(fmt.Errorf("fanotify: %w", err), unix.Close(fd))
	}
	w.file = os.NewFile(uintptr(fd), "fanotify")
	w.done.Go(w.read)
	return nil
}

// End implements Watch.
func (w *fanWatch) End() (Reads, error) {
	if w.file == nil {
		return Reads{}, errors.New("fanotify: the command has not begun")
	}
	// An open by this process is the last event: all events before it have been read then.
	err := os.WriteFile(w.last, nil, 0o600)
	if err != nil {
		err = errors.Join(err, w.file.Close())
	}
	w.done.Wait()
	if err = errors.Join(err, w.err); err != nil {
		return Reads{}, err
	}
	return w.recorder.done(), w.file.Close()
}

// read reads events until this process opens the last file.
func (w *fanWatch) read() {
	buf := make([]byte, 64<<10)
	for {
		n, err := w.file.Read(buf)
		if err != nil {
			w.err = fmt.Errorf("fanotify: %w", err)
			return
		}
		last := false
		for at := buf[:n]; len(at) >= unix.FAN_EVENT_METADATA_LEN; {
			size := binary.NativeEndian.Uint32(at)
			if size < unix.FAN_EVENT_METADATA_LEN || int(size) > len(at) {
				w.err = errors.New("fanotify: an event is cut off")
				return
			}
			end, err := w.event(at)
			if err != nil {
				w.err = err
				return
			}
			last, at = last || end, at[size:]
		}
		if last {
			return
		}
	}
}

// event notes one event, and reports whether it is the last one.
func (w *fanWatch) event(at []byte) (last bool, err error) {
	mask, fd, pid := binary.NativeEndian.Uint64(at[8:]), int32(binary.NativeEndian.Uint32(at[16:])), int32(binary.NativeEndian.Uint32(at[20:]))
	if mask&unix.FAN_Q_OVERFLOW != 0 {
		return true, errors.New("fanotify: events were lost")
	}
	if fd < 0 {
		return false, nil
	}
	file, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(int(fd)))
	if err := errors.Join(err, unix.Close(int(fd))); err != nil {
		return true, err
	}
	if int(pid) == os.Getpid() {
		return file == w.last, nil
	}
	if strings.HasSuffix(file, " (deleted)") {
		return false, nil
	}
	comm, err := os.ReadFile("/proc/" + strconv.Itoa(int(pid)) + "/comm")
	if err != nil {
		comm = []byte("a process that has ended")
	}
	p := &process{program: strings.TrimSpace(string(comm))}
	if mask&unix.FAN_ONDIR != 0 {
		w.recorder.listed(file, p)
	} else {
		w.recorder.content(file, p)
	}
	return false, nil
}
