package notify

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

// What is written down by a queue reaches people in its order; what was before the first
// start does not.
func TestFirstStartTellsNoPast(t *testing.T) {
	r, in := newRig(t), newReceiver(t, nil)
	r.note(landed(1), landed(2))
	stop := r.run(r.notifier(r.store, in.hook()))
	r.note(landed(3), queue.Note{What: "analyzed", Number: 4}, landed(4))
	r.wants(in, "#3. Landed", "#4. Landed")
	r.until("both were taken", func() bool { return r.count(Sent) == 2 })
	stop()
	r.note(landed(5))
	r.run(r.notifier(r.store, in.hook()))
	r.note(landed(6))
	r.wants(in, "#3. Landed", "#4. Landed", "#5. Landed", "#6. Landed")
	r.until("all are counted", func() bool { return r.count(Sent) == 4 })
	if r.count(Failed)+r.count(Dropped) != 0 {
		t.Error("some are counted as failed")
	}
}

// A target is told of the kinds and the queues that it has asked for.
func TestChosenKinds(t *testing.T) {
	r, usual, some, other := newRig(t), newReceiver(t, nil), newReceiver(t, nil), newReceiver(t, nil)
	r.run(r.notifier(r.store,
		"webhook="+usual.URL+"#secret="+secret,
		"webhook="+some.URL+"#queue=acme/shop&kinds=landed,red&secret="+secret,
		"webhook="+other.URL+"#queue=acme/web&kinds=all&secret="+secret))
	r.note(landed(1), queue.Note{What: "main-red"}, queue.Note{What: "resumed"},
		queue.Note{What: "paused", Reason: queue.Reason{Names: []string{"ann"}, Detail: "it burns"}})
	r.wants(usual, "The target branch is red", "Landings paused by ann: it burns")
	r.wants(some, "#1. Landed", "The target branch is red")
	if got := other.texts(); len(got) != 0 {
		t.Errorf("who asked for another queue is told %v", got)
	}
}

// The key of a queue at GitHub has the repository's id, which nobody writes: a target names the
// queue as people see it, now or before it was renamed, and is told of it by its present name.
func TestQueuesAreNamedAsPeopleSeeThem(t *testing.T) {
	r := newRigOf(t, "github:77@main")
	r.view.Name, r.view.Main.Branch, r.names = "acme/shop@trunk", "trunk", []string{"acme/shop@trunk", "acme/store"}
	targets, told := []string{}, map[string]*receiver{}
	for named, tells := range map[string]bool{"acme/shop@trunk": true, "acme/web,acme/store": true, "github:77@main": true, "acme/web,acme/till": false} {
		in := newReceiver(t, nil)
		targets = append(targets, "webhook="+in.URL+"#kinds=landed&queue="+named+"&secret="+secret)
		if tells {
			told[named] = in
		}
	}
	r.run(r.notifier(r.store, targets...))
	r.note(landed(1))
	for named, in := range told {
		r.wants(in, "#1. Landed")
		if m := in.all()[0]; m.Queue != "acme/shop@trunk" || !strings.HasPrefix(m.ID, "github:77@main ") || !strings.Contains(m.URL, "github%3A77%40main") {
			t.Errorf("%s is told of %q, %q, %q", named, m.Queue, m.ID, m.URL)
		}
	}
	r.until("all are counted", func() bool { return r.count(Sent) >= len(told) })
	if n := r.count(Sent); n != len(told) {
		t.Errorf("%d are told, want %d", n, len(told))
	}
}

