package history

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

// Folder keeps the histories of queues as files, one for each queue and day (UTC):
// FOLDER/QUEUE/2026-03-01.jsonl, with the queue's name escaped as in a URL. It is safe for
// concurrent use. Half a line, left by a killed process, is cut off by the next process
// that appends to the file.
type Folder struct {
	dir  string
	age  time.Duration
	mu   sync.Mutex
	open map[string]*day
}

// day is the file of a queue that is appended to.
type day struct {
	name string
	file *os.File
}

const (
	dayForm = "2006-01-02"
	suffix  = ".jsonl"
)

// OpenFolder makes the folder if it does not exist. Files of days that ended longer
// ago than age (0: queue.HistoryAge) are removed whenever a new day begins.
func OpenFolder(dir string, age time.Duration) (*Folder, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("the folder of histories cannot be used: %w", err)
	}
	if age == 0 {
		age = queue.HistoryAge
	}
	return &Folder{dir: dir, age: age, open: map[string]*day{}}, nil
}

// ErrOld says that all rows are written, and that files of days that ended too long ago cannot
// be removed.
var ErrOld = errors.New("history: an old file cannot be removed")

// Append adds rows to the file of the day. When that fails, some of them may be in it; with
// ErrOld, all of them are.
func (f *Folder) Append(name string, now time.Time, rows []queue.Row) error {
	if len(rows) == 0 {
		return nil
	}
	var text bytes.Buffer
	enc := encoder(&text)
	for _, r := range rows {
		if err := enc.Encode(r); err != nil {
			return fmt.Errorf("history: %w", err)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	d, old, err := f.day(name, now)
	if err != nil {
		return err // not old: ErrOld says that all rows are written
	}
	if _, err := d.file.Write(text.Bytes()); err != nil {
		d.file.Close()
		delete(f.open, name) // its end is mended when it is opened again
		return fmt.Errorf("history: %w", err)
	}
	return old
}

// Close closes all files.
func (f *Folder) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var errs []error
	for name, d := range f.open {
		errs = append(errs, d.file.Close())
		delete(f.open, name)
	}
	return errors.Join(errs...)
}

// day returns the open file of a moment's day. When a day begins, the files that are too old go
// before the new one is made, which may need the room; old says which of them stay. That costs no
// row. The caller holds mu.
func (f *Folder) day(name string, now time.Time) (_ *day, old, err error) {
	today := now.UTC().Format(dayForm) + suffix
	d := f.open[name]
	if d != nil && d.name == today {
		return d, nil, nil
	}
	if d != nil {
		d.file.Close()
		delete(f.open, name)
	}
	dir := filepath.Join(f.dir, folderOf(name))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, fmt.Errorf("history: %w", err)
	}
	old = f.prune(dir, now)
	file, err := openDay(filepath.Join(dir, today), name, now)
	if err != nil {
		return nil, old, fmt.Errorf("history: %w", err)
	}
	f.open[name] = &day{name: today, file: file}
	return f.open[name], old, nil
}

// folderOf returns the folder of a queue: never one that is hidden or above.
func folderOf(name string) string {
	return strings.Replace("x"+url.PathEscape(name), "x.", "x%2E", 1)[1:]
}

// openDay opens a file to append to. It cuts off an incomplete last line.
func openDay(path, name string, now time.Time) (_ *os.File, err error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			file.Close()
		}
	}()
	size, err := wholeLines(file)
	if err != nil {
		return nil, err
	}
	if err := file.Truncate(size); err != nil {
		return nil, err
	}
	if size == 0 {
		_, err = NewWriter(file, name, now)
	}
	return file, err
}

// wholeLines returns how many bytes of a file are whole lines.
func wholeLines(file *os.File) (int64, error) {
	info, err := file.Stat()
	if err != nil {
		return 0, err
	}
	block := make([]byte, 64<<10)
	for end := info.Size(); end > 0; {
		from := max(0, end-int64(len(block)))
		n, err := file.ReadAt(block[:end-from], from)
		if err != nil && err != io.EOF {
			return 0, err
		}
		if i := bytes.LastIndexByte(block[:n], '\n'); i >= 0 {
			return from + int64(i) + 1, nil
		}
		end = from
	}
	return 0, nil
}

// prune removes the files of days that ended too long ago: all that can be removed, whatever
// becomes of the others.
func (f *Folder) prune(dir string, now time.Time) error {
	list, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrOld, err)
	}
	var errs []error
	for _, e := range list {
		at, err := time.Parse(dayForm, strings.TrimSuffix(strings.TrimSuffix(e.Name(), ".gz"), suffix))
		if err != nil || !now.After(at.Add(24*time.Hour+f.age)) {
			continue
		}
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, fmt.Errorf("%w: %w", ErrOld, err))
		}
	}
	return errors.Join(errs...)
}
