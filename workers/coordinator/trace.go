package coordinator

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/workers"
)

// maxTrace is how many bytes are read of a job's trace, and maxTraceLine of one line.
const (
	maxTrace     = 1 << 30
	maxTraceLine = 256 << 10
)

// trace takes a piece of a job's output, strictly in order.
func (c *Coordinator) trace(w http.ResponseWriter, r *http.Request) {
	j := c.jobOf(w, r, "")
	if j == nil {
		return
	}
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 4<<20))
	if err != nil {
		answer(w, http.StatusBadRequest, message{"400 Bad Request: the piece of the trace is cut off, or too large"})
		return
	}
	var from, to int64
	if _, err := fmt.Sscanf(r.Header.Get("Content-Range"), "%d-%d", &from, &to); err != nil {
		answer(w, http.StatusBadRequest, message{"400 Bad Request: Content-Range is FIRST-LAST"})
		return
	}
	j.mu.Lock()
	fits, begun := from == j.length && j.trial != nil, j.begun
	if fits {
		j.take(raw)
	}
	if begun != j.begun {
		c.saveLocked(j)
	}
	length := j.length
	j.mu.Unlock()
	c.beat(j)
	c.status(w, j)
	w.Header().Set("Range", fmt.Sprintf("0-%d", length))
	if !fits {
		answer(w, http.StatusRequestedRangeNotSatisfiable, message{"416 Range Not Satisfiable"})
		return
	}
	w.WriteHeader(http.StatusAccepted)
}

// take reads a piece of the trace. Bytes after the first maxTrace are only counted: a runner sends
// a refused piece again for ever.
func (j *job) take(raw []byte) {
	j.sum = crc32.Update(j.sum, crc32.IEEETable, raw)
	read := min(int64(len(raw)), max(0, maxTrace-j.length))
	j.length += int64(len(raw))
	raw = raw[:read]
	for len(raw) > 0 {
		part, rest, ended := bytes.Cut(raw, []byte{'\n'})
		if room := maxTraceLine - len(j.line); len(part) > room {
			part, j.long = part[:room], true
		}
		j.line = append(j.line, part...)
		if ended {
			j.stamped(string(j.line))
			j.line, j.long = j.line[:0], false
		}
		raw = rest
	}
}

// stamp matches what gitlab-runner puts before each line if FF_TIMESTAMPS is on, as it is by
// default from 18.7 on: the time, the stream, and + if the line goes on where the last line of the
// stream ended (common/buildlogger/internal/timestamper). Jobs turn it off, but the configuration
// of a runner goes before that.
var stamp = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z ([0-9a-f]{2}[OE])([ +])`)

// partial is the length of a stamped line from which on it may go on in the next one of its
// stream. Shorter ones may, too, if they end with a carriage return.
const partial = 8 << 10

// stamped takes a line as it came, and reads it without its stamp. The first line of a trace
// tells whether there are stamps: a step can print lines that look so. A line that may go on waits
// for the next one of its stream; lines of other streams can come between.
func (j *job) stamped(line string) {
	at := stamp.FindStringSubmatchIndex(line)
	if !j.first {
		j.first, j.stamps = true, at != nil
	}
	if !j.stamps || at == nil {
		j.flush()
		j.read(line)
		return
	}
	stream, text := line[at[2]:at[3]], line[at[1]:]
	goesOn := len(line) > partial || strings.HasSuffix(text, "\r")
	if held, waits := j.held[stream]; waits && line[at[4]] == '+' {
		text = held + text[:min(len(text), max(0, maxTraceLine-len(held)))]
	} else if waits {
		j.read(held)
	}
	if delete(j.held, stream); !goesOn {
		j.read(text)
		return
	}
	if j.held == nil {
		j.held = map[string]string{}
	}
	j.held[stream] = text
}

// flush reads the stamped lines that wait.
func (j *job) flush() {
	for _, stream := range slices.Sorted(maps.Keys(j.held)) {
		j.read(j.held[stream])
	}
	j.held = nil
}

// ends matches the text that the script prints after its mark when the step has ended.
var ends = regexp.MustCompile(`^(end \d+( \d+)?|timeout)$`)

// read reads a line of the trace. Lines of the runner itself, before and after the step, go
// only to the log.
func (j *job) read(line string) {
	text := strings.TrimSuffix(line, "\r")
	if at := strings.Index(text, j.mark+" "); at > 0 && j.shown && !j.finished && ends.MatchString(text[at+len(j.mark)+1:]) {
		_, _ = j.trial.Write([]byte(text[:at] + "\n")) // the last line of the step, which has no end
		text = text[at:]
	}
	rest, marked := strings.CutPrefix(text, j.mark+" ")
	switch {
	case marked && !j.shown:
		if commit, ok := strings.CutPrefix(rest, "begin "); ok {
			if commit == string(j.a.Build.Commit) {
				j.shown = true
				if j.begun.IsZero() {
					j.begun = time.Now()
				}
			} else {
				j.other = commit
			}
		} else if path, ok := strings.CutPrefix(rest, "pointer ./"); ok {
			j.pointer = workers.Clean(path[:min(len(path), 200)])
		}
	case marked && !j.finished:
		if how, ok := strings.CutPrefix(rest, "end "); ok {
			code, seconds, _ := strings.Cut(how, " ")
			if n, err := strconv.Atoi(code); err == nil {
				j.finished, j.code = true, n
			}
			if n, err := strconv.Atoi(seconds); err == nil && n >= 0 {
				j.seconds = &n
			}
		} else if rest == "timeout" {
			j.timeout = true
		}
	case strings.Contains(text, j.mark): // the script itself, which some runners print
	case j.shown && !j.finished:
		_, _ = j.trial.Write([]byte(line + "\n")) // never fails
	default:
		_, _ = io.WriteString(j.log, j.mask(workers.Clean(text))+"\n")
	}
}