// A receiver that does as the package's documentation says knows what is ours.
func TestSignatureByTheRecipe(t *testing.T) {
	r, in := newRig(t), newReceiver(t, nil)
	r.view.Recent = []queue.Change{{ID: landed(1).Change, Number: 1, Title: "'\"\\ <é> 漢"}}
	r.run(r.notifier(r.store, in.hook()))
	r.note(landed(1))
	r.until("it came", func() bool { return len(in.all()) == 1 })
	got := in.all()[0]
	at, sign := got.header.Get("X-SubmitQueue-Timestamp"), got.header.Get("X-SubmitQueue-Signature-256")
	mac := hmac.New(sha256.New, []byte(secret))
	fmt.Fprintf(mac, "%s.%s", at, got.body)
	if want := "sha256=" + hex.EncodeToString(mac.Sum(nil)); sign != want {
		t.Errorf("signature %s, want %s", sign, want)
	}
	if s, err := strconv.ParseInt(at, 10, 64); err != nil || time.Since(time.Unix(s, 0)).Abs() > time.Minute {
		t.Errorf("timestamp %q", at)
	}
	if got.header.Get("Content-Type") != "application/json" || got.header.Get("User-Agent") != "submitqueue" {
		t.Errorf("headers %v", got.header)
	}
	if _, err := exec.LookPath("openssl"); err == nil {
		recipe := exec.Command("sh", "-c", `printf '%s.%s' "$timestamp" "$body" | openssl dgst -sha256 -hmac "$secret"`)
		recipe.Env = append(recipe.Environ(), "timestamp="+at, "body="+string(got.body), "secret="+secret)
		out, err := recipe.Output()
		if digits := strings.TrimPrefix(sign, "sha256="); err != nil || !strings.HasSuffix(strings.TrimSpace(string(out)), digits) {
			t.Errorf("openssl says %s, %v; the signature is %s", out, err, sign)
		}
	}
}

// dying is a store of a server that dies before it has kept a place.
type dying struct{ queue.Feed }

func (dying) Reached(context.Context, string, string, string) error { return errors.New("killed") }

// A server that dies between a message and its place sends that one again, under the same
// id, and loses none.
func TestCrashBetweenMessageAndPlace(t *testing.T) {
	r, in := newRig(t), newReceiver(t, nil)
	stop := r.run(r.notifier(dying{r.store}, in.hook()))
	r.note(landed(1))
	r.wants(in, "#1. Landed")
	stop()
	r.note(landed(2))
	r.run(r.notifier(r.store, in.hook()))
	r.wants(in, "#1. Landed", "#1. Landed", "#2. Landed")
	got := in.all()
	if got[0].ID != got[1].ID || got[1].ID == got[2].ID {
		t.Errorf("ids %q, %q, %q", got[0].ID, got[1].ID, got[2].ID)
	}
}

// A server that stops while a receiver thinks sends that one again.
func TestStopWhileSending(t *testing.T) {
	r := newRig(t)
	came, free := make(chan bool, 2), make(chan struct{})
	in := newReceiver(t, func(_ http.ResponseWriter, q *http.Request) {
		came <- true
		select {
		case <-free:
		case <-q.Context().Done():
		}
	})
	stop := r.run(r.notifier(r.store, in.hook()))
	r.note(landed(1))
	<-came
	stop()
	if n := r.count(Sent) + r.count(Failed) + r.count(Dropped); n != 0 {
		t.Errorf("%d tries are counted, and nobody knows what came of it", n)
	}
	close(free)
	r.run(r.notifier(r.store, in.hook()))
	r.wants(in, "#1. Landed", "#1. Landed")
	r.until("its place is kept", func() bool { return r.count(Sent) == 1 })
}

// flaky is a store that is away for a while.
type flaky struct {
	queue.Feed
	fails atomic.Int32 // so many calls to come
	calls atomic.Int32
}

func (f *flaky) away() error {
	f.calls.Add(1)
	if f.fails.Add(-1) >= 0 {
		return errors.New("the store is away")
	}
	return nil
}

func (f *flaky) Follow(ctx context.Context, name, reader string) (string, error) {
	if err := f.away(); err != nil {
		return "", err
	}
	return f.Feed.Follow(ctx, name, reader)
}

func (f *flaky) NotesAfter(ctx context.Context, name, place string, max int) ([]queue.Noted, string, error) {
	if err := f.away(); err != nil {
		return nil, "", err
	}
	return f.Feed.NotesAfter(ctx, name, place, max)
}

func (f *flaky) Reached(ctx context.Context, name, reader, place string) error {
	if err := f.away(); err != nil {
		return err
	}
	return f.Feed.Reached(ctx, name, reader, place)
}

