package cage

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// asUserEnv has the test's program run one test as another user, in whose place a server
// that is not root would be.
const asUserEnv = "SUBMITQUEUE_TEST_AS_USER"

// nobody is a user without an account.
const nobody = 57999

// asUser runs the calling test once more as a user that is not root, where this process
// is root, and reports whether the caller is that one.
func asUser(t *testing.T) bool {
	t.Helper()
	if os.Getuid() != 0 {
		return true
	}
	dir, err := os.MkdirTemp("/tmp", "submitqueue-cage")
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	program, err := os.ReadFile(os.Args[0])
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "test"), program, 0o755)
	}
	home := filepath.Join(dir, "home")
	if err == nil {
		err = os.Mkdir(home, 0o700)
	}
	if err == nil {
		err = os.Chown(home, nobody, nobody)
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(dir, "test"), "-test.run", "^"+t.Name()+"$", "-test.v")
	cmd.Dir, cmd.Env = home, []string{"HOME=" + home, "TMPDIR=" + home, "PATH=" + os.Getenv("PATH"), asUserEnv + "=1"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	switch {
	case err != nil:
		t.Errorf("as user %d: %v\n%s", nobody, err, out)
	case strings.Contains(string(out), "--- SKIP"):
		t.Skip(string(out))
	}
	return false
}

// run runs a command in a cage and returns what it has said.
func run(t *testing.T, s Spec, w Where) (Status, string) {
	t.Helper()
	r, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	p, err := Start(s, w, out)
	out.Close()
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	status, err := p.Status()
	if err != nil {
		t.Fatal(err, string(text))
	}
	return status, string(text)
}

func shell(run string) Spec {
	return Spec{Argv: []string{"sh", "-c", run}, Dir: "/", Env: []string{"PATH=" + os.Getenv("PATH")}, Grace: 200 * time.Millisecond, Linger: 20 * time.Millisecond}
}

// needed skips where the kernel has no cages.
func needed(t *testing.T) {
	t.Helper()
	p, err := Start(shell("true"), Where{}, os.Stderr)
	if err == nil {
		<-p.Done()
		_, err = p.Status()
	}
	if err != nil {
		t.Skip("namespaces are not to be had here:", err)
	}
}

