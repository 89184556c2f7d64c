package workers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

// roomsHaveTmp says that steps with a room see their temporary files as /tmp.
const roomsHaveTmp = true

func sandboxesWork() error { return errNoSandbox }

// claimUID claims a user id on this machine by a name of an abstract socket, which the kernel
// frees when this process ends, in any way.
func claimUID(uid int) (io.Closer, error) {
	l, err := net.Listen("unix", "@submitqueue-uid-"+strconv.Itoa(uid))
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, errClaimed
	}
	if err != nil {
		return nil, fmt.Errorf("claim user id %d: %w", uid, err)
	}
	return l, nil
}

// guestsWork says why steps cannot have users of their own here, if so. It tries what a
// step needs: to start as one, to be found, and to be killed.
func guestsWork(uids UIDs) error {
	if os.Getuid() != 0 {
		return errNotRoot
	}
	g, err := claimGuest(uids, 0)
	if err != nil {
		return err
	}
	defer g.release()
	ctx, found := context.WithTimeout(context.Background(), 10*time.Second)
	defer found()
	go func() {
		for ctx.Err() == nil && (session{uid: g.uid}).alive() == 0 {
			time.Sleep(time.Millisecond)
		}
		found()
	}()
	var out limited
	c := command{argv: []string{"/bin/sh", "-c", "sleep 60"}, dir: "/", env: []string{"PATH=/usr/local/bin:/usr/bin:/bin"},
		guest: g, timeout: time.Minute, grace: time.Second, out: &out}
	e, err := c.run(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("this process may not switch to another user: %w", err)
	case errors.Is(ctx.Err(), context.DeadlineExceeded) || !e.stopped:
		return fmt.Errorf("processes of another user cannot be run and seen from here: %s %s", how(e), lastBytes(clean(out.String()), 200))
	case e.left > 0:
		return errors.New("processes of another user cannot be killed from here")
	}
	return nil
}

// prSetNoNewPrivs is PR_SET_NO_NEW_PRIVS of prctl(2).
const prSetNoNewPrivs = 38

// startGuest starts a command as the guest. No program that it runs gives it more rights than
// the guest has, even with setuid bits or capabilities on the file.
func startGuest(cmd *exec.Cmd, g *guest) error {
	cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(g.uid), Gid: uint32(g.uid)} // no other groups
	if f := g.fenceOf(); f != nil {
		cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, f.FD()
	}
	started := make(chan error, 1)
	go func() {
		// The flag stays with the thread and goes to what it starts: the thread ends
		// with this goroutine, which never unlocks it.
		runtime.LockOSThread()
		if _, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, prSetNoNewPrivs, 1, 0, 0, 0, 0); errno != 0 {
			started <- fmt.Errorf("no new privileges: %w", errno)
			return
		}
		started <- cmd.Start()
	}()
	return <-started
}

// endUser is end for all processes of a guest. It returns 0 only if all are certain to be gone:
// they were killed at one moment, so that no unseen child is left.
func (s session) endUser(grace time.Duration) int {
	if s.alive() > 0 {
		s.ask()
		s.goneWithin(grace, nil)
	}
	for limit := time.Now().Add(killLimit); ; {
		if s.killAtOnce() && s.goneWithin(time.Second, nil) {
			return 0
		}
		if time.Now().After(limit) {
			return max(1, s.alive())
		}
		s.kill() // they could stop or kill the process that kills them
	}
}

// capSetPCap is CAP_SETPCAP of capabilities(7).
const capSetPCap = 8

// killAtOnce kills all processes of the user in one system call, during which none can fork: a
// process that forks and ends again and again is in no list for long. It reports whether that
// was done. Processes of the user may stop or kill the killing process, but not take it over:
// it has a capability that they have not.
func (s session) killAtOnce() bool {
	cmd := exec.Command("/bin/sh", "-c", "kill -s KILL -- -1")
	cmd.Dir, cmd.Env, cmd.WaitDelay = "/", []string{}, time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, AmbientCaps: []uintptr{capSetPCap}}
	err := startGuest(cmd, &guest{uid: s.uid})
	if err != nil { // the capability is not ours to give
		cmd = exec.Command("/bin/sh", "-c", "kill -s KILL -- -1")
		cmd.Dir, cmd.Env = "/", []string{}
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		err = startGuest(cmd, &guest{uid: s.uid})
	}
	if err != nil {
		return false
	}
	late := time.AfterFunc(2*time.Second, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	_ = cmd.Wait()       // the state says it all
	const nobodyElse = 1 // on the whole machine
	code := cmd.ProcessState.ExitCode()
	return code == 0 || code == nobodyElse
}
