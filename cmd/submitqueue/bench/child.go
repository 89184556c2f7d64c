package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

// benchChild is the server of a bench as the bench sees it.
type benchChild struct {
	cmd   *exec.Cmd
	stdin io.Closer
	url   string
	redis string
	begun time.Duration // CPU used until main was proven

	mu       sync.Mutex
	changed  chan struct{}
	verdicts map[int]benchVerdict
	building map[int]time.Time // when a build was first asked for
	stopped  []string
	idle     bool
	count    *benchCount
	ended    error // why no more reports come
}

type benchVerdict struct {
	phase queue.Phase
	at    time.Time
	cpu   time.Duration // CPU time that the server, and those of its git processes that have ended, had used when the verdict was reported
}

// startBenchChild starts the server and waits until it takes commands.
func startBenchChild(ctx context.Context, o benchOrders) (*benchChild, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &benchChild{changed: make(chan struct{}), verdicts: map[int]benchVerdict{}, building: map[int]time.Time{}}
	c.cmd = exec.Command(self, "bench", "server")
	c.cmd.Env = append(os.Environ(), benchChildVariable+"=1")
	c.cmd.Stderr = os.Stderr
	in, err := c.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("the server cannot be started: %w", err)
	}
	c.stdin = in
	go c.listen(out)
	if err := json.NewEncoder(in).Encode(o); err != nil {
		_, stopped := c.stop()
		return nil, errors.Join(fmt.Errorf("the server does not take its orders: %w", err), stopped)
	}
	if err := c.until(ctx, func() bool { return c.url != "" }); err != nil {
		_, stopped := c.stop()
		return nil, errors.Join(fmt.Errorf("the server did not start; its log is %s: %w", filepath.Join(o.Data, "server.log"), err), stopped)
	}
	c.begun = processCPU(c.cmd.Process.Pid)
	return c, nil
}

// benchChildVariable is set for the server of a bench. Its value has no meaning.
const benchChildVariable = "SUBMITQUEUE_BENCH_SERVER"

func (c *benchChild) listen(out io.Reader) {
	in := bufio.NewScanner(out)
	var err error
	for in.Scan() && err == nil {
		var r benchReport
		if err = json.Unmarshal(in.Bytes(), &r); err != nil {
			err = fmt.Errorf("the server says %.100q: %w", in.Text(), err)
			break
		}
		c.mu.Lock()
		switch {
		case r.Ready != "":
			c.url, c.redis = r.Ready, r.Redis
		case r.Stopped != "":
			c.stopped = append(c.stopped, r.Stopped)
		case r.Building:
			if c.building[r.Number].IsZero() {
				c.building[r.Number] = time.Unix(0, r.At)
			}
		case r.Number != 0:
			c.verdicts[r.Number] = benchVerdict{r.Verdict, time.Unix(0, r.At), processCPU(c.cmd.Process.Pid)}
			c.idle = false
		case r.Finished != nil:
			c.count = r.Finished
		case r.Idle:
			c.idle = true
		}
		c.signal()
		c.mu.Unlock()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended = errors.Join(err, in.Err()); c.ended == nil {
		c.ended = errors.New("the server has ended")
	}
	c.signal()
	_, _ = io.Copy(io.Discard, out)
}

// signal wakes the goroutines that wait; the caller holds mu.
func (c *benchChild) signal() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// until waits until ok is true after a report of the server; ok is called under the lock.
func (c *benchChild) until(ctx context.Context, ok func() bool) error {
	for {
		c.mu.Lock()
		done, changed, ended := ok(), c.changed, c.ended
		c.mu.Unlock()
		switch {
		case done:
			return nil
		case ended != nil:
			return ended
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// stop ends the server and returns its counts.
func (c *benchChild) stop() (benchCount, error) {
	_ = c.stdin.Close() // ends the server, unless it has ended
	ended := time.AfterFunc(time.Minute, func() { _ = c.cmd.Process.Kill() })
	defer ended.Stop()
	_ = c.until(context.Background(), func() bool { return c.ended != nil })
	if err := c.cmd.Wait(); err != nil {
		return benchCount{}, fmt.Errorf("the server: %w", err)
	}
	if c.count == nil {
		return benchCount{}, errors.New("the server ended without its counts")
	}
	return *c.count, nil
}

// cpu is the CPU time that the server and its git processes have used since it was
// ready. Call stop first.
func (c *benchChild) cpu() time.Duration {
	return c.cmd.ProcessState.UserTime() + c.cmd.ProcessState.SystemTime() - c.begun
}

// processCPU is the user and system time of a process and of its children that have
// ended; 0 where the system does not tell it.
func processCPU(pid int) time.Duration {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(raw), ") ") // after the name, which may hold spaces
	fields := strings.Fields(rest)
	const utime, cstime = 11, 14 // counted from the field after the name
	if len(fields) <= cstime {
		return 0
	}
	ticks := 0
	for _, f := range fields[utime : cstime+1] {
		n, err := strconv.Atoi(f)
		if err != nil {
			return 0
		}
		ticks += n
	}
	const tick = 10 * time.Millisecond // USER_HZ is 100 on every Linux that Go runs on
	return time.Duration(ticks) * tick
}

// verdictsNow returns the verdicts so far.
func (c *benchChild) verdictsNow() map[int]benchVerdict {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.verdicts)
}
