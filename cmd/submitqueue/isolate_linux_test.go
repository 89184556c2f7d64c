package main

import (
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/app/access"
	"github.com/submitqueue/submitqueue/app/api"
	"github.com/submitqueue/submitqueue/workers"
)

// attacks is what a change nobody has reviewed does as a step of a real server. It
// exits with 0 when all of it fails.
const attacks = `won() { echo "WON: $*"; exit 1; }
data=DATA slots=SLOTS
ls -A $data 2>/dev/null | grep -v '^runners$' | grep -q . && won list the data folder
for f in client.json tokens.json sessions.json server-id redis/redis.sock redis/lock; do test -e $data/$f && won see $f; done
cat $data/client.json $data/tokens.json 2>/dev/null && won read the tokens
echo planted 2>/dev/null >$data/tokens.json
for p in /proc/[0-9]*; do
  grep -qs submitqueue $p/cmdline || continue
  grep -aq PATH $p/environ 2>/dev/null && won the environment of $p
  head -c 1 $p/mem >/dev/null 2>&1 && won open the memory of $p
  kill -0 ${p#/proc/} 2>/dev/null && won signal $p
  ls $p/fd/0 >/dev/null 2>&1 && won the files of $p
done
here=${PWD%/checkout}
for n in 1 2 tools; do
  test $here = $slots/$n && continue
  ls -A $slots/$n 2>/dev/null | grep -q . && won list slot $n
  mkdir -p $slots/$n/checkout 2>/dev/null && touch $slots/$n/checkout/planted 2>/dev/null # looked for from outside
  rm -r $slots/$n/checkout/test.sh 2>/dev/null && won delete in slot $n
done
git ls-remote http://ADDRESS/x 2>&1 | sed 's|ADDRESS||g; s|port [0-9]*||g' | grep -qi 'not found\|40[0-9]' && won reach the server
env | grep -i 'redis\|token' && won a secret in the environment
env -i PATH="$PATH" setsid sleep 7654 &
exit 0
`

// sleeps says whether the daemon of the attacks runs.
func sleeps(t *testing.T) bool {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if text, err := os.ReadFile(f); err == nil && string(text) == "sleep\x007654\x00" {
			return true
		}
	}
	return false
}

// guestUser is the user of a server that is not root, if the test is root.
const guestUser = 57998

// modes are the ways of isolation that servers can have on this machine.
func modes(t *testing.T) []string {
	t.Helper()
	if os.Getuid() != 0 {
		if c, err := workers.ChooseIsolation("namespace", workers.UIDs{}); err != nil {
			t.Skip("steps cannot be isolated here:", err, c.Why)
		}
		return []string{"namespace", "none"}
	}
	if c, err := workers.ChooseIsolation("uid", workers.UIDs{}); err != nil {
		t.Skip("users of their own for steps are not to be had here:", err, c.Why)
	}
	return []string{"uid", "namespace", "none"}
}

// asGuestUser has the server be somebody else than root, in a place that is theirs.
func (c *crashed) asGuestUser(place string) {
	c.Helper()
	if os.Getuid() != 0 {
		return
	}
	c.Setenv("GIT_CONFIG_COUNT", "1") // root looks into what is not root's
	c.Setenv("GIT_CONFIG_KEY_0", "safe.directory")
	c.Setenv("GIT_CONFIG_VALUE_0", "*")
	bare, self := filepath.Join(place, "x.git"), filepath.Join(place, "submitqueue")
	c.git(place, "clone", "-q", "--bare", c.bare, bare)
	program, err := os.Executable()
	if err == nil {
		err = copyTo(self, program)
	}
	if err == nil {
		err = filepath.WalkDir(place, func(path string, _ os.DirEntry, err error) error {
			return errors.Join(err, os.Lchown(path, guestUser, guestUser))
		})
	}
	if err != nil {
		c.Fatal(err)
	}
	c.bare = bare
	c.wrap = func(cmd *exec.Cmd) {
		cmd.Path, cmd.Dir = self, place
		cmd.Env = append(cmd.Env, "HOME="+place, "TMPDIR="+place)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: guestUser, Gid: guestUser}}
	}
}

