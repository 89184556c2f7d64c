package workers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/storetest"
	"github.com/submitqueue/submitqueue/workers/cage"
)

// escapeEnv makes the test's program a process that is hard to find: "hide", "chain" or "stay",
// then the file that it writes its id to; or one that dials what comes after "dial" or "tcp".
const escapeEnv = "SUBMITQUEUE_TEST_ESCAPES"

func TestMain(m *testing.M) {
	switch how, path, _ := strings.Cut(os.Getenv(escapeEnv), ":"); how {
	case "hide":
		hide(path)
	case "chain":
		chain(path)
	case "stay":
		signal.Ignore(syscall.SIGTERM, syscall.SIGHUP)
		hold(path)
		time.Sleep(time.Hour)
	case "tcp":
		if _, err := net.Dial("tcp", path); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	case "dial":
		if _, err := net.Dial("unix", path); err != nil {
			panic(err)
		}
		os.Exit(0)
	}
	storetest.AtOnce(8)
	os.Exit(m.Run())
}

// hold takes a lock that every process has which descends from this one, and says so.
func hold(path string) {
	f, err := os.Create(path + ".lock")
	if err == nil {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
	}
	if err == nil {
		err = os.WriteFile(path, fmt.Appendf(nil, "%d\n", os.Getpid()), 0o644)
	}
	if err != nil {
		panic(err)
	}
}

// hide ends the thread that /proc shows, and goes on in another one.
func hide(path string) {
	runtime.LockOSThread()
	go func() {
		self := fmt.Sprintf("/proc/%d", os.Getpid())
		for !isZombie(self) {
			time.Sleep(time.Millisecond)
		}
		hold(path)
		time.Sleep(time.Hour)
	}()
	_, _, _ = syscall.Syscall(syscall.SYS_EXIT, 0, 0, 0)
}

// chain forks and ends, again and again.
func chain(path string) {
	hold(path)
	for {
		if pid, _, _ := syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0); pid != 0 {
			_, _, _ = syscall.RawSyscall(syscall.SYS_EXIT_GROUP, 0, 0, 0)
		}
	}
}

// The attacks of a step on what is not its own. Each must fail, and say so by its status.
func TestAGuestOwnsNothingElse(t *testing.T) { each(t, testAttacks) }

