package server

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/cmd/submitqueue/githubapp"
	"github.com/submitqueue/submitqueue/forge/forgetest"
	"github.com/submitqueue/submitqueue/queue/storetest"
)

const foundSecret = "0123456789abcdef"

// startFound starts a server that finds its repositories, with webhooks.
func startFound(t *testing.T, hub *forgetest.Server, owners ...string) *serving {
	t.Helper()
	data := t.TempDir()
	a := githubapp.File{API: hub.APIURL(), ID: hub.AppID(), Key: string(hub.AppKey()), WebhookSecret: foundSecret}
	if err := a.Save(githubapp.PathOf(data)); err != nil {
		t.Fatal(err)
	}
	s := startServe(t, data, func(c *Serve) { c.Owner = owners })
	hub.SetWebhook(s.base+"/webhook", foundSecret)
	return s
}

func (s *serving) serves(names ...string) {
	s.t.Helper()
	want := strings.Join(names, " ")
	s.until("the queues are "+want, func() bool { return s.queues() == want })
}

func (s *serving) metrics() string {
	s.t.Helper()
	return string(s.get("/metrics"))
}

// Repositories come and go with what GitHub tells of installations, and with
// their configuration; webhooks find each queue.
func TestManyRepositories(t *testing.T) {
	storetest.OneOf(t, 3)
	t.Parallel()
	hub, shop := newShopServer(t)
	store := addRepository(t, hub, "Umbrella", "Store", map[string]string{".submitqueue.yml": passConfig})
	idle := addRepository(t, hub, "acme", "idle", map[string]string{"README.md": "hello"})
	addRepository(t, hub, "mallory", "miner", map[string]string{".submitqueue.yml": passConfig})
	hub.App.Install("acme", "shop", "idle")
	hub.App.Install("mallory")
	s := startFound(t, hub, "acme", "umbrella")
	s.serves("acme/shop@main")

	umbrella := itoa(hub.App.Install("Umbrella"))
	s.serves("Umbrella/Store@main", "acme/shop@main")
	for _, g := range hub.App.Grants() {
		if g.Repositories == nil && (len(g.Permissions) != 2 || g.Permissions["contents"] != "read") {
			t.Errorf("a token for all repositories may do too much: %+v", g)
		}
	}

	// A repository without a configuration costs nothing while nothing is pushed
	// to it, and one request when that is a configuration.
	looks := func() int {
		return len(hub.Requests(http.MethodGet, "/repos/acme/idle/*")) + len(hub.Requests(http.MethodGet, "/repos/acme/idle/*/*"))
	}
	before := looks()
	if _, err := idle.Commit("ann", forgetest.Commit{Branch: "main", Files: map[string]string{"README.md": "bye"}}); err != nil {
		t.Fatal(err)
	}
	if err := hub.WaitDelivered(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := looks(); got != before {
		t.Errorf("%d requests for a repository without a queue", got-before)
	}
	if _, err := idle.Commit("ann", forgetest.Commit{Branch: "main", Files: map[string]string{".submitqueue.yml": passConfig}}); err != nil {
		t.Fatal(err)
	}
	s.serves("Umbrella/Store@main", "acme/idle@main", "acme/shop@main")

	if !strings.Contains(s.metrics(), "installation "+umbrella) {
		t.Error("no metrics of Umbrella's limits")
	}

	// Each lands what it is told.
	for _, r := range []*forgetest.Repository{shop, store, idle} {
		if _, err := r.Commit("ann", forgetest.Commit{Branch: "topic", From: "main", Files: map[string]string{"a.txt": "a\n"}}); err != nil {
			t.Fatal(err)
		}
		r.SetPermission("ann", "write")
		n, err := r.OpenPull("ann", "topic", "main", "A topic")
		if err != nil {
			t.Fatal(err)
		}
		r.Comment("ann", n, "/land")
		merged(t, r, n)
	}

	hub.App.RemoveFromInstallation("acme", "idle")
	s.serves("Umbrella/Store@main", "acme/shop@main")
	hub.App.Suspend("acme", true) // waits for its end
	hub.App.Uninstall("Umbrella")
	s.serves("acme/shop@main")
	s.until("nothing is left of Umbrella", func() bool { return !strings.Contains(s.metrics(), "installation "+umbrella) })
	hub.App.Suspend("acme", false)
	hub.App.AddToInstallation("acme", "idle")
	s.serves("acme/idle@main", "acme/shop@main")
}

// A broken repository keeps no other one waiting.
func TestOneRepositoryFails(t *testing.T) {
	t.Parallel()
	hub, shop := newShopServer(t)
	addRepository(t, hub, "acme", "broken", map[string]string{".submitqueue.yml": passConfig})
	addRepository(t, hub, "umbrella", "store", map[string]string{".submitqueue.yml": passConfig})
	hub.App.Install("acme")
	bad := hub.App.Install("umbrella")
	hub.Fail(forgetest.Fault{Path: "/repos/acme/broken/*", Status: 500, Times: 1000})
	hub.Fail(forgetest.Fault{Path: "/repos/acme/broken/*/*", Status: 500, Times: 1000})
	hub.Fail(forgetest.Fault{Path: "/app/installations/" + itoa(bad) + "/access_tokens", Status: 502, Times: 1000})
	s := startFound(t, hub, "*")
	s.serves("acme/shop@main")
	if _, err := shop.Commit("ann", forgetest.Commit{Branch: "topic", From: "main", Files: map[string]string{"a.txt": "a\n"}}); err != nil {
		t.Fatal(err)
	}
	n, err := shop.OpenPull("ann", "topic", "main", "A topic")
	if err != nil {
		t.Fatal(err)
	}
	shop.Comment("ann", n, "/land")
	merged(t, shop, n)
	resp, err := http.Get(s.base + "/readyz")
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("%v %v", resp, err)
	}
	resp.Body.Close()
}

// passConfig is a configuration whose only step passes.
const passConfig = "version: 1\nsteps:\n  - {name: test, run: 'true'}\n"

// merged waits until a pull request is merged.
func merged(t *testing.T, r *forgetest.Repository, n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := r.WaitFor(ctx, func(v forgetest.View) bool { return v.Pull(n).Merged }); err != nil {
		t.Fatalf("#%d is not merged: %v", n, err)
	}
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