// While the store is away nothing is lost, nothing is sent twice by a server that lives,
// and the log is not filled.
func TestStoreAway(t *testing.T) {
	r, in := newRig(t), newReceiver(t, nil)
	f := &flaky{Feed: r.store}
	f.fails.Store(5)
	n := r.notifier(f, in.hook())
	r.run(n)
	for i := range 6 {
		r.note(landed(i + 1))
		r.until("it came", func() bool { return len(in.all()) == i+1 })
		f.fails.Store(4)
	}
	r.until("the place of the last is kept", func() bool {
		at, err := r.store.Follow(t.Context(), shop, n.Targets[0].Name())
		return err == nil && at == "6"
	})
	r.wants(in, "#1. Landed", "#2. Landed", "#3. Landed", "#4. Landed", "#5. Landed", "#6. Landed")
	if said := strings.Count(r.log.String(), "level=WARN"); said < 1 || said > 14 {
		t.Errorf("the log has %d warnings:\n%s", said, r.log.String())
	}
}

// silent is a receiver that takes a message and never answers.
func silent(t *testing.T) *receiver {
	t.Helper()
	in := newReceiver(t, func(_ http.ResponseWriter, q *http.Request) { <-q.Context().Done() })
	t.Cleanup(in.CloseClientConnections) // before it is closed, which waits for them
	return in
}

// A receiver that never answers holds up no other.
func TestSilentTarget(t *testing.T) {
	r, good, slow := newRig(t), newReceiver(t, nil), silent(t)
	r.run(r.notifier(r.store, slow.hook(), good.hook()))
	r.note(landed(1))
	r.until("the silent one has it", func() bool { return len(slow.all()) == 1 })
	r.note(landed(2))
	r.wants(good, "#1. Landed", "#2. Landed")
	if got := slow.texts(); len(got) != 1 {
		t.Errorf("the silent one got %v", got)
	}
}

// A receiver has some time to answer, and no more.
func TestTimeOut(t *testing.T) {
	r, slow := newRig(t), silent(t)
	n := r.notifier(r.store, slow.hook())
	n.limit = 20 * time.Millisecond
	r.run(n)
	r.note(landed(1))
	r.until("it has given up", func() bool { return r.count(Dropped) == 1 })
	if got := n.Trouble(shop); len(got) != 1 || !strings.HasSuffix(got[0], "do not arrive: no answer within 20ms") {
		t.Errorf("trouble %q", got)
	}
}

// What a receiver does not take is dropped in the end, and log, counts and the queue's
// page say so, until it takes something.
func TestFailingTarget(t *testing.T) {
	r := newRig(t)
	var well atomic.Bool
	bad := newReceiver(t, func(w http.ResponseWriter, _ *http.Request) {
		if !well.Load() {
			w.WriteHeader(http.StatusBadGateway)
		}
	})
	n := r.notifier(r.store, bad.hook())
	r.run(n)
	r.note(landed(1))
	r.until("it has given up", func() bool { return r.count(Dropped) == 1 })
	if got := len(bad.all()); got != mostTries || r.count(Failed) != mostTries-1 {
		t.Errorf("%d tries, want %d", got, mostTries)
	}
	want := []string{"notifications to " + n.Targets[0].Name() + " do not arrive: the receiver answers 502 Bad Gateway"}
	if got := n.Trouble(shop); !slices.Equal(got, want) {
		t.Errorf("trouble %q, want %q", got, want)
	}
	if got := n.Trouble("acme/web@main"); len(got) != 0 {
		t.Errorf("trouble of another queue: %q", got)
	}
	if log := r.log.String(); strings.Count(log, "a notification is dropped") != 1 || strings.Count(log, "did not arrive; trying again") != 1 {
		t.Errorf("the log says\n%s", log)
	}
	well.Store(true)
	r.note(landed(2))
	r.until("the trouble is over", func() bool { return len(n.Trouble(shop)) == 0 })
	if got := bad.texts(); got[len(got)-1] != "#2. Landed" {
		t.Errorf("last came %s", got[len(got)-1])
	}
}

