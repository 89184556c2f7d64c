package coordinator_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/workers/coordinator"
	"github.com/submitqueue/submitqueue/workers/protocol"
)

// twins are two machines of one host name, as clones of one image are.
func (b *bench) twins() (first, second *runner) {
	first, second = b.runner(), b.runner()
	second.system = "s_fedcba987654"
	for _, x := range []*runner{first, second} {
		x.info.Labels = map[string]string{"host": "mac"}
	}
	return first, second
}

// asks has a machine ask in vain for a moment.
func (r *runner) asks() {
	ctx, cancel := context.WithTimeout(r.b.t.Context(), 100*time.Millisecond)
	defer cancel()
	r.askIn(ctx)
}

// A machine was away while another one of its host name came, and comes back: the two have two
// names again, and what one runs goes on when the other asks.
func TestAMachineComesBackToItsName(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(o *coordinator.Options) { o.Lease = time.Second })
	r, clone := b.twins()
	r.asks()
	time.Sleep(1200 * time.Millisecond) // it is rebooted
	clone.asks()
	b.join(r)
	b.run("first", unit, "a")
	r.ask()
	r.begin()
	clone.asks()
	r.end(0)
	if d := b.done("first"); d.Outcome != queue.JobPassed {
		t.Errorf("its result is lost: %+v of %+v", d, b.c.Machines())
	}
}

// After a restart of the server, machines of one host name have the names under which the pool
// has their jobs, whichever of them is known first.
func TestNamesOutliveTheServer(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r, clone := b.twins()
	b.join(r) // as box-mac
	clone.asks()
	other := *clone // another slot of it
	b.run("first", unit, "a")
	clone.ask()
	clone.begin()
	b.run("second", unit, "b")
	other.ask()
	other.begin()
	clone.end(0)
	if d := b.done("first"); d.Outcome != queue.JobPassed {
		t.Fatalf("%+v", d)
	}
	b.run("third", unit, "c")
	r.ask()
	r.begin()
	b.kill()
	b.run("second", unit, "b")
	b.run("third", unit, "c")
	clone.asks()
	r.end(0)
	other.end(0)
	for _, id := range []queue.BuildID{"second", "third"} {
		if d := b.done(id); d.Outcome != queue.JobPassed {
			t.Errorf("the result of %s is lost: %+v of %+v", id, d, b.c.Machines())
		}
	}
}

// A machine is taken off the list while its request is held (gitlab-runner unregister, for one of
// two entries with one token): what that request gets is not lost when the machine asks again.
func TestUnregisteredWhileItAsks(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r, other := b.runner(), b.runner()
	b.join(r)
	got := make(chan int, 1)
	go func() {
		job, status, _ := r.askIn(t.Context())
		r.job, r.sent = job, nil
		got <- status
	}()
	b.until("it asks", func() bool { return b.c.Machines()[0].Asking == 1 })
	raw, _ := json.Marshal(protocol.VerifyRequest{Token: r.token, SystemID: r.system})
	if res, _ := r.send(t.Context(), "DELETE", "runners/managers", r.heads(r.token), raw); res.StatusCode != http.StatusNoContent {
		t.Fatalf("%d", res.StatusCode)
	}
	b.run("first", unit, "a")
	if status := <-got; status == http.StatusNoContent {
		r.ask()
	}
	r.begin()
	other.asks()
	r.end(0)
	if d := b.done("first"); d.Outcome != queue.JobPassed {
		t.Errorf("its result is lost: %+v of %+v", d, b.c.Machines())
	}
}
