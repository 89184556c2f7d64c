package cage

import (
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// dialEnv has the test's program connect to an address and end with 0 if it could.
const dialEnv = "SUBMITQUEUE_TEST_DIAL"

func TestMain(m *testing.M) {
	if address := os.Getenv(dialEnv); address != "" {
		if _, err := net.DialTimeout("tcp", address, 5*time.Second); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// A closed address cannot be reached from within, under any name of it; all others
// can.
func TestFence(t *testing.T) {
	listen := func(at string) netip.AddrPort {
		t.Helper()
		l, err := net.Listen("tcp", at)
		if err != nil {
			t.Skip("no address to try: ", err)
		}
		t.Cleanup(func() { l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				c.Close()
			}
		}()
		return l.Addr().(*net.TCPAddr).AddrPort()
	}
	closed, open, six := listen("127.0.0.1:0"), listen("127.0.0.1:0"), listen("[::1]:0")
	port := func(a netip.AddrPort) string { _, p, _ := net.SplitHostPort(a.String()); return p }
	f, err := NewFence([]netip.AddrPort{netip.MustParseAddrPort("192.0.2.1:80"), closed, netip.MustParseAddrPort("[2001:db8::1]:80"), six})
	if err != nil {
		t.Skip("addresses cannot be closed here:", err)
	}
	defer func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(f.dir); err == nil {
			t.Error("the control group is still there")
		}
	}()
	second, err := NewFence(nil) // which leaves the first one alone, though nothing runs in it
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
	left := filepath.Join(filepath.Dir(f.dir), fencePrefix+"left")
	if err := os.Mkdir(left, 0o755); err != nil {
		t.Fatal(err)
	}
	sweep(filepath.Dir(f.dir))
	if _, err := os.Stat(left); err == nil {
		t.Error("what a killed process has left is still there")
	}
	for _, only := range []netip.AddrPort{open, six} {
		if f, err := NewFence([]netip.AddrPort{only}); err != nil {
			t.Error(err)
		} else if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	for address, want := range map[string]bool{
		closed.String():                      false,
		"127.9.9.9:" + port(closed):          false,
		"0.0.0.0:" + port(closed):            false,
		"[::ffff:127.0.0.1]:" + port(closed): false,
		six.String():                         false,
		open.String():                        true,
	} {
		cmd := exec.Command(os.Args[0])
		cmd.Env = []string{dialEnv + "=" + address}
		cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: f.FD()}
		out, err := cmd.CombinedOutput()
		if (err == nil) != want {
			t.Errorf("%s: %v %s", address, err, out)
		}
		s := shell("true")
		s.Argv, s.Env = []string{os.Args[0]}, cmd.Env
		s.Show = []Shown{{From: os.Args[0]}}
		if status, said := run(t, s, Where{User: &IDs{}, Fence: f}); !strings.HasPrefix(os.Args[0], "/") || (status.Code == 0) != want {
			t.Errorf("%s, in a cage: %+v %s", address, status, said)
		}
	}
}
