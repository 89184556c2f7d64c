package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// children returns the states of the processes that have this parent, by their ids.
func children(t *testing.T, parent int) map[int]string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	found := map[int]string{}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			continue // gone
		}
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(f))); err == nil && len(fields) > 1 && fields[1] == strconv.Itoa(parent) {
			found[pid] = fields[0]
		}
	}
	return found
}

// A server that is process 1 reaps what steps leave behind, runs steps with their true
// exit status, and ends when it is told to.
func TestServerAsProcessOne(t *testing.T) {
	t.Parallel()
	own := func(cmd *exec.Cmd) {
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS}
	}
	try := exec.Command("sh", "-c", "mount --make-rprivate / && mount -t proc proc /proc")
	own(try)
	if out, err := try.CombinedOutput(); err != nil {
		t.Skipf("there are no namespaces of processes to be had here: %v %s", err, out)
	}
	const branches = 4
	c := newCrashed(t, branches)
	w := t.TempDir()
	c.git(w, "clone", "-q", c.bare, ".")
	text, err := os.ReadFile(filepath.Join(w, "test.sh"))
	if err != nil {
		t.Fatal(err)
	}
	c.write(w, "test.sh", `test -z "$SUBMITQUEUE" || for i in 1 2 3 4 5 6 7 8 9; do (setsid sleep 0 &) ; (setsid sleep 100 &) ; done`+"\n"+string(text))
	c.git(w, "commit", "-qam", "Leave processes behind")
	c.git(w, "push", "-q", "origin", "HEAD:main")
	c.wrap = func(cmd *exec.Cmd) {
		shell, err := exec.LookPath("sh")
		if err != nil {
			t.Fatal(err)
		}
		cmd.Args = append([]string{"sh", "-c", `mount --make-rprivate / && mount -t proc proc /proc && exec "$0" "$@"`, cmd.Path}, cmd.Args[1:]...)
		cmd.Path = shell
		own(cmd)
	}
	c.start()
	for n := range branches {
		c.ask(t.Context(), n)
	}
	wait := func(what string, done func() bool) {
		t.Helper()
		for end := time.Now().Add(2 * time.Minute); !done(); {
			if time.Now().After(end) {
				t.Fatalf("waited in vain for %s\n%s", what, tailOf(c.log.String(), 4000))
			}
			<-time.After(20 * time.Millisecond)
		}
	}
	wait("all verdicts", func() bool { return c.decided() == branches })
	first := c.server.Process.Pid
	server := 0
	for pid := range children(t, first) {
		if name, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); err == nil && strings.Contains(string(name), "\x00serve\x00") {
			server = pid
		}
	}
	if server == 0 {
		t.Fatal("process 1 has no server")
	}
	wait("zombies to go", func() bool {
		for _, parent := range []int{first, server} {
			for _, state := range children(t, parent) {
				if state == "Z" {
					return false
				}
			}
		}
		return true
	})
	c.checkMain(branches)
	if code := c.end(syscall.SIGTERM); code != 0 {
		t.Errorf("exit status %d\n%s", code, tailOf(c.log.String(), 2000))
	}
}