// Who has a message and does not want it is not asked again, and gets the next.
func TestRefused(t *testing.T) {
	r := newRig(t)
	elsewhere := newReceiver(t, nil)
	status := atomic.Int32{}
	status.Store(http.StatusNotFound)
	in := newReceiver(t, func(w http.ResponseWriter, q *http.Request) {
		w.Header().Set("Location", elsewhere.URL)
		w.WriteHeader(int(status.Load()))
	})
	n := r.notifier(r.store, in.hook())
	r.run(n)
	for i, code := range []int{404, 400, 401, 410, 301, 302, 307, 308} {
		status.Store(int32(code))
		r.note(landed(i + 1))
		r.until("it is dropped", func() bool { return r.count(Dropped) == i+1 })
		if got := n.Trouble(shop); len(got) != 1 || !strings.Contains(got[0], strconv.Itoa(code)) {
			t.Errorf("%d: trouble %q", code, got)
		}
	}
	if len(in.all()) != 8 || len(elsewhere.all()) != 0 {
		t.Errorf("%d requests, and %d where a redirect leads", len(in.all()), len(elsewhere.all()))
	}
}

func TestAnswers(t *testing.T) {
	for _, c := range []struct {
		code    int
		after   string
		taken   bool
		refused bool
		rest    time.Duration
	}{
		{200, "", true, false, 0}, {204, "", true, false, 0}, {299, "", true, false, 0},
		{301, "", false, true, 0}, {400, "", false, true, 0}, {404, "9", false, true, 0}, {413, "", false, true, 0},
		{408, "", false, false, 0}, {425, "", false, false, 0}, {429, "", false, false, 0}, {500, "", false, false, 0}, {503, "x", false, false, 0},
		{429, "30", false, false, 30 * time.Second}, {503, "999999999999", false, false, mostPause}, {503, "-5", false, false, 0},
	} {
		f := judge(&http.Response{StatusCode: c.code, Header: http.Header{"Retry-After": {c.after}}})
		if (f == nil) != c.taken || f != nil && (f.refused != c.refused || f.after != c.rest) {
			t.Errorf("%d, %q: %+v", c.code, c.after, f)
		}
	}
	hour := time.Duration(0)
	for tries := range mostTries - 1 {
		hour += doubling(tries + 1)
	}
	if doubling(1) != time.Second || doubling(3) != 4*time.Second || doubling(1000) != mostPause || hour < 50*time.Minute || hour > 70*time.Minute {
		t.Errorf("rests %v, %v, %v; in all %v", doubling(1), doubling(3), doubling(1000), hour)
	}
}

// A receiver that comes back after a long time gets the newest, and one message for all the rest.
func TestLongAbsence(t *testing.T) {
	r, in := newRig(t), newReceiver(t, nil)
	stop := r.run(r.notifier(r.store, in.hook()))
	stop()
	var want []string
	for i := range 47 {
		n := landed(i + 1)
		if i%5 == 0 {
			n.What = "rejected"
		}
		r.note(n, queue.Note{What: "analyzed", Number: i})
		if i == 36 {
			want = append(want, "37 more: 29 landed, 8 rejected")
		} else if i > 36 {
			what := "Landed"
			if i%5 == 0 {
				what = "Rejected"
			}
			want = append(want, fmt.Sprintf("#%d. %s", i+1, what))
		}
	}
	r.run(r.notifier(r.store, in.hook()))
	r.wants(in, want...)
	if m := in.all()[0].Message; m.Kind != "more" || m.More["landed"] != 29 || m.More["rejected"] != 8 {
		t.Errorf("the first says %+v", m)
	}
}

// Up to a score, each is told of by itself.
func TestShortAbsence(t *testing.T) {
	r, in := newRig(t), newReceiver(t, nil)
	r.run(r.notifier(r.store, in.hook()))()
	var want []string
	for i := range mostWaiting {
		r.note(landed(i + 1))
		want = append(want, fmt.Sprintf("#%d. Landed", i+1))
	}
	r.run(r.notifier(r.store, in.hook()))
	r.wants(in, want...)
}

