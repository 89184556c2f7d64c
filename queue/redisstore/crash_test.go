//go:build unix

package redisstore_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/redisstore"
)

// The environment that makes the test binary the process that is killed.
const (
	crashURL = "REDISSTORE_TEST_URL"
	crashDir = "REDISSTORE_TEST_DIR"
)

func TestMain(m *testing.M) {
	if url, dir := os.Getenv(crashURL), os.Getenv(crashDir); url != "" || dir != "" {
		err := commitForEver(context.Background(), redisstore.AutoOptions{URL: url, DataDir: dir})
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

const crashQueue = "crash/test@main"

// commitForEver writes turn after turn and prints the number of each that was
// acknowledged.
func commitForEver(ctx context.Context, opts redisstore.AutoOptions) error {
	s, _, _, err := redisstore.Auto(ctx, opts)
	if err != nil {
		return err
	}
	owner := fmt.Sprint("process ", os.Getpid())
	var token int64
	for token == 0 {
		token, err = s.Acquire(ctx, crashQueue, owner, 50*time.Millisecond)
		if err != nil && !errors.Is(err, queue.ErrNotOwner) {
			return err
		}
	}
	_, version, err := s.Load(ctx, crashQueue)
	if err != nil {
		return err
	}
	for ; ; version++ {
		if err := s.Append(ctx, crashQueue, queue.Event{ID: fmt.Sprint("e", version+1), Body: queue.Tick{}}); err != nil {
			return err
		}
		inbox, err := s.Inbox(ctx, crashQueue, "", 100, 0)
		if err != nil {
			return err
		}
		if err := s.Commit(ctx, crashTurn(token, version, inbox)); err != nil {
			return err
		}
		fmt.Println(version + 1)
	}
}

const crashRecords = 20

// crashTurn writes its number into every record, moves one action, eats the
// inbox and archives a pass.
func crashTurn(token, version int64, inbox []queue.Arrived) queue.Turn {
	n := fmt.Sprint(version + 1)
	k := crashKey(version + 1)
	t := queue.Turn{Queue: crashQueue, Token: token, Version: version,
		Put:     []queue.Record{{Ref: queue.Ref{Kind: queue.KindAction, ID: "a" + n}, Data: []byte(n)}},
		Delete:  []queue.Ref{{Kind: queue.KindAction, ID: fmt.Sprint("a", version)}},
		Archive: []queue.Entry{{ID: k.ID(), Keys: []queue.Key{k}, Passed: 1}},
		Notes:   []queue.Note{{What: n}},
	}
	for i := range crashRecords {
		kinds := queue.Kinds()
		t.Put = append(t.Put, queue.Record{Ref: queue.Ref{Kind: kinds[i%len(kinds)], ID: fmt.Sprint("r", i)}, Data: []byte(n)})
	}
	for _, a := range inbox {
		t.Eaten = append(t.Eaten, a.Cursor)
	}
	return t
}

func crashKey(n int64) queue.Key {
	return queue.Key{Step: "s", Target: fmt.Sprint("t", n), Hash: "h"}
}

// mustBeWhole fails unless the store holds one whole turn, and none that is
// older than the last acknowledged. It returns the turn's number.
func mustBeWhole(t *testing.T, s *redisstore.Store, acknowledged int64) int64 {
	t.Helper()
	records, version, err := s.Load(t.Context(), crashQueue)
	if err != nil {
		t.Fatal(err)
	}
	if version < acknowledged {
		t.Fatalf("version %d is stored after %d was acknowledged", version, acknowledged)
	}
	n := fmt.Sprint(version)
	if version > 0 && len(records) != crashRecords+1 {
		t.Errorf("turn %s: %d records, want %d", n, len(records), crashRecords+1)
	}
	for _, r := range records {
		if string(r.Data) != n || r.ID[0] == 'a' && r.ID != "a"+n {
			t.Errorf("turn %s: record %v says %s", n, r.Ref, r.Data)
		}
	}
	notes, err := s.History(t.Context(), crashQueue, 1)
	if err != nil {
		t.Fatal(err)
	}
	if version > 0 && (len(notes) != 1 || notes[0].What != n) {
		t.Errorf("turn %s: newest note %v", n, notes)
	}
	known, err := s.Known(t.Context(), crashQueue, []queue.Key{crashKey(version), crashKey(version + 1)})
	if err != nil {
		t.Fatal(err)
	}
	if version > 0 && (len(known) != 1 || known[0].Keys[0] != crashKey(version)) {
		t.Errorf("turn %s: archived %v", n, known)
	}
	inbox, err := s.Inbox(t.Context(), crashQueue, "", 100, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range inbox { // at most the event of the turn that was not written
		if a.Event.ID != fmt.Sprint("e", version+1) {
			t.Errorf("turn %s: event %s is still in the inbox", n, a.Event.ID)
		}
	}
	return version
}

// mustKill runs the process, kills it some time after it has begun to commit,
// and returns the last turn that it was told is stored.
func mustKill(t *testing.T, r *rand.Rand, env string) (acknowledged int64) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), env)
	failure := new(strings.Builder)
	cmd.Stderr = failure
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	var kill *time.Timer
	for lines.Scan() {
		if acknowledged, err = strconv.ParseInt(lines.Text(), 10, 64); err != nil {
			break // the kill tore the line
		}
		if kill == nil {
			kill = time.AfterFunc(time.Duration(r.IntN(20_000))*time.Microsecond, func() { _ = cmd.Process.Kill() })
		}
	}
	_ = cmd.Wait() // killed
	if kill == nil {
		t.Fatalf("the process committed nothing: %s", failure)
	}
	if failure.Len() > 0 {
		t.Fatalf("the process failed: %s", failure)
	}
	return acknowledged
}

// Whenever the process is killed, a whole turn is stored, and the next owner
// goes on from there.
func TestKilledBesideRedis(t *testing.T) {
	url := startRedis(t, "appendonly yes", "appendfsync always")
	s := mustOpen(t, url)
	r := rand.New(rand.NewPCG(1, 2))
	kills := 25
	if testing.Short() {
		kills = 5
	}
	var turns int64
	for range kills {
		turns = mustBeWhole(t, s, mustKill(t, r, crashURL+"="+url))
	}
	t.Logf("%d kills, %d turns", kills, turns)
}

// The same with the private server, which is killed with the process.
func TestKilledWithPrivateRedis(t *testing.T) {
	needRedis(t)
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(3, 4))
	kills := 15
	if testing.Short() {
		kills = 3
	}
	var turns int64
	for range kills {
		acknowledged := mustKill(t, r, crashDir+"="+dir)
		a := mustAuto(t, redisstore.AutoOptions{DataDir: dir})
		turns = mustBeWhole(t, a.Store, acknowledged)
		if err := a.close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d kills, %d turns", kills, turns)
}
