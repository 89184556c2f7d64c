package workers

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"sync"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/digest"
)

// Log is the log of one build, in the order in which it was written. It is text for people:
// valid UTF-8 without control characters except newline and tab. Its content is hostile.
type Log interface {
	// Read returns what follows the cursor, at most 64 KiB. The first cursor is
	// 0; the next one is in the Chunk. A cursor past the end (the build was run
	// again) starts over.
	Read(cursor int64) (Chunk, error)
	// Follow is Read that waits until there is something to return, the log has
	// ended, or ctx ends, which is its error then.
	Follow(ctx context.Context, cursor int64) (Chunk, error)
}

// Chunk is a piece of a log.
type Chunk struct {
	Text string
	Next int64 // the cursor of the next part
	End  bool  // nothing will follow
}

const chunkBytes = 64 << 10

// Logs keeps one file per build in a directory, and removes the oldest when
// they are too many or too large. It is safe for concurrent use.
type Logs struct {
	dir   string
	files int
	bytes int64

	mu   sync.Mutex
	live map[string]*liveLog // by file name
}

// liveLog is a log that is being written.
type liveLog struct {
	file *os.File
	more chan struct{} // closed and replaced when the file has grown, closed at the end
}

// OpenLogs opens the store in dir, which is made if it is missing. It keeps at
// most files logs of ended builds, and of these the newest that fit in bytes.
func OpenLogs(dir string, files int, bytes int64) (*Logs, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return &Logs{dir: dir, files: files, bytes: bytes, live: make(map[string]*liveLog)}, nil
}

// begin starts the log of a build anew.
func (s *Logs) begin(id queue.BuildID) error { return s.open(id, os.O_TRUNC) }

// resume goes on with the log of a build.
func (s *Logs) resume(id queue.BuildID) error { return s.open(id, os.O_APPEND) }

func (s *Logs) open(id queue.BuildID, how int) error {
	name := logName(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.live[name]; old != nil {
		s.endLocked(name, old)
	}
	f, err := os.OpenFile(filepath.Join(s.dir, name), os.O_CREATE|os.O_WRONLY|how, 0o600)
	if err != nil {
		return err
	}
	s.live[name] = &liveLog{file: f, more: make(chan struct{})}
	return nil
}

// add appends to a log that was begun and has not ended.
func (s *Logs) add(id queue.BuildID, p []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.live[logName(id)]
	if l == nil {
		return ErrNoLog
	}
	_, err := l.file.Write(p)
	close(l.more)
	l.more = make(chan struct{})
	return err
}

// end ends a log, and removes old logs beyond the bounds. A log that is not live is no error.
func (s *Logs) end(id queue.BuildID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.live[logName(id)]; l != nil {
		s.endLocked(logName(id), l)
		s.prune()
	}
}

func (s *Logs) endLocked(name string, l *liveLog) {
	_ = l.file.Close() // all writes have been answered
	close(l.more)
	delete(s.live, name)
}

// prune removes the oldest ended logs until both bounds hold. Logs that it
// cannot read or remove are tried again at the end of the next log.
func (s *Logs) prune() {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return
	}
	var ended []fs.FileInfo
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && s.live[e.Name()] == nil {
			ended = append(ended, info)
		}
	}
	sort.Slice(ended, func(i, j int) bool {
		if !ended[i].ModTime().Equal(ended[j].ModTime()) {
			return ended[i].ModTime().After(ended[j].ModTime())
		}
		return ended[i].Name() < ended[j].Name()
	})
	var total int64
	for i, info := range ended {
		total += info.Size()
		if i >= s.files || i > 0 && total > s.bytes {
			_ = os.Remove(filepath.Join(s.dir, info.Name()))
		}
	}
}

// Open returns the log of a build. Error: ErrNoLog.
func (s *Logs) Open(id queue.BuildID) (Log, error) {
	l := fileLog{logs: s, name: logName(id)}
	if _, err := os.Stat(l.path()); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, ErrNoLog
		}
		return nil, err
	}
	return l, nil
}

// grown returns a channel that is closed when the log has grown or ended, or
// nil when it has ended.
func (s *Logs) grown(name string) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.live[name]; l != nil {
		return l.more
	}
	return nil
}

// logName returns the file of a build's log. An id that is not a plain word is
// hashed, so that no id leads out of the directory.
func logName(id queue.BuildID) string {
	plain := id != "" && len(id) <= 64
	for _, r := range id {
		plain = plain && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_')
	}
	if !plain {
		id = "x." + queue.BuildID(digest.Of("log1", string(id))[:32])
	}
	return string(id) + ".log"
}

// fileLog is a Log by its file.
type fileLog struct {
	logs *Logs
	name string
}

func (l fileLog) path() string { return filepath.Join(l.logs.dir, l.name) }

// Read implements Log.
func (l fileLog) Read(cursor int64) (Chunk, error) {
	live := l.logs.grown(l.name) != nil // before reading: later output is in a later chunk
	f, err := os.Open(l.path())
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return Chunk{}, ErrNoLog
		}
		return Chunk{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return Chunk{}, err
	}
	if cursor < 0 || cursor > info.Size() {
		cursor = 0
	}
	buf := make([]byte, min(chunkBytes, info.Size()-cursor))
	n, err := f.ReadAt(buf, cursor)
	if err != nil && !errors.Is(err, io.EOF) {
		return Chunk{}, err
	}
	next := cursor + int64(n)
	return Chunk{Text: string(buf[:n]), Next: next, End: !live && next >= info.Size()}, nil
}

// Follow implements Log.
func (l fileLog) Follow(ctx context.Context, cursor int64) (Chunk, error) {
	for {
		more := l.logs.grown(l.name)
		c, err := l.Read(cursor)
		if err != nil || c.Text != "" || c.End {
			return c, err
		}
		select {
		case <-more: // never nil here, or the log would have ended
		case <-ctx.Done():
			return Chunk{}, ctx.Err()
		}
	}
}
