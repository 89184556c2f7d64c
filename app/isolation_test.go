package app_test

import (
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/app"
	"github.com/submitqueue/submitqueue/app/api"
	"github.com/submitqueue/submitqueue/workers"
)

// That nothing keeps steps from the server is said on every page with something of a queue,
// and by the API; pages that strangers may see say nothing of it.
func TestIsolationIsSaid(t *testing.T) {
	for isolation, loud := range map[workers.Isolation]bool{workers.IsolateNone: true, workers.IsolateUID: false, workers.IsolateNamespace: false, "": false} {
		w := newWindow(t, func(o *app.ServerOptions) { o.Isolation = isolation })
		for _, path := range []string{"/", "/queue?queue=acme%2Fstore%40main", "/change?queue=acme%2Fstore%40main&id=7"} {
			if _, _, body := w.get(t, path); strings.Contains(body, "Steps run as the same user as this server") != loud {
				t.Errorf("isolation %q, %s: it is said: %t", isolation, path, !loud)
			}
		}
		if _, _, body := w.get(t, "/nowhere"); strings.Contains(body, "Steps run") {
			t.Errorf("isolation %q: strangers are told of it", isolation)
		}
		_, _, body := w.get(t, "/api/queues")
		if got := mustDecode[[]api.QueueSummary](t, body); got[0].Isolation != string(isolation) {
			t.Errorf("isolation %q is %q in the API", isolation, got[0].Isolation)
		}
	}
}

// So are homes that stay, and what the machine leaves open.
func TestWhatIsLeftOpenIsSaid(t *testing.T) {
	w := newWindow(t, func(o *app.ServerOptions) {
		o.Isolation, o.KeepHomes, o.Gaps = workers.IsolateUID, true, []string{"the <network>"}
	})
	_, _, body := w.get(t, "/")
	for _, text := range []string{"The homes of steps stay from build to build", "Open to steps on this machine: the &lt;network&gt;."} {
		if !strings.Contains(body, text) {
			t.Errorf("%q is not on the page", text)
		}
	}
}
