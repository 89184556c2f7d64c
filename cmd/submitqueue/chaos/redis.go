//go:build unix

package chaos

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// redis is a redis-server behind a wire that can be cut.
type redis struct {
	dir    string
	socket string
	cmd    *exec.Cmd
	wire   *wire
}

func newRedis(ctx context.Context, dir string) (*redis, error) {
	r := &redis{dir: dir, socket: filepath.Join(dir, "s")}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := r.start(ctx); err != nil {
		return nil, err
	}
	var err error
	r.wire, err = newWire(r.socket)
	return r, err
}

// start starts redis-server on the present files. It syncs once a second, so that a
// loss of power loses the last writes.
func (r *redis) start(ctx context.Context) error {
	r.cmd = exec.Command("redis-server", "--port", "0", "--unixsocket", r.socket, "--dir", r.dir, "--appendonly", "yes", "--appendfsync", "everysec",
		"--save", "", "--aof-load-truncated", "yes", "--logfile", filepath.Join(r.dir, "log"))
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := r.cmd.Start(); err != nil {
		return fmt.Errorf("redis-server cannot be started: %w", err)
	}
	if err := until(ctx, startLimit, func() bool { _, err := r.say("PING"); return err == nil }); err != nil {
		return fmt.Errorf("redis-server does not answer; its log is in %s: %w", r.dir, err)
	}
	return nil
}

// say gives one command, and returns the first line of the answer.
func (r *redis) say(command string) (string, error) {
	c, err := net.DialTimeout("unix", r.socket, time.Second)
	if err != nil {
		return "", err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return "", err
	}
	if _, err := fmt.Fprintf(c, "%s\r\n", command); err != nil {
		return "", err
	}
	line, err := bufio.NewReader(c).ReadString('\n')
	if err == nil && !strings.HasPrefix(line, "+") {
		err = errors.New(strings.TrimSpace(line))
	}
	return line, err
}

// kill kills redis-server.
func (r *redis) kill() {
	_ = r.cmd.Process.Kill()
	_ = r.cmd.Wait() // it was killed: the error says only that
}

// lose cuts off the last bytes of the file in which redis-server has its writes.
func (r *redis) lose(bytes int64) error {
	logs, err := filepath.Glob(filepath.Join(r.dir, "appendonlydir", "*.incr.aof"))
	if err != nil || len(logs) == 0 {
		return err
	}
	slices.Sort(logs)
	last := logs[len(logs)-1]
	info, err := os.Stat(last)
	if err != nil {
		return err
	}
	return os.Truncate(last, max(0, info.Size()-bytes))
}

// wire carries connections to a socket, unless it is cut.
type wire struct {
	listener net.Listener
	mu       sync.Mutex
	state    wireState
	open     map[net.Conn]bool
}

type wireState int

const (
	wireWhole wireState = iota
	wireHangs           // nothing is carried, and connections stay open
	wireDead            // connections end, and none begins
)

func newWire(socket string) (*wire, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	w := &wire{listener: l, open: map[net.Conn]bool{}}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go w.carry(c, socket)
		}
	}()
	return w, nil
}

func (w *wire) addr() string { return w.listener.Addr().String() }

// set cuts the wire, or makes it whole.
func (w *wire) set(s wireState) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state = s
	if s != wireHangs { // connections that hung have lost bytes
		for c := range w.open {
			_ = c.Close()
		}
	}
}

func (w *wire) is() wireState {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.state
}

func (w *wire) carry(c net.Conn, socket string) {
	far, err := net.DialTimeout("unix", socket, time.Second)
	if err != nil || w.is() == wireDead {
		_ = c.Close()
		if err == nil {
			_ = far.Close()
		}
		return
	}
	w.mu.Lock()
	w.open[c], w.open[far] = true, true
	w.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { w.copy(far, c) })
	both.Go(func() { w.copy(c, far) })
	both.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.open, c)
	delete(w.open, far)
}

// copy carries one way. While the wire hangs, sent bytes are lost, and the connection
// ends when the wire is whole again.
func (w *wire) copy(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		if w.is() == wireHangs {
			continue
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// close ends the wire and redis-server.
func (r *redis) close() {
	_ = r.wire.listener.Close()
	r.wire.set(wireDead)
	r.kill()
}
