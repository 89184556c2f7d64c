package server

import (
	"os"
	"strings"
	"sync"
	"time"
)

// clockVariable names a file that holds how far the clock of a server is off, such as
// -1h. `submitqueue chaos` uses it to make a server's clock jump; nothing else sets it.
const clockVariable = "SUBMITQUEUE_CLOCK"

// wallClock returns the clock of a server: the machine's, unless clockVariable is set.
func wallClock() func() time.Time {
	path := os.Getenv(clockVariable)
	if path == "" {
		return time.Now
	}
	c := &skewed{path: path}
	return c.now
}

// skewed is a clock that is off by the duration in a file. Like a machine's clock that
// somebody sets, it jumps, and its readings have no monotonic part that would hide the
// jump.
type skewed struct {
	path string

	mu   sync.Mutex
	read time.Time // when the file was looked at last
	off  time.Duration
}

// skewEvery is how often the file is looked at.
const skewEvery = 20 * time.Millisecond

func (c *skewed) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if now.Sub(c.read) >= skewEvery {
		c.read = now
		if text, err := os.ReadFile(c.path); err == nil {
			if d, err := time.ParseDuration(strings.TrimSpace(string(text))); err == nil {
				c.off = d
			}
		}
	}
	return now.Round(0).Add(c.off)
}
