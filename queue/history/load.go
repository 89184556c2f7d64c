package history

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/queue"
)

// Loaded is the content of history files.
type Loaded struct {
	Queue   string // of the first file
	Rows    []queue.Row
	Torn    []string // files that were not written to their end: a last line that was cut off is left out, and of some not even the first is there
	Unknown int      // rows of a newer version, which are left out
}

// Load reads a file, or all files named *.jsonl or *.jsonl.gz of a folder and those below it.
// Errors name the file and the line. The rows are tidy. A file in a folder that was
// only begun has no rows, and does not keep those of the other days from being read.
func Load(path string) (*Loaded, error) {
	var files []string
	err := filepath.WalkDir(path, func(file string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && (file == path || strings.HasSuffix(strings.TrimSuffix(file, ".gz"), suffix)) {
			files = append(files, file)
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: there is no such file or folder; submitqueue history export writes one", path)
	}
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s: there is no history in it: no file ends in %s", path, suffix)
	}
	l, folders := &Loaded{}, map[string]bool{}
	for _, file := range files {
		if folders[filepath.Dir(file)] = true; len(folders) > 1 {
			return nil, fmt.Errorf("%s: there are several queues in it; name the folder of one of them", path)
		}
		err := l.file(file)
		if errors.Is(err, errBegun) && len(files) > 1 {
			l.Torn = append(l.Torn, file)
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	l.Rows = Tidy(l.Rows)
	return l, nil
}

func (l *Loaded) file(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	r, err := NewReader(f)
	if err != nil {
		return err
	}
	l.Queue = cmp.Or(l.Queue, r.Header().Queue)
	for {
		row, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		l.Rows = append(l.Rows, row)
	}
	if l.Unknown += r.Unknown(); r.Torn() {
		l.Torn = append(l.Torn, name)
	}
	return nil
}

// Tidy returns rows in the order of time; rows of one moment keep their order. If
// several rows have one ID, it keeps the last.
func Tidy(rows []queue.Row) []queue.Row {
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b queue.Row) int { return cmp.Compare(a.At, b.At) })
	last := map[string]int{}
	for i, r := range rows {
		last[r.ID()] = i
	}
	out := rows[:0]
	for i, r := range rows {
		if last[r.ID()] == i {
			out = append(out, r)
		}
	}
	return out
}
