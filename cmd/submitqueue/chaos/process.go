//go:build unix

package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// server is the product in a separate process.
type server struct {
	program string
	args    []string
	data    string
	env     []string // beside the environment of this process
	log     *os.File

	mu  sync.Mutex
	cmd *exec.Cmd
	url string
	key string
}

const startLimit = time.Minute

// start starts the server, and waits until it answers.
func (s *server) start(ctx context.Context) error {
	at := filepath.Join(s.data, "client.json")
	if err := os.Remove(at); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	cmd := exec.Command(s.program, s.args...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
	cmd.Env = append(cmd.Env, s.env...)
	cmd.Stdout, cmd.Stderr = s.log, s.log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // an interrupt at the terminal must reach only this process
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("the server cannot be started: %w", err)
	}
	s.mu.Lock()
	s.cmd, s.url = cmd, ""
	s.mu.Unlock()
	err := until(ctx, startLimit, func() bool {
		var f struct{ URL, Token string }
		text, err := os.ReadFile(at)
		if err != nil || json.Unmarshal(text, &f) != nil || f.URL == "" {
			return false
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.url, s.key = f.URL, f.Token
		return true
	})
	if err != nil {
		return fmt.Errorf("the server does not answer %s after its start", startLimit)
	}
	return nil
}

// signal sends a signal to the server, which may have ended.
func (s *server) signal(sig os.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd != nil {
		_ = s.cmd.Process.Signal(sig)
	}
}

// end ends the server, and waits for its end up to limit; then it kills the server. It
// returns the exit status.
func (s *server) end(sig os.Signal, limit time.Duration) (code int, err error) {
	s.mu.Lock()
	cmd := s.cmd
	s.mu.Unlock()
	_ = cmd.Process.Signal(sig)
	killed := time.AfterFunc(limit, func() { _ = cmd.Process.Kill() })
	defer killed.Stop()
	err = cmd.Wait()
	if ended := (*exec.ExitError)(nil); errors.As(err, &ended) {
		return ended.ExitCode(), nil
	}
	return 0, err
}

// land asks the API to land a branch. Calls with the same key are one command. The
// caller has to expect errors: the server may be away.
func (s *server) land(ctx context.Context, key string, in map[string]any, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "/api/land", bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Idempotency-Key", key)
	return s.ask(r, out)
}

// get reads from the API, as land does.
func (s *server) get(ctx context.Context, path string, out any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	return s.ask(r, out)
}

// ask sends a request to the server's present address. The URL of the request is only a path.
func (s *server) ask(r *http.Request, out any) error {
	s.mu.Lock()
	base, token := s.url, s.key
	s.mu.Unlock()
	at, err := url.Parse(base)
	if base == "" || err != nil {
		return errors.New("the server is away")
	}
	ctx, cancel := context.WithTimeout(r.Context(), 5*time.Second)
	defer cancel()
	r = r.WithContext(ctx)
	r.URL.Scheme, r.URL.Host = at.Scheme, at.Host
	r.Header.Set("Authorization", "Bearer "+token)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 8<<20))
	if err != nil {
		return err
	}
	if answer.StatusCode/100 != 2 {
		return fmt.Errorf("%s: %.200s", answer.Status, text)
	}
	return json.Unmarshal(text, out)
}

// left returns the processes with a path below a folder in the command line or as working folder.
func left(dir string) []string {
	entries, _ := filepath.Glob("/proc/[0-9]*")
	var out []string
	for _, p := range entries {
		line, _ := os.ReadFile(filepath.Join(p, "cmdline"))
		cwd, _ := os.Readlink(filepath.Join(p, "cwd"))
		if strings.HasPrefix(cwd, dir+"/") || bytes.Contains(line, []byte(dir+"/")) {
			out = append(out, filepath.Base(p)+" "+strings.TrimSpace(strings.ReplaceAll(string(line), "\x00", " ")))
		}
	}
	return out
}

// until waits for a condition, at most up to limit.
func until(ctx context.Context, limit time.Duration, ok func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// pause waits, unless ctx ends before.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
