//go:build unix

package redisstore

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

// privateWorks says that this system can run a private server.
const privateWorks = true

const (
	socketMax   = 100              // bytes of a socket's path; systems allow 104 or 108
	stopLimit   = 10 * time.Second // for a server to end on its own
	restartMin  = 50 * time.Millisecond
	restartMax  = 5 * time.Second
	tailMax     = 4 << 10 // bytes of a server's last words
	readyPoll   = 5 * time.Millisecond
	outputDelay = 2 * time.Second // for a server's own children to close its output
)

// private is a redis-server that is our child.
type private struct {
	program string
	dir     string
	// lock is handed to the server too: the folder stays locked until both of us
	// have ended, so that no other server starts beside one that is dying.
	lock *os.File
	log  *slog.Logger

	socket   string
	password string
	last     *tail
	exited   chan struct{} // closed when it first ends
	once     sync.Once
	stop     chan struct{}
	done     chan struct{}
}

// startPrivate starts the server, waits until it answers, and keeps it running.
func startPrivate(ctx context.Context, p *private) (owned, error) {
	p.password = rand.Text()
	p.last, p.exited, p.stop, p.done = &tail{}, make(chan struct{}), make(chan struct{}), make(chan struct{})
	p.socket = filepath.Join(p.dir, "redis.sock")
	scratch := ""
	if len(p.socket) > socketMax {
		var err error
		if scratch, err = os.MkdirTemp("", "submitqueue-"); err != nil {
			return owned{}, fmt.Errorf("redisstore: a folder for the socket: %w", err)
		}
		p.socket = filepath.Join(scratch, "redis.sock")
	}
	go p.supervise()
	end := func() error {
		close(p.stop)
		<-p.done
		if scratch != "" {
			return os.RemoveAll(scratch)
		}
		return nil
	}
	u := url.URL{Scheme: "unix", User: url.UserPassword("", p.password), Path: p.socket}
	if err := p.ready(ctx); err != nil {
		return owned{}, errors.Join(err, end())
	}
	return owned{url: u.String(), close: end}, nil
}

// ready waits until the server answers, which it does once it has read its data.
func (p *private) ready(ctx context.Context) error {
	quiet()
	client := redis.NewClient(&redis.Options{Network: "unix", Addr: p.socket, Password: p.password,
		MaxRetries: -1, DialerRetries: 1, DisableIdentity: true, MaintNotificationsConfig: noNotifications()})
	defer client.Close()
	poll := time.NewTicker(readyPoll)
	defer poll.Stop()
	for {
		if client.Ping(ctx).Err() == nil {
			return nil
		}
		select {
		case <-p.exited:
			return fmt.Errorf("redisstore: %s does not start: %s", p.program, p.last)
		case <-ctx.Done():
			return fmt.Errorf("redisstore: %s does not answer: %w: %s", p.program, ctx.Err(), p.last)
		case <-poll.C:
		}
	}
}

// supervise runs the server again and again until it is to stop. It keeps its
// thread, because on Linux the server dies with the thread that started it.
func (p *private) supervise() {
	defer close(p.done)
	runtime.LockOSThread()
	pause := restartMin
	for {
		begin := time.Now()
		err := p.run()
		p.once.Do(func() { close(p.exited) })
		select {
		case <-p.stop:
			return
		default:
		}
		if time.Since(begin) > restartMax {
			pause = restartMin
		}
		p.log.Error("the private redis-server ended and is started again", "err", err, "in", pause, "said", p.last.String())
		select {
		case <-p.stop:
			return
		case <-time.After(pause):
		}
		pause = min(2*pause, restartMax)
	}
}

// run runs the server once. It returns nil when it was told to stop.
func (p *private) run() error {
	p.last.reset()
	cmd := exec.Command(p.program, "-") // "-": the configuration, which has a secret, comes on standard input
	cmd.Dir = p.dir
	cmd.Env = []string{"LC_ALL=C"} // the server must not see our secrets
	cmd.Stdin = strings.NewReader(p.config())
	cmd.Stdout, cmd.Stderr = p.last, p.last
	cmd.ExtraFiles = []*os.File{p.lock}
	cmd.WaitDelay = outputDelay
	// In its own process group, it does not get the Ctrl-C that ends us.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	release, err := startGuarded(cmd)
	if err != nil {
		return err
	}
	defer release()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		return errors.Join(errors.New("it ended"), err)
	case <-p.stop:
	}
	_ = cmd.Process.Signal(syscall.SIGTERM) // an error says that it has ended already
	select {
	case <-ended:
	case <-time.After(stopLimit):
		_ = cmd.Process.Kill()
		<-ended
	}
	return nil
}

// config is the server's configuration.
func (p *private) config() string {
	return strings.Join([]string{
		"port 0",
		"unixsocket " + quote(p.socket),
		"unixsocketperm 700",
		"requirepass " + quote(p.password),
		"dir " + quote(p.dir),
		"appendonly yes",
		"appendfsync always",
		"no-appendfsync-on-rewrite no",
		`save ""`,
		"maxmemory 0",
		"maxmemory-policy noeviction",
		"daemonize no",
		"supervised no",
		`logfile ""`,
		"loglevel warning",
		"always-show-logo no",
	}, "\n") + "\n"
}

// quote writes a text as redis.conf reads it.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			fmt.Fprintf(&b, `\x%02x`, c)
		} else {
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// tail keeps the last bytes that were written to it.
type tail struct {
	mu   sync.Mutex
	data []byte
}

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.data = append(t.data, p...)
	if extra := len(t.data) - tailMax; extra > 0 {
		t.data = append(t.data[:0], t.data[extra:]...)
	}
	return len(p), nil
}

func (t *tail) reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.data = nil
}

// String returns the bytes that were written last.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.TrimSpace(t.data))
}
