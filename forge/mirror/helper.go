package mirror

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os/exec"
	"syscall"
)

// helper is a git process that stays and answers one caller at a time. It is
// started when first asked, and again after it has died, answered out of order
// or been left in the middle of an answer by a cancelled caller.
type helper struct {
	repo *repository
	args []string
	// begin, where set, prepares a new process for requests.
	begin func(p *process) error
	turn  chan struct{} // holds a token while a caller talks to the process
	live  *process
}

// process is the running git of a helper.
type process struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	errs *tail
	used int // calls answered
	owed int // answers still to come that no caller waits for
}

func (m *repository) helper(args ...string) *helper {
	return &helper{repo: m, args: args, turn: make(chan struct{}, 1)}
}

// call lets ask talk to the process. When ask fails on a process that had answered
// before, the process counts as dead and ask is called once more on a new one, so
// ask must start from the beginning each time. In no case does a later caller read
// an answer to this one.
func (h *helper) call(ctx context.Context, ask func(p *process) error) error {
	select {
	case h.turn <- struct{}{}:
		defer func() { <-h.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	for {
		fresh := h.live == nil || h.live.used == 0
		err := h.once(ctx, ask)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if fresh {
			return err
		}
	}
}

func (h *helper) once(ctx context.Context, ask func(p *process) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if h.live == nil {
		p, err := h.start()
		if err != nil {
			return err
		}
		h.live = p
	}
	p := h.live
	stop := context.AfterFunc(ctx, p.kill)
	var err error
	if p.used == 0 && h.begin != nil {
		err = h.begin(p)
	}
	if err == nil {
		err = ask(p)
	}
	cancelled := !stop()
	if err == nil && !cancelled {
		p.used++
		return nil
	}
	h.live = nil
	p.kill()
	waited := p.cmd.Wait()
	if err == nil {
		return nil
	}
	if len(p.errs.bytes) > 0 {
		return fmt.Errorf("%w (%w)", gitError(h.args[0], p.cmd, p.errs, waited), err)
	}
	return fmt.Errorf("git %s: %w", h.args[0], err)
}

func (h *helper) start() (*process, error) {
	cmd := h.repo.command(context.Background(), invocation{args: h.args})
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	errs := &tail{limit: 4 << 10}
	cmd.Stderr = errs
	if err := cmd.Start(); err != nil {
		return nil, gitError(h.args[0], cmd, errs, err)
	}
	return &process{cmd: cmd, in: in, out: bufio.NewReaderSize(out, 64<<10), errs: errs}, nil
}

// stop ends the process, if it runs. The next call starts another.
func (h *helper) stop() {
	h.turn <- struct{}{}
	defer func() { <-h.turn }()
	h.end()
}

// end ends the process, if it runs. The caller has the turn.
func (h *helper) end() {
	if p := h.live; p != nil {
		h.live = nil
		p.in.Close()
		p.kill()
		_ = p.cmd.Wait()
	}
}

func (p *process) kill() { _ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) }

// send writes a request while the caller reads answers: git stops reading when
// nobody reads its output. The channel gets the error of the writing, or nil.
func (p *process) send(request []byte) <-chan error {
	done := make(chan error, 1)
	if len(request) <= 4096 {
		_, err := p.in.Write(request)
		done <- err
		return done
	}
	go func() {
		_, err := p.in.Write(request)
		done <- err
	}()
	return done
}

// field reads up to a delimiter and returns what is before it.
func (p *process) field(delim byte) (string, error) {
	s, err := p.out.ReadString(delim)
	if err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return "", err
	}
	return s[:len(s)-1], nil
}