// Addresses and secrets are in no log and on no page, whatever goes wrong.
func TestSecretsStayIn(t *testing.T) {
	r := newRig(t)
	gone := newReceiver(t, nil)
	address := strings.TrimPrefix(gone.URL, "http://")
	gone.Close()
	echo := newReceiver(t, func(w http.ResponseWriter, q *http.Request) {
		w.Header().Set("Location", q.URL.String())
		w.WriteHeader(http.StatusFound)
		fmt.Fprint(w, q.URL.String())
	})
	rude := newReceiver(t, func(w http.ResponseWriter, q *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			fmt.Fprintf(conn, "%s nonsense\r\n\r\n", q.URL.String())
			conn.Close()
		}
	})
	n := r.notifier(r.store,
		"webhook=http://ann:SECRETpass@"+address+"/SECRETpath?k=SECRETquery#kinds=all&secret=SECRETSECRETSECRET",
		"webhook="+echo.URL+"/SECRETpath?k=SECRETquery#kinds=all&secret=SECRETSECRETSECRET",
		"webhook="+rude.URL+"/SECRETpath?k=SECRETquery#kinds=all&secret=SECRETSECRETSECRET",
		"slack=http://SECRETname.invalid:1/SECRETpath#kinds=all")
	r.run(n)
	r.note(landed(1))
	r.until("all have given up", func() bool { return r.count(Dropped) == 4 })
	if pages := strings.Join(n.Trouble(shop), "\n"); strings.Contains(pages, "127.0.0.1") || strings.Contains(pages, ".invalid") {
		t.Errorf("pages name hosts:\n%s", pages)
	}
	said := r.log.String() + strings.Join(n.Trouble(shop), "\n")
	if i := strings.Index(strings.ReplaceAll(said, "SECRETname.invalid", ""), "SECRET"); i >= 0 {
		t.Errorf("a secret is told:\n%s", said)
	}
	if len(n.Trouble(shop)) != 4 || !strings.Contains(said, "connection refused") {
		t.Errorf("it is not told what is wrong:\n%s", said)
	}
}

// A change that has just come is named by its title, also where the view that readers
// share is older than it.
func TestLateView(t *testing.T) {
	r, in := newRig(t), newReceiver(t, nil)
	n := r.notifier(r.store, in.hook())
	n.late = patience
	r.run(n)
	r.note(landed(1))
	for i := range 3 { // views without it, and one with it
		r.mu.Lock()
		if i == 2 {
			r.view.Recent = []queue.Change{{ID: landed(1).Change, Number: 1, Title: "Fix the cart", Author: "ann"}}
		}
		r.mu.Unlock()
		r.note()
	}
	r.wants(in, "#1 Fix the cart, by ann. Landed")
}

// A server that no longer owns a queue sends nothing about it.
func TestTroubleEndsWithOwnership(t *testing.T) {
	r, in := newRig(t), newReceiver(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) })
	n := r.notifier(r.store, in.hook())
	stop := r.run(n)
	r.note(landed(1))
	r.until("there is trouble", func() bool { return len(n.Trouble(shop)) == 1 })
	stop()
	if got := n.Trouble(shop); len(got) != 0 {
		t.Errorf("trouble %q", got)
	}
	var nobody *Notifier
	nobody.Run(t.Context(), shop, r)
	if nobody.Trouble(shop) != nil {
		t.Error("nobody has trouble")
	}
}

// A kind is one row, and a way to tell is one row and its encoder.
func TestToys(t *testing.T) {
	shout := sink{name: "shout", encode: func(m Message, _ []byte, _ time.Time) ([]byte, http.Header, error) {
		return []byte(`{"text":"` + strings.ToUpper(m.Text) + `!"}`), http.Header{"X-Loud": {"yes"}}, nil
	}}
	outside := kind{name: "outside", of: []string{"outside"}}
	r, in := newRig(t), newReceiver(t, nil)
	n := r.notifier(r.store)
	table := append(slices.Clone(kinds), outside)
	list, err := parse([]string{"shout=" + in.URL + "#kinds=outside"}, append(slices.Clone(sinks), shout), table)
	if err != nil {
		t.Fatal(err)
	}
	n.Targets, n.kinds = list, table
	r.run(n)
	r.note(landed(1), queue.Note{What: "outside"})
	r.wants(in, "THE TARGET BRANCH GOT COMMITS THAT THE QUEUE DID NOT MAKE!")
	if in.all()[0].header.Get("X-Loud") != "yes" {
		t.Error("the header is missing")
	}
}
