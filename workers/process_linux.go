package workers

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// signal sends sig to every process of the session and every one with its mark.
func (s session) signal(sig syscall.Signal) {
	for _, pid := range s.members() {
		_ = syscall.Kill(pid, sig) // gone meanwhile is what we want
	}
}

// alive counts the processes that signal would reach.
func (s session) alive() int { return len(s.members()) }

// members lists the processes that are in the session or carry the mark, as /proc shows them
// now. If the session is a guest's, it lists all processes of the user. It leaves out zombies
// and this process.
func (s session) members() []int {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer proc.Close()
	names, _ := proc.Readdirnames(-1)
	var pids []int
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil || pid == os.Getpid() {
			continue
		}
		dir := "/proc/" + name
		if s.uid != 0 {
			if runsAs(dir, s.uid) {
				pids = append(pids, pid)
			}
			continue
		}
		if s.of(pid) && !isZombie(dir) || s.mark != "" && marked(dir, s.mark) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// of says whether a process is in the session.
func (s session) of(pid int) bool {
	if s.id == 0 {
		return false
	}
	sid, err := unix.Getsid(pid) // a tenth of the price of reading stat
	return err == nil && sid == s.id
}

// isZombie says whether a process is gone, or has ended and its parent has not read its status.
func isZombie(dir string) bool {
	stat, err := readProc(dir + "/stat")
	if err != nil {
		return true
	}
	// The program's name, in brackets, may contain anything.
	state := bytes.TrimLeft(stat[bytes.LastIndexByte(stat, ')')+1:], " ")
	return len(state) == 0 || state[0] == 'Z' || state[0] == 'X'
}

// marked says whether a process was started under the slot with this mark. A zombie has
// no environment.
func marked(dir, mark string) bool {
	env, err := readProc(dir + "/environ")
	if err != nil {
		return false // another user's, or gone
	}
	for pair := range bytes.SplitSeq(env, []byte{0}) {
		if value, ok := bytes.CutPrefix(pair, []byte(markVar+"=")); ok {
			return slices.Contains(filepath.SplitList(string(value)), mark)
		}
	}
	return false
}

// runsAs says whether a process has a user id in any of its roles and a thread that is not a
// zombie. The first thread may be a zombie while others go on.
func runsAs(dir string, uid int) bool {
	status, err := readProc(dir + "/status")
	if err != nil {
		return false // gone
	}
	dead, one, as := false, false, false
	for line := range bytes.Lines(status) {
		name, value, _ := bytes.Cut(line, []byte(":"))
		switch string(name) {
		case "State":
			state := bytes.TrimSpace(value)
			dead = len(state) > 0 && (state[0] == 'Z' || state[0] == 'X')
		case "Uid":
			as = slices.Contains(strings.Fields(string(value)), strconv.Itoa(uid))
		case "Threads":
			one = string(bytes.TrimSpace(value)) == "1"
		}
	}
	return as && !(dead && one)
}

// readProc reads a file of /proc with three or four calls of the kernel, where os.ReadFile
// makes nine: a session's end looks at every process of the machine.
func readProc(path string) ([]byte, error) {
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer syscall.Close(fd)
	text := make([]byte, 0, 4096)
	for {
		n, err := syscall.Read(fd, text[len(text):cap(text)])
		if err != nil {
			return nil, err
		}
		if text = text[:len(text)+n]; n == 0 {
			return text, nil
		}
		text = slices.Grow(text, 1)
	}
}
