package history

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/submitqueue/submitqueue/queue"
)

// Version is the version of the format that is read and written.
const Version = 1

// Header is the first line of a file.
type Header struct {
	History int    `json:"history"` // Version
	Queue   string `json:"queue,omitempty"`
	Written string `json:"written,omitempty"` // when, by RFC 3339
}

// mostLine bounds a line: no row is nearly as long.
const mostLine = 16 << 20

// Reader reads a history, row by row.
type Reader struct {
	header  Header
	r       *bufio.Reader
	line    int
	torn    bool
	unknown int
}

// errBegun says that a file was begun, and its first line was not written: the disk was full, or
// the writer was killed.
var errBegun = errors.New("it was only begun")

// headerBegins is what the first line of each history begins with.
const headerBegins = `{"history":`

// NewReader reads the header of a file, which may be gzip. An error names its line.
func NewReader(from io.Reader) (*Reader, error) {
	b := bufio.NewReaderSize(from, 1<<16)
	if magic, _ := b.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(b)
		if err != nil {
			return nil, fmt.Errorf("line 1: this is no gzip: %w", err)
		}
		b = bufio.NewReaderSize(z, 1<<16)
	}
	r := &Reader{r: b}
	text, whole, err := r.next()
	switch {
	case err == io.EOF:
		return nil, fmt.Errorf("line 1: the history is empty: %w", errBegun)
	case err != nil:
		return nil, err
	}
	if err := json.Unmarshal(text, &r.header); err != nil || r.header.History == 0 {
		if !whole && err != nil && (bytes.HasPrefix(text, []byte(headerBegins)) || bytes.HasPrefix([]byte(headerBegins), text)) {
			return nil, fmt.Errorf("line 1: it ends in the middle of its header: %w", errBegun)
		}
		return nil, errors.New(`line 1: this is no history: its first line is not {"history":1,...}`)
	}
	if r.header.History != Version {
		return nil, fmt.Errorf("line 1: format %d of histories; only %d can be read here", r.header.History, Version)
	}
	return r, nil
}

// Header returns the file's first line.
func (r *Reader) Header() Header { return r.header }

// Line returns the number of the line that was read last.
func (r *Reader) Line() int { return r.line }

// Torn reports, after Next has returned io.EOF, whether the last line was cut off: its
// writer was killed. It is left out.
func (r *Reader) Torn() bool { return r.torn }

// Unknown returns how many rows have been left out because a newer version wrote them.
func (r *Reader) Unknown() int { return r.unknown }

// Next returns the next row, or io.EOF. Any other error names its line, and ends the file.
// Headers between rows, of files that were put together, are left out.
func (r *Reader) Next() (queue.Row, error) {
	for {
		text, whole, err := r.next()
		if err != nil {
			return queue.Row{}, err
		}
		var l struct {
			queue.Row
			Header
		}
		if err := json.Unmarshal(text, &l); err != nil {
			var syntax *json.SyntaxError
			if !whole && errors.As(err, &syntax) {
				r.torn = true
				return queue.Row{}, io.EOF
			}
			return queue.Row{}, fmt.Errorf("line %d: %w", r.line, err)
		}
		switch {
		case l.History == Version:
			continue
		case l.History != 0:
			return queue.Row{}, fmt.Errorf("line %d: format %d of histories; only %d can be read here", r.line, l.History, Version)
		}
		if err := l.Row.Check(); err != nil {
			return queue.Row{}, fmt.Errorf("line %d: %w", r.line, err)
		}
		if l.Row.Kind() == "" {
			r.unknown++
			continue
		}
		return l.Row, nil
	}
}

// next returns the next line that is not empty, and whether its end was there.
func (r *Reader) next() (text []byte, whole bool, err error) {
	for {
		var line []byte
		for {
			part, err := r.r.ReadSlice('\n')
			line = append(line, part...)
			if len(line) > mostLine {
				return nil, false, fmt.Errorf("line %d: it is longer than %d MiB", r.line+1, mostLine>>20)
			}
			if err == bufio.ErrBufferFull {
				continue
			}
			if err != nil && err != io.EOF && !errors.Is(err, io.ErrUnexpectedEOF) {
				return nil, false, fmt.Errorf("line %d: %w", r.line+1, err)
			}
			whole = err == nil
			r.torn = r.torn || errors.Is(err, io.ErrUnexpectedEOF)
			break
		}
		if len(line) > 0 {
			r.line++
		}
		if text := bytes.TrimSpace(line); len(text) > 0 {
			return text, whole, nil
		}
		if !whole {
			return nil, false, io.EOF
		}
	}
}