func testAttacks(t *testing.T, w way) {
	dir := place(t)
	data := filepath.Join(dir, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	credentials := filepath.Join(data, "github-app.json")
	if err := os.WriteFile(credentials, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	other := guestSlot(t, w, filepath.Join(dir, "data-slots", "2"), tree{"a_test.go": "package a\n"}, func(o *RunnerOptions) { o.KeepHome = true })
	if res := execute(t.Context(), other, build("b0", job(step("echo mine > $HOME/mine; echo mine > $TMPDIR/mine"), "."))); res.end.Outcome != queue.JobPassed {
		t.Fatalf("%+v\n%s", res.end, res.log)
	}
	program, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	r := guestSlot(t, w, filepath.Join(dir, "data-slots", "1"), tree{"f": "x", "test": string(program)})
	server := os.Getpid()
	attacks := map[string]string{
		"list the data folder":              "ls -A " + data + " | grep .",
		"read credentials":                  "grep . " + credentials,
		"write into the data folder":        "echo x > " + data + "/mirror",
		"the server's environment":          fmt.Sprintf("cat /proc/%d/environ | grep -a PATH", server),
		"the server's memory":               fmt.Sprintf("head -c 1 /proc/%d/mem", server),
		"the server's files":                fmt.Sprintf("ls -l /proc/%d/fd/ | grep -- '->'", server),
		"the server's folder":               fmt.Sprintf("ls /proc/%d/cwd/", server),
		"signals to the server":             fmt.Sprintf("kill -CONT %d", server),
		"list another slot":                 "ls -A " + other.files.root + " | grep .",
		"read another slot's checkout":      "cat " + other.files.checkout + "/a_test.go",
		"delete in another slot's checkout": "rm " + other.files.checkout + "/a_test.go",
		"read another slot's home":          "cat " + other.files.home + "/mine",
		"write into another slot's home":    "echo x > " + other.files.home + "/new",
		"list all slots":                    "ls -A " + filepath.Dir(r.files.root) + " | grep -v '^1$' | grep .",
		"make a slot":                       "mkdir " + filepath.Join(filepath.Dir(r.files.root), "3") + "; exit 1", // looked at from outside
		"put a link in the place of a file that the server writes": "ln -sf " + credentials + ` "$SUBMITQUEUE_TARGETS_FILE"`,
		"put a link in the place of the checkout":                  "mv ../checkout ../away",
		"other groups":                    "id -G | grep ' '",
		"another user by a program's bit": `grep -q 'NoNewPrivs:.*1' /proc/self/status || exit 0; exit 1`,
		"capabilities":                    `grep -q 'CapEff:.*[1-9a-f]' /proc/self/status`,
		"capabilities in a namespace":     "unshare -Urm sh -c 'umount -l " + data + "; grep -r . " + data + "'",
	}
	if w.namespaces {
		socket := "submitqueue-test-" + filepath.Base(dir)
		l, err := net.Listen("unix", "@"+socket)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if len(cage.Missing()) == 0 {
			attacks["a socket without a path"] = escapeEnv + "=dial:@" + socket + " ./test"
		}
		shared := filepath.Join("/tmp", socket)
		if err := os.WriteFile(shared, []byte("x"), 0o666); err != nil {
			t.Fatal(err)
		}
		defer os.Remove(shared)
		attacks["a folder that everybody can read"] = "cat " + shared
		attacks["the temporary files of another slot"] = "ls -A /tmp /var/tmp /dev/shm | grep mine"
		attacks["sockets of the machine"] = "find /run /var/run -type s | grep -v resolve | grep ."
		attacks["the home of the server"] = "ls -A " + os.Getenv("HOME") + " | grep ."
		attacks["shared memory"] = `test "$(readlink /proc/self/ns/ipc)" = "` + namespaceOf(t, "ipc") + `"`
		attacks["the first process"] = "cat /proc/1/environ | grep -a SUBMIT || ls /proc/1/fd/ | grep . || head -c 1 /proc/1/mem || ls /proc/1/cwd/"
		attacks["be root for a program"] = "kill -STOP 1; kill -KILL 1; test $? = 0 && sleep 0.1; su -c id </dev/null || mount -o remount,rw /"
		attacks["list processes"] = `test "$(ls -d /proc/[0-9]* | wc -l)" -gt 8`
		attacks["write elsewhere"] = "echo x > " + dir + "/x; echo x > /etc/x || echo x > /var/lib/x || echo x > /var/spool/cron/x"
	}
	if f, open, closed := shutTo(t, r); f {
		attacks["a closed address"] = escapeEnv + "=tcp:" + closed + " ./test"
		attacks["an open address"] = escapeEnv + "=tcp:" + open + " ./test && exit 1; exit 0"
	}
	for name, run := range attacks {
		t.Run(name, func(t *testing.T) {
			// A slot may not become root even by a mistake of the test: 0 is no answer.
			res := execute(t.Context(), r, build("b1", job(step(`test "$(id -u)" != 0 && test "$(id -g)" != 0 || exit 0; `+run), ".")))
			if res.end.Outcome != queue.JobFailed {
				t.Errorf("%+v\n%s", res.end, res.log)
			}
		})
	}
	for _, path := range []string{filepath.Join(filepath.Dir(r.files.root), "3"), filepath.Join(dir, "x"), filepath.Join(other.files.home, "new")} {
		if _, err := os.Lstat(path); err == nil {
			t.Errorf("%s was made", path)
		}
	}
	if text, err := os.ReadFile(other.files.checkout + "/a_test.go"); err != nil || string(text) != "package a\n" {
		t.Errorf("%q, %v", text, err)
	}
	if text, err := os.ReadFile(credentials); err != nil || string(text) != "secret" {
		t.Errorf("%q, %v", text, err)
	}
}

func namespaceOf(t *testing.T, kind string) string {
	t.Helper()
	name, err := os.Readlink("/proc/self/ns/" + kind)
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// All that a step needs works for a guest: its files, its home, temporary files,
// its output by name, the list of its targets, and a command too long for an
// argument.
func TestAGuestIsAtHome(t *testing.T) { each(t, testAtHome) }

func testAtHome(t *testing.T, w way) {
	dir := place(t)
	seed := filepath.Join(dir, "seed")
	if err := errors.Join(os.MkdirAll(filepath.Join(seed, ".cache", "tool"), 0o755), os.WriteFile(filepath.Join(seed, ".cache", "tool", "warm"), []byte("warm"), 0o444),
		os.Symlink("tool/warm", filepath.Join(seed, ".cache", "link"))); err != nil {
		t.Fatal(err)
	}
	r := guestSlot(t, w, filepath.Join(dir, "1"), tree{"sub/f": "x"}, func(o *RunnerOptions) { o.HomeSeed = seed })
	run := `set -e
test -O . && test -O sub && test -O sub/f && test -O "$HOME" && test -O "$TMPDIR"
echo y > sub/f; rm sub/f; echo z > new; echo t > "$(mktemp)"
test "$(cat "$HOME/.cache/link")" = warm && test -O "$HOME/.cache/tool" && echo x > "$HOME/.cache/tool/warm" && echo new > "$HOME/.cache/new"
echo by-name > /dev/stderr
test "$(cat "$SUBMITQUEUE_TARGETS_FILE")" = ./a
echo "name=$USER uid=$(id -u) groups=$(id -G)"`
	done, res := one(t, r, job(step(run), "./a"))
	if done.Outcome != queue.JobPassed || !strings.Contains(res.log, "by-name\n") ||
		!strings.Contains(res.log, fmt.Sprintf("name=guest uid=%d groups=%[1]d\n", cmp.Or(r.files.guest.uid, os.Getuid()))) {
		t.Fatalf("%+v\n%s", done, res.log)
	}
	long := `test -z "$(find "$TMPDIR" -maxdepth 1 -type f)" && test "$(cat "$HOME/.cache/tool/warm")" = warm && ! test -e "$HOME/.cache/new" && test -s sub/f # ` + strings.Repeat("long ", maxInline/4)
	if done, res := one(t, r, job(step(long), "./a")); done.Outcome != queue.JobPassed {
		t.Errorf("%+v\n%s", done, lastBytes(res.log, 500))
	}
	if w.Isolation != IsolateUID {
		return
	}
	// A build that opens its folders to all does not do so for the next.
	kept := guestSlot(t, w, filepath.Join(dir, "2"), restoring{tree: tree{"sub/f": "x"}})
	if err := os.Mkdir(kept.files.checkout, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Chmod(kept.files.checkout, 0o777), kept.files.hand()); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(kept.files.checkout); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	var names []string
	for _, pair := range environment(RunnerOptions{Env: []string{"HOME=/root", "GOCACHE=/root/c", "GOMODCACHE=/root/m", "TMPDIR=/root/t", "USER=root", "GOPROXY=p"}}, queue.Build{}, queue.Job{}, r.files) {
		if strings.Contains(pair, "root") && !strings.Contains(pair, r.files.root) {
			names = append(names, pair)
		}
	}
	if len(names) > 0 {
		t.Errorf("the environment names places of the server: %q", names)
	}
}

// TestNothingOfAGuestOutlivesItsStep has the ways out of a session: another session and
// environment, a first thread that has ended, and a chain of processes of which none
// lives long enough to be found in a list.
func TestNothingOfAGuestOutlivesItsStep(t *testing.T) { each(t, testOutlives) }

func testOutlives(t *testing.T, w way) {
	program, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	r := guestSlot(t, w, filepath.Join(place(t), "1"), tree{"test": string(program)})
	wait := "\nwhile ! test -s pid; do sleep 0.01; done"
	for name, run := range map[string]string{
		"daemon":         "env -i " + escapeEnv + "=stay:$PWD/pid setsid ./test &" + wait,
		"zombie's shade": escapeEnv + "=hide:$PWD/pid setsid ./test &" + wait,
		"chain":          escapeEnv + "=chain:$PWD/pid setsid ./test &" + wait,
	} {
		t.Run(name, func(t *testing.T) {
			done, res := one(t, r, job(step(run), "."))
			if done.Outcome != queue.JobPassed {
				t.Errorf("%+v\n%s", done, res.log)
			}
			if pid := started(t, filepath.Join(r.files.checkout, "pid")); !w.namespaces && runs(pid) {
				t.Errorf("process %d is still there", pid)
			}
			lock, err := os.Open(filepath.Join(r.files.checkout, "pid.lock"))
			if err != nil {
				t.Fatal(err)
			}
			defer lock.Close()
			if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
				t.Errorf("it still holds its lock: %v", err)
				if uid := r.files.guest.uid; uid != 0 {
					(session{uid: uid}).killAtOnce()
				}
			}
		})
	}
}

// Before a build begins, nothing of an earlier life of its slot runs.
func TestLeftOversOfAGuest(t *testing.T) {
	dir := place(t)
	r := guestSlot(t, byUser(t), filepath.Join(dir, "1"), tree{"f": "x"})
	cmd := exec.Command("/bin/sleep", "600")
	cmd.Env = []string{}
	ownSession(cmd)
	if err := startGuest(cmd, r.files.guest); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	if res := execute(t.Context(), r, build("b1", job(step("test -s f"), "."))); res.end.Outcome != queue.JobPassed {
		t.Errorf("%+v\n%s", res.end, res.log)
	}
	if err := <-ended; err == nil {
		t.Error("it ended by itself")
	}
}

// A server that begins on a slot ends what another one has left running there.
func TestLeftOversInNamespaces(t *testing.T) {
	each(t, func(t *testing.T, w way) {
		if !w.namespaces {
			t.Skip("there are none")
		}
		r := guestSlot(t, w, filepath.Join(place(t), "1"), tree{"f": "x"})
		ended := make(chan result, 1)
		go func() {
			ended <- execute(t.Context(), r, build("b1", job(step("trap '' TERM; echo > there; while :; do sleep 1; done"), ".")))
		}()
		until(t, "the step", func() bool {
			_, err := os.Stat(filepath.Join(r.files.checkout, "there"))
			return err == nil
		})
		if left := (session{mark: r.files.root}).end(time.Second); left != 0 {
			t.Errorf("%d are left", left)
		}
		if res := <-ended; res.end.Outcome != queue.JobInfra {
			t.Errorf("%+v", res.end)
		}
	})
}

// A file with a second name may be anybody's, and is not given to the guest.
func TestAForeignFileIsNotGivenAway(t *testing.T) {
	w, dir := byUser(t), place(t)
	foreign := filepath.Join(dir, "foreign")
	if err := os.WriteFile(foreign, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := guestSlot(t, w, filepath.Join(dir, "1"), linking{foreign})
	if res := execute(t.Context(), r, build("b1", job(step("true"), "."))); res.end.Outcome != queue.JobInfra {
		t.Errorf("%+v", res.end)
	}
	if uid, ok := ownerOf(foreign); !ok || uid != 0 {
		t.Errorf("it belongs to %d now", uid)
	}
}

// A checkout that is not the commit when it was handed over is no checkout.
func TestAGuestBeginsWithTheCommit(t *testing.T) { each(t, testBegins) }

func testBegins(t *testing.T, w way) {
	dir := place(t)
	r := guestSlot(t, w, filepath.Join(dir, "1"), changing{restoring{tree: tree{"f": "x"}}})
	res := execute(t.Context(), r, build("b1", job(step("true"), ".")))
	if res.end.Outcome != queue.JobInfra || len(res.jobs) > 0 || !strings.Contains(res.end.Detail, "f is not what it is in the commit") {
		t.Errorf("%+v", res)
	}
	// Files that a step has changed are its guest's again when they are put
	// back.
	r = guestSlot(t, w, filepath.Join(dir, "2"), restoring{tree: tree{"f": "x"}})
	res = execute(t.Context(), r, build("b1", job(step("rm f"), "."), job(step("test -O f && echo y > f"), ".")))
	if res.end.Outcome != queue.JobPassed {
		t.Errorf("%+v\n%s", res.end, res.log)
	}
}

// changing is a Checkouter that makes a file other than it should be.
type changing struct{ restoring }

func (c changing) Checkout(ctx context.Context, commit queue.CommitID, dir string) (func() error, error) {
	release, err := c.restoring.Checkout(ctx, commit, dir)
	return release, errors.Join(err, os.WriteFile(filepath.Join(dir, "f"), []byte("y"), 0o644))
}

// linking is a Checkouter that leaves a link to a file in the checkout.
type linking struct{ to string }

func (l linking) Checkout(_ context.Context, _ queue.CommitID, dir string) (func() error, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	return func() error { return nil }, os.Link(l.to, filepath.Join(dir, "f"))
}

// Slots of one pool, and of two pools on one machine, have users of their own, and the
// same again after a restart.
func TestEachSlotHasItsUser(t *testing.T) {
	byUser(t)
	dir := place(t)
	isolated := func(name string) *Pool {
		t.Helper()
		p, err := NewPool(PoolOptions{Slots: 2, Dir: filepath.Join(dir, name), Isolate: IsolateUID, SlotsDir: filepath.Join(dir, name+"-slots"),
			Log: quiet(), Runner: RunnerOptions{Checkout: tree{"f": "x"}}})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	a, b := isolated("a"), isolated("b")
	seen := map[int]bool{}
	for _, g := range append(a.o.guests, b.o.guests...) {
		if g.uid == 0 || seen[g.uid] {
			t.Errorf("user %d is nobody's own", g.uid)
		}
		seen[g.uid] = true
	}
	if len(seen) != 6 {
		t.Errorf("%d users for four slots and two folders of tools", len(seen))
	}
	second := b.o.guests[1].uid
	mustClose(t, a)
	mustClose(t, b)
	again := isolated("b")
	defer mustClose(t, again)
	if again.o.guests[1].uid != second {
		t.Errorf("the second slot of b is user %d's, and was user %d's", again.o.guests[1].uid, second)
	}
	again.Environments([]string{"id -u"})
	until(t, "the tools", func() bool {
		again.mu.Lock()
		defer again.mu.Unlock()
		return len(again.tools.found) == 1 && again.tools.found[0].Fingerprint == queue.FingerprintOf(fmt.Sprintln(again.o.tools.guest.uid))
	})
}

func TestWhereGuestsCannotGo(t *testing.T) {
	byUser(t)
	dir := place(t)
	closed := filepath.Join(dir, "closed")
	if err := os.Mkdir(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	g, err := claimGuest(UIDs{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer g.release()
	if _, err := newSlotFiles(filepath.Join(closed, "slots", "1"), g); err == nil || !strings.Contains(err.Error(), closed) {
		t.Errorf("%v", err)
	}
	for data, want := range map[string]string{
		filepath.Join(dir, "data"):    filepath.Join(dir, "data-slots"),
		filepath.Join(closed, "data"): "/var/lib/submitqueue-slots/" + strings.ReplaceAll(strings.Trim(closed, "/"), "/", "-") + "-data",
	} {
		if got, err := SlotsDir(data); err != nil || got != want {
			t.Errorf("the slots of %s are in %s, %v", data, got, err)
		}
	}
	if _, err := claimGuest(UIDs{1, 1}, 0); err == nil {
		t.Error("an account's number was taken")
	}
}

// A home is gone after its build, unless it is kept.
func TestASlotForgets(t *testing.T) { each(t, testForgets) }

func testForgets(t *testing.T, w way) {
	for _, keep := range []bool{false, true} {
		r := guestSlot(t, w, filepath.Join(place(t), "1"), tree{"f": "x"}, func(o *RunnerOptions) { o.KeepHome = keep })
		run := `mkdir -p "$HOME/.cache/ro" && echo x > "$HOME/.cache/ro/x" && chmod 555 "$HOME/.cache/ro"`
		if res := execute(t.Context(), r, build("b1", job(step(run), "."), job(step(`test -e "$HOME/.cache/ro/x"`), "."))); res.end.Outcome != queue.JobPassed {
			t.Fatalf("%+v\n%s", res.end, res.log)
		}
		if _, err := os.Stat(filepath.Join(r.files.home, ".cache")); (err == nil) != keep {
			t.Errorf("keep %t: after its build the home has %v", keep, err)
		}
		res := execute(t.Context(), r, build("b2", job(step(`test -O "$HOME" && test -e "$HOME/.cache"`), ".")))
		if kept := res.end.Outcome == queue.JobPassed; kept != keep {
			t.Errorf("keep %t: kept %t\n%s", keep, kept, res.log)
		}
	}
}

func BenchmarkStep(b *testing.B) {
	for _, w := range append([]way{{"none", IsolateNone, false}}, ways(b)...) {
		b.Run(w.name, func(b *testing.B) {
			r := guestSlot(b, w, filepath.Join(place(b), "1"), tree{"f": "x"})
			for b.Loop() {
				if res := execute(b.Context(), r, build("b1", job(step("true"), "."))); res.end.Outcome != queue.JobPassed {
					b.Fatalf("%+v", res.end)
				}
			}
		})
	}
}

// If the kernel gives no namespaces to a server that is not root, auto takes none, and
// says what to do.
func TestNamespacesThatAreRefused(t *testing.T) {
	if os.Getuid() == 0 {
		dir := place(t)
		self := copyOfTest(t, dir)
		cmd := exec.Command("/bin/sh", "-c", `echo 0 > /proc/sys/user/max_user_namespaces && exec setpriv --reuid 57999 --regid 57999 --clear-groups "$0" -test.run '^TestNamespacesThatAreRefused$' -test.v`, self)
		cmd.Dir, cmd.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}
		ids := []syscall.SysProcIDMap{{ContainerID: 0, HostID: 0, Size: 1}, {ContainerID: nobody, HostID: nobody, Size: 1}}
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER, UidMappings: ids, GidMappings: ids, GidMappingsEnableSetgroups: true}
		if out, err := cmd.CombinedOutput(); err != nil && strings.Contains(string(out), "=== RUN") {
			t.Errorf("%v\n%s", err, out)
		} else if err != nil {
			t.Skip("namespaces cannot be refused here:", err, string(out))
		}
		return
	}
	if limit, err := os.ReadFile("/proc/sys/user/max_user_namespaces"); err != nil || string(limit) != "0\n" {
		t.Skip("namespaces are not refused here")
	}
	const want = "sysctl user.max_user_namespaces=10000"
	if c, err := ChooseIsolation("auto", UIDs{}); err != nil || c.Mode != IsolateNone || !strings.Contains(c.Why, want) {
		t.Errorf("%+v, %v", c, err)
	}
	if _, err := ChooseIsolation("namespace", UIDs{}); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v", err)
	}
}

// Features that this machine has are not called missing.
func TestGaps(t *testing.T) {
	w := byUser(t)
	c, err := ChooseIsolation("uid", UIDs{})
	if err != nil {
		t.Fatal(err)
	}
	gaps := strings.Join(c.Gaps, "\n")
	f, err := cage.NewFence([]netip.AddrPort{netip.MustParseAddrPort("192.0.2.1:80")})
	if err == nil {
		err = f.Close()
	}
	if strings.Contains(gaps, "of Redis") != (err != nil) || strings.Contains(gaps, "/tmp") != (namespacesWork(UIDs{}) != nil) {
		t.Errorf("%s: %v, %v", w.name, c.Gaps, err)
	}
}
