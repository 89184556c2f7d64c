package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/app"
	"github.com/submitqueue/submitqueue/app/access"
	"github.com/submitqueue/submitqueue/workers"
)

// attacks is what a change nobody has reviewed does as a step of a real server. It
// exits with 0 when all of it fails.
const attacks = `won() { echo "WON: $*"; exit 1; }
data=DATA slots=SLOTS
ls $data >/dev/null 2>&1 && won list the data folder
for f in client.json tokens.json sessions.json server-id redis/redis.sock redis/lock; do test -e $data/$f && won see $f; done
cat $data/client.json $data/tokens.json 2>/dev/null && won read the tokens
echo '{"version":1}' 2>/dev/null >$data/tokens.json && won write the tokens
for p in /proc/[0-9]*; do
  test "$(stat -c %u $p 2>/dev/null)" = "$(id -u)" && continue
  grep -aq . $p/environ 2>/dev/null && won the environment of $p
  head -c 1 $p/mem >/dev/null 2>&1 && won open the memory of $p
  kill -0 ${p#/proc/} 2>/dev/null && won signal $p
  ls $p/fd/0 >/dev/null 2>&1 && won the files of $p
done
here=${PWD%/checkout}
for n in 1 2 tools; do
  test $here = $slots/$n && continue
  ls $slots/$n >/dev/null 2>&1 && won list slot $n
  mkdir -p $slots/$n/checkout 2>/dev/null && touch $slots/$n/checkout/planted 2>/dev/null && won write into slot $n
  rm -r $slots/$n/checkout/test.sh 2>/dev/null && won delete in slot $n
done
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

// A change that attacks the server lands, for nothing it did has worked, where each
// runner has a user of its own; it would not where there is no isolation.
func TestStepsAreGuests(t *testing.T) {
	if _, why, err := workers.ChooseIsolation("auto", workers.UIDs{}); err != nil || why != "" {
		t.Skip("users of their own for steps are not to be had here:", why, err)
	}
	for _, mode := range []string{"uid", "none"} {
		t.Run(mode, func(t *testing.T) {
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
			w := t.TempDir()
			c.git(w, "clone", "-q", c.bare, ".")
			c.git(w, "checkout", "-q", "-b", branch(0))
			slots := c.data + "-slots"
			if mode == "none" {
				slots = filepath.Join(c.data, "runners", "slots")
			}
			c.write(w, "test.sh", strings.NewReplacer("DATA", c.data, "SLOTS", slots).Replace(attacks))
			c.git(w, "commit", "-qam", "Attack")
			c.git(w, "push", "-q", "origin", branch(0))
			c.start()
			if _, err := access.NewTokens(c.data).Add(access.Token{Name: "ann", Role: access.Admin, Made: time.Now()}); err != nil {
				t.Fatal(err)
			}
			c.ask(t.Context(), 0)
			until := time.Now().Add(2 * time.Minute)
			for c.decided() < 1 {
				if time.Now().After(until) {
					t.Fatalf("it is not decided\n%s", tailOf(c.log.String(), 4000))
				}
				<-time.After(50 * time.Millisecond)
			}
			var q app.APIQueue
			if err := c.call(http.MethodGet, "/api/queue", nil, &q); err != nil {
				t.Fatal(err)
			}
			said := ""
			for _, ch := range q.Recent {
				if ch.Verdict != nil && len(ch.Verdict.Failures) > 0 {
					said = ch.Verdict.Failures[0].Tail
				}
			}
			landed := strings.Contains(c.git(c.bare, "log", "--format=%s", "main"), "Attack")
			if landed != (mode == "uid") || !landed && !strings.Contains(said, "WON") || q.Isolation != mode {
				t.Errorf("landed: %t, isolation %q, the step says %q\n%s", landed, q.Isolation, said, tailOf(c.log.String(), 4000))
			}
			if sleeps(t) {
				t.Error("a daemon has outlived its step")
			}
			if warned := strings.Contains(c.log.String(), "Steps run as the same user as this server"); warned != (mode == "none") {
				t.Errorf("warned: %t\n%s", warned, c.log.String())
			}
			if info, err := os.Stat(c.data); err != nil || mode == "uid" && info.Mode().Perm() != 0o700 {
				t.Errorf("%v %v", info, err)
			}
			c.end(syscall.SIGTERM)
		})
	}
}

// What cannot be isolated as asked does not start.
func TestIsolationThatIsNotToBeHad(t *testing.T) {
	place := t.TempDir() // closed to others
	key := filepath.Join(place, "key.pem")
	if err := os.WriteFile(key, []byte("key"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, uids := range []string{"", "1", "5-3", "0-7", "a-b"} {
		c := &serveCommand{Runners: 1, Isolate: isolateFlags{Isolate: "none", UIDs: uids}, Data: place}
		if err := c.Isolate.choose(c, &stackOptions{}); err == nil || !strings.Contains(err.Error(), "58000-58999") {
			t.Errorf("%q: %v", uids, err)
		}
	}
	if os.Getuid() != 0 {
		c := &serveCommand{Runners: 1, Isolate: isolateFlags{Isolate: "uid", UIDs: "58000-58999"}, Data: place}
		if err := c.Isolate.choose(c, &stackOptions{}); err == nil || !strings.Contains(err.Error(), "root") {
			t.Errorf("%v", err)
		}
	}
	c := &serveCommand{Runners: 1, Isolate: isolateFlags{Isolate: "none", UIDs: "58000-58999", Forget: true}, Data: place}
	if err := c.Isolate.choose(c, &stackOptions{}); err == nil || !strings.Contains(err.Error(), "--fresh-homes") {
		t.Errorf("%v", err)
	}
	if got := fmt.Sprint((&serveCommand{githubFlags: githubFlags{AppKey: key}}).secretFiles()); got != "["+key+"]" {
		t.Errorf("secrets: %s", got)
	}
}