func copyTo(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// A change that attacks the server lands, for nothing it did has worked, where steps are
// isolated; it would not where there is no isolation.
func TestStepsAreGuests(t *testing.T) {
	for _, mode := range modes(t) {
		t.Run(mode, func(t *testing.T) { testGuests(t, mode) })
	}
}

func testGuests(t *testing.T, mode string) {
	place, err := os.MkdirTemp("/tmp", "submitqueue-guests")
	if err == nil {
		err = os.Chmod(place, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = workers.RemoveAll(place) })
	c := newCrashed(t, 0)
	c.data = filepath.Join(place, "data")
	c.flags = []string{"--isolate", mode}
	slots := filepath.Join(c.data, "runners", "slots")
	if mode == "uid" {
		slots = c.data + "-slots"
	}
	address := "0.0.0.0:1" // nobody's
	if choice, err := workers.ChooseIsolation("uid", workers.UIDs{}); mode == "uid" && err == nil && !strings.Contains(strings.Join(choice.Gaps, ""), "of Redis") {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		address = l.Addr().String()
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		c.flags = append(c.flags, "--listen", address)
	}
	w := t.TempDir()
	c.git(w, "clone", "-q", c.bare, ".")
	c.git(w, "checkout", "-q", "-b", branch(0))
	c.write(w, "test.sh", strings.NewReplacer("DATA", c.data, "SLOTS", slots, "ADDRESS", address).Replace(attacks))
	c.git(w, "commit", "-qam", "Attack")
	c.git(w, "push", "-q", "origin", branch(0))
	if mode == "namespace" {
		c.asGuestUser(place)
		c.flags = []string{"--isolate", "auto"}
	}
	c.start()
	if mode != "namespace" { // there the server's user owns them
		if _, err := access.NewTokens(c.data).Add(access.Token{Name: "ann", Role: access.Admin, Made: time.Now()}); err != nil {
			t.Fatal(err)
		}
	}
	c.ask(t.Context(), 0)
	c.until("it is decided", func() bool { return c.decided() >= 1 })
	var q api.Queue
	if err := c.get("/api/queue?full=1", &q); err != nil {
		t.Fatal(err)
	}
	said := ""
	for _, ch := range q.Recent {
		if ch.Verdict != nil && len(ch.Verdict.Failures) > 0 {
			said = ch.Verdict.Failures[0].Tail
		}
	}
	landed := strings.Contains(c.git(c.bare, "log", "--format=%s", "main"), "Attack")
	if landed != (mode != "none") || !landed && !strings.Contains(said, "WON") || q.Isolation != mode {
		t.Errorf("landed: %t, isolation %q, the step says %q\n%s", landed, q.Isolation, said, tailOf(c.log.String(), 4000))
	}
	if tokens, err := os.ReadFile(filepath.Join(c.data, "tokens.json")); mode != "none" && (strings.Contains(string(tokens), "planted") || err != nil && !errors.Is(err, os.ErrNotExist)) {
		t.Errorf("tokens.json: %q %v", tokens, err)
	}
	if planted, err := filepath.Glob(slots + "/*/checkout/planted"); err != nil || len(planted) > 0 {
		t.Error(planted, err)
	}
	if sleeps(t) {
		t.Error("a daemon has outlived its step")
	}
	if warned := strings.Contains(c.log.String(), "Steps run as the same user as this server"); warned != (mode == "none") {
		t.Errorf("warned: %t\n%s", warned, c.log.String())
	}
	if info, err := os.Stat(c.data); err != nil || mode != "none" && info.Mode().Perm() != 0o700 {
		t.Errorf("%v %v", info, err)
	}
	c.end(syscall.SIGTERM)
}