func TestWhatIsSeen(t *testing.T) {
	if !asUser(t) {
		return
	}
	needed(t)
	dir := t.TempDir()
	for _, name := range []string{"secret/f", "secret/shown/f", "secret/shown/inner/f", "own/f", "file", "read/f"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s := shell("")
	s.Hide = []string{dir + "/secret", dir + "/file", dir + "/secret/shown/inner", "/nowhere"}
	s.Show = []Shown{{From: dir + "/secret/shown"}, {From: dir + "/own", Writable: true}, {From: dir + "/gone", Optional: true},
		{From: dir + "/own", At: dir + "/secret/made/here", Writable: true}}
	for name, c := range map[string]struct {
		run  string
		want bool
	}{
		"hidden file":                     {"test -s D/file", false},
		"hidden folder":                   {"test -e D/secret/f", false},
		"write what hides":                {"echo x > D/secret/new", false},
		"shown in hidden":                 {"test -s D/secret/shown/f", true},
		"hidden in shown":                 {"test -e D/secret/shown/inner/f", false},
		"write what is shown":             {"echo x > D/secret/shown/f", false},
		"write own":                       {"echo x > D/own/new && test -s D/secret/made/here/new", true},
		"write elsewhere":                 {"echo x > D/read/f", false},
		"write etc":                       {"echo x > /etc/x || echo x > /usr/x || echo x > /var/x", false},
		"the user":                        {"test $(id -u) = " + strconv.Itoa(os.Getuid()), true},
		"a device":                        {"echo x > /dev/null && head -c 1 /dev/zero >/dev/null && echo x > /dev/shm/x", true},
		"a terminal":                      {"test -e /dev/pts/ptmx && script -qc true /dev/null </dev/null", true},
		"capabilities":                    {`grep -q 'Cap\(Eff\|Prm\|Inh\|Bnd\|Amb\):.*[1-9a-f]' /proc/self/status`, false},
		"new privileges":                  {`grep -q 'NoNewPrivs:.*0' /proc/self/status`, false},
		"other processes":                 {`test "$(ls -d /proc/[0-9]* | wc -l)" -gt 5`, false},
		"the first process":               {"cat /proc/1/environ | grep -q . || ls /proc/1/fd/3 || ls /proc/1/cwd/ || head -c 1 /proc/1/mem", false},
		"end the first":                   {"kill -TERM 1; kill -KILL 1; kill -INT 1; sleep 0.1; true", true},
		"undo a mount":                    {"umount D/secret || umount -l D/secret || mount -o remount,rw /", false},
		"undo it in a namespace of users": {"unshare -Urm sh -c 'umount D/secret || umount -l D/secret || umount -lR D || mount -o remount,bind,rw /'", false},
		"see what is below in another":    {"unshare -Urm sh -c 'mkdir -p /dev/shm/m && mount --bind D /dev/shm/m && test -e /dev/shm/m/secret/f'", false},
		"see all that is below":           {"unshare -Urm sh -c 'mkdir -p /dev/shm/m && mount --rbind / /dev/shm/m && { umount -l /dev/shm/mD/secret; test -e /dev/shm/mD/secret/f; }'", false},
		"see it by an overlay":            {"unshare -Urm sh -c 'mkdir -p /dev/shm/u /dev/shm/w /dev/shm/m && mount -t overlay -o lowerdir=D,upperdir=/dev/shm/u,workdir=/dev/shm/w overlay /dev/shm/m && test -e /dev/shm/m/secret/f'", false},
		"see processes in another":        {`unshare -Urmpf --mount-proc sh -c 'test "$(ls -d /proc/[0-9]* | wc -l)" -gt 5'`, false},
		"a namespace of users in it":      {"unshare -Urm sh -c 'mkdir -p /dev/shm/m && mount --bind /etc /dev/shm/m && test -e /dev/shm/m/passwd'", true},
		"change root":                     {"unshare -Urm sh -c 'mkdir -p /dev/shm/m && mount -t tmpfs t /dev/shm/m && mkdir /dev/shm/m/old && cd /dev/shm/m && pivot_root . old && test -e old/D/secret/f'", false},
	} {
		t.Run(name, func(t *testing.T) {
			s := s
			s.Argv = []string{"sh", "-c", strings.NewReplacer("/D/", dir+"/", "D/", dir+"/", " D ", " "+dir+" ", "=D,", "="+dir+",", "mD", "m"+dir).Replace(c.run)}
			if status, said := run(t, s, Where{}); !status.Exited || (status.Code == 0) != c.want {
				t.Errorf("%+v\n%s", status, said)
			}
		})
	}
	if _, err := os.Stat(dir + "/secret/made"); err == nil {
		t.Error("a place was made outside")
	}
}

// All processes that a command leaves behind end with it, and it ends when it is
// stopped.
func TestNothingOutlivesIt(t *testing.T) {
	if !asUser(t) {
		return
	}
	needed(t)
	dir := t.TempDir()
	s := shell(`env -i PATH="$PATH" setsid sh -c 'trap "" TERM HUP; exec 1>&- 2>&-; exec 9>held; flock 9; echo > there; exec sleep 600' & while ! test -e there; do sleep 0.01; done; exit 3`)
	s.Dir, s.Show = dir, []Shown{{From: dir, Writable: true}}
	if status, said := run(t, s, Where{}); status != (Status{Exited: true, Code: 3}) {
		t.Errorf("%+v %s", status, said)
	}
	free := func() {
		t.Helper()
		lock, err := os.Open(filepath.Join(dir, "held"))
		if err != nil {
			t.Fatal(err)
		}
		defer lock.Close()
		if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
			t.Errorf("it is still there: %v", err)
		}
	}
	free()
	for name, end := range map[string]func(*Process){"stopped": (*Process).Stop, "killed": (*Process).Kill} {
		if err := os.Remove(filepath.Join(dir, "there")); err != nil {
			t.Fatal(err)
		}
		s.Argv[2] = `trap "" TERM; exec 9>held; flock 9; echo > there; while :; do sleep 1; done`
		p, err := Start(s, Where{}, os.Stderr)
		if err != nil {
			t.Fatal(err)
		}
		for limit := time.Now().Add(3 * time.Minute); ; time.Sleep(time.Millisecond) {
			if _, err := os.Stat(filepath.Join(dir, "there")); err == nil {
				break
			} else if time.Now().After(limit) {
				t.Fatal(err)
			}
		}
		end(p)
		<-p.Done()
		if status, err := p.Status(); err != nil || status.Exited || status.Signal != int(syscall.SIGKILL) {
			t.Errorf("%s: %+v %v", name, status, err)
		}
		free()
	}
}

// A command that cannot be started is an error that says so.
func TestWhatCannotBeStarted(t *testing.T) {
	if !asUser(t) {
		return
	}
	needed(t)
	for name, change := range map[string]func(*Spec){
		"folder":  func(s *Spec) { s.Dir = "/nowhere" },
		"shown":   func(s *Spec) { s.Show = []Shown{{From: "/nowhere"}} },
		"program": func(s *Spec) { s.Argv = []string{"/nowhere"} },
	} {
		s := shell("true")
		change(&s)
		p, err := Start(s, Where{}, os.Stderr)
		if err == nil {
			<-p.Done()
			_, err = p.Status()
		}
		if err == nil {
			t.Errorf("%s: it was started", name)
		}
	}
}

func BenchmarkStart(b *testing.B) {
	var where Where
	if os.Getuid() == 0 {
		where.User = &IDs{nobody, nobody}
	}
	for b.Loop() {
		p, err := Start(shell("true"), where, os.Stderr)
		if err != nil {
			b.Fatal(err)
		}
		<-p.Done()
		if status, err := p.Status(); err != nil || status.Code != 0 {
			b.Fatal(status, err)
		}
	}
}
