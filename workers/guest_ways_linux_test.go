package workers

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/workers/cage"
)

// place returns a folder that everybody can pass.
func place(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "submitqueue-guests")
	if err == nil {
		err = os.Chmod(dir, 0o711)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = RemoveAll(dir) })
	return dir
}

// way is how steps are kept from this process.
type way struct {
	name string
	Isolation
	namespaces bool
}

// ways are those of this machine.
func ways(t testing.TB) (all []way) {
	t.Helper()
	if os.Getuid() != 0 {
		if err := namespacesWork(UIDs{}); err != nil {
			t.Skip(err)
		}
		return []way{{"namespace", IsolateNamespace, true}}
	}
	if err := guestsWork(UIDs{}); err != nil {
		t.Skip("users of their own for steps are not to be had here:", err)
	}
	all = []way{{"uid", IsolateUID, false}}
	if err := namespacesWork(UIDs{}); err == nil {
		all = append(all, way{"uid and namespaces", IsolateUID, true})
	}
	return all
}

// each runs a test for each way that this machine has.
func each(t *testing.T, test func(t *testing.T, w way)) {
	t.Helper()
	asOther(t)
	for _, w := range ways(t) {
		t.Run(w.name, func(t *testing.T) { test(t, w) })
	}
}

// byUser is the way of users alone.
func byUser(t testing.TB) way {
	t.Helper()
	if w := ways(t)[0]; w.Isolation == IsolateUID {
		return w
	}
	t.Skip("users of their own for steps need root")
	return way{}
}

// nobody is a user without an account.
const nobody = 57999

// asOther runs the calling test once more as a user that is not root, where this process
// is root.
func asOther(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		return
	}
	t.Run("not root", func(t *testing.T) {
		dir := place(t)
		self, home := copyOfTest(t, dir), filepath.Join(dir, "home")
		if err := errors.Join(os.Mkdir(home, 0o700), os.Chown(home, nobody, nobody)); err != nil {
			t.Fatal(err)
		}
		name, _, _ := strings.Cut(t.Name(), "/")
		cmd := exec.Command(self, "-test.run", "^"+name+"$", "-test.v")
		cmd.Dir, cmd.Env = home, []string{"HOME=" + home, "TMPDIR=" + home, "PATH=" + os.Getenv("PATH")}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		out, err := cmd.CombinedOutput()
		switch {
		case err != nil:
			t.Errorf("%v\n%s", err, out)
		case strings.Contains(string(out), "--- SKIP"):
			t.Skip(string(out))
		}
	})
}

// copyOfTest returns the test's program where everybody can run it.
func copyOfTest(t *testing.T, dir string) string {
	t.Helper()
	program, err := os.Open(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	self := filepath.Join(dir, "test")
	to, err := os.OpenFile(self, os.O_CREATE|os.O_WRONLY, 0o755)
	if err == nil {
		_, err = io.Copy(to, program)
		err = errors.Join(err, to.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	return self
}

// guestSlot returns a runner whose steps are guests, in a data folder's slots.
func guestSlot(t testing.TB, w way, dir string, files Checkouter, change ...func(*RunnerOptions)) *Runner {
	t.Helper()
	o := PoolOptions{Isolate: w.Isolation, SlotsDir: filepath.Dir(dir), Dir: strings.TrimSuffix(filepath.Dir(dir), "-slots")}
	if w.namespaces {
		o.room = o.newRoom()
	}
	g, err := o.guest(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.release)
	ro := RunnerOptions{Dir: dir, Checkout: files, Grace: 200 * time.Millisecond, Log: quiet()}
	for _, c := range change {
		c(&ro)
	}
	r, err := newRunner(ro, g)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// shutTo closes an address to a slot's steps, where that can be had, and leaves another open.
func shutTo(t *testing.T, r *Runner) (ok bool, open, closed string) {
	t.Helper()
	var addresses []netip.AddrPort
	for range 2 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		addresses = append(addresses, l.Addr().(*net.TCPAddr).AddrPort())
	}
	f, err := cage.NewFence(addresses[:1])
	if err != nil {
		t.Log("no addresses are closed here:", err)
		return false, "", ""
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	r.files.guest.shut = &shut{}
	r.files.guest.shut.fence.Store(f)
	return true, addresses[1].String(), addresses[0].String()
}
