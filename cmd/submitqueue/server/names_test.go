package server

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/app/api"
	"github.com/submitqueue/submitqueue/app/texts"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/explain"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"
	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/forgetest"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/memstore"
	"github.com/submitqueue/submitqueue/queue/storetest"
)

func needRedis(t *testing.T) {
	t.Helper()
	_, err := exec.LookPath("redis-server")
	storetest.Need(t, "redis", err == nil)
}

// again starts the server once more, on what it has stored.
func (s *serving) again(hub *forgetest.Server, with func(*Serve)) *serving {
	s.t.Helper()
	s.stop()
	next := startServe(s.t, s.data, with)
	hub.SetWebhook(next.base+"/webhook", foundSecret)
	return next
}

// land has a branch of its own landed on another.
func land(t *testing.T, r *forgetest.Repository, branch, on string) {
	t.Helper()
	merged(t, r, ask(t, r, branch, on))
}

// ask asks for that.
func ask(t *testing.T, r *forgetest.Repository, branch, on string) int {
	t.Helper()
	n := propose(t, r, branch, on)
	r.Comment("ann", n, "/land")
	return n
}

// propose opens a pull request for a branch of its own.
func propose(t *testing.T, r *forgetest.Repository, branch, on string) int {
	t.Helper()
	if _, err := r.Commit("ann", forgetest.Commit{Branch: branch, From: on, Files: map[string]string{branch: "a\n"}}); err != nil {
		t.Fatal(err)
	}
	n, err := r.OpenPull("ann", branch, on, "A "+branch)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// queued waits until as many wait in a queue as there should.
func (s *serving) queued(name string, want int) {
	s.t.Helper()
	s.until(fmt.Sprintf("%d wait in %s", want, name), func() bool { return len(s.queue(name).Order) == want })
}

func (s *serving) queue(name string) (q api.Queue) {
	s.t.Helper()
	if err := json.Unmarshal(s.get("/api/queue?queue="+url.QueryEscape(name)), &q); err != nil {
		s.t.Fatal(err)
	}
	return q
}

func (s *serving) get(path string) []byte {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.base+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+s.token)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return data
}

func done(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A repository that is given another name keeps its queue, after a restart too,
// and so does the one that takes its name.
func TestRenamedRepositoryKeepsItsQueue(t *testing.T) {
	hub, shop := newShopServer(t)
	hub.App.Install("acme")
	s := startFound(t, hub, "acme")
	s.serves("acme/shop@main")
	land(t, shop, "first", "main")
	done(t, shop.Rename("acme", "acme/store"))
	land(t, shop, "second", "main")
	other := addRepository(t, hub, "acme", "shop", map[string]string{".submitqueue.yml": passConfig})
	hub.App.AddToInstallation("acme", "shop")
	both := regexp.MustCompile(`^acme/shop@main acme/shop~\d+@main$`)
	s.until("each has a queue", func() bool { return both.MatchString(s.queues()) })
	before := s.queues()
	land(t, shop, "third", "main")
	land(t, other, "fourth", "main")
	needRedis(t)
	s = s.again(hub, func(c *Serve) { c.Owner = []string{"acme"} })
	s.serves(before)
	land(t, shop, "fifth", "main")
	land(t, other, "sixth", "main")
}

// What was renamed while nobody served it is found by its id, with all that waits
// there: the repository, its branch, both, and with somebody else under the old name
// whose branch is renamed, too.
func TestRenamedWhileTheServerWasDown(t *testing.T) {
	needRedis(t)
	for name, c := range map[string]struct {
		repository, branch bool
		newcomer           bool
	}{
		"the repository": {repository: true},
		"the branch":     {branch: true},
		"both":           {repository: true, branch: true},
		"and a newcomer": {repository: true, branch: true, newcomer: true},
	} {
		t.Run(name, func(t *testing.T) {
			hub, shop := newShopServer(t)
			shop.SetPermission("max", "maintain")
			hub.App.Install("acme")
			s := startFound(t, hub, "acme")
			s.serves("acme/shop@main")
			land(t, shop, "first", "main")
			waits := propose(t, shop, "second", "main")
			shop.Comment("max", waits, "/queue pause the release is cut")
			s.until("it is paused", func() bool { return s.queue("acme/shop@main").Paused })
			shop.Comment("ann", waits, "/land")
			s.queued("acme/shop@main", 1)
			s.stop()
			branch, others := "main", "main"
			if c.repository {
				done(t, shop.Rename("acme", "acme/store"))
			}
			if c.branch {
				branch = "trunk"
				done(t, shop.RenameBranch("acme", "main", branch))
			}
			want := regexp.MustCompile(`^acme/shop@main$`)
			var other *forgetest.Repository
			if c.newcomer {
				other = addRepository(t, hub, "acme", "shop", map[string]string{".submitqueue.yml": passConfig})
				hub.App.AddToInstallation("acme", "shop")
				want = regexp.MustCompile(`^acme/shop@main acme/shop~\d+@main$`)
			}
			s = s.again(hub, func(c *Serve) { c.Owner = []string{"acme"} })
			s.until("the queues are found", func() bool { return want.MatchString(s.queues()) })
			s.queued("acme/shop@main", 1)
			if c.newcomer {
				land(t, other, "third", "main")
				others = "develop"
				done(t, other.RenameBranch("acme", "main", others))
				land(t, other, "fourth", others)
				before := s.queues()
				s = s.again(hub, func(c *Serve) { c.Owner = []string{"acme"} })
				s.serves(before)
				land(t, other, "fifth", others)
			}
			s.until("it is that of "+branch, func() bool { q := s.queue("acme/shop@main"); return q.Branch == branch && q.Tip == shop.Head(branch) })
			s.queued("acme/shop@main", 1)
			shop.Comment("max", waits, "/queue resume")
			merged(t, shop, waits)
			land(t, shop, "sixth", branch)
		})
	}
}

// --repo finds the queue under the name that it began with, and under the present
// one; somebody else who has taken the former name has none of it.
func TestNamedRepositoryIsRenamed(t *testing.T) {
	needRedis(t)
	hub, shop := newShopServer(t)
	hub.App.Install("acme")
	serves := func(names ...string) func(*Serve) { return func(c *Serve) { c.Repo = names } }
	s := startFound(t, hub, "acme")
	s = s.again(hub, serves("acme/shop"))
	s.serves("acme/shop@main")
	land(t, shop, "first", "main")
	s.stop()
	done(t, shop.Rename("acme", "acme/store"))
	for _, name := range []string{"acme/store", "acme/shop", "Acme/Store"} {
		s = s.again(hub, serves(name))
		s.serves("acme/shop@main")
		land(t, shop, "by-"+strings.ToLower(strings.ReplaceAll(name, "/", "-"))+itoa(int64(len(name)))+name[:1], "main")
	}
	s = s.again(hub, serves("acme/store", "acme/shop")) // the same one
	s.serves("acme/shop@main")
	other := addRepository(t, hub, "acme", "shop", map[string]string{".submitqueue.yml": passConfig})
	hub.App.AddToInstallation("acme", "shop")
	before := other.Head("main")
	s = s.again(hub, serves("acme/shop"))
	s.serves("acme/shop@main")
	n := ask(t, other, "mine", "main")
	land(t, shop, "last", "main")
	if other.Head("main") != before || other.Pull(n).Merged {
		t.Error("the queue has landed what another repository asks for")
	}
}

// Where the forge cannot say whose a name is that has no queue, there is none, and
// the server is not ready, until it can.
func TestNamedRepositoryIsNotFoundYet(t *testing.T) {
	needRedis(t)
	hub, shop := newShopServer(t)
	hub.App.Install("acme")
	s := startFound(t, hub, "acme")
	s.serves("acme/shop@main")
	s.stop()
	done(t, shop.Rename("acme", "acme/store"))
	hub.App.Suspend("acme", true)
	s = s.again(hub, func(c *Serve) { c.Repo = []string{"acme/store"} })
	s.until("it says what is missing", func() bool { return strings.Contains(string(s.get("/readyz")), "acme/store is not found yet") })
	if got := s.queues(); got != "" {
		t.Errorf("the queues are %s", got)
	}
	hub.App.Suspend("acme", false)
	s.serves("acme/shop@main")
	land(t, shop, "first", "main")
}

// A queue whose branch nobody has chosen goes along where that is renamed, and stays
// where another one becomes the default branch; it says so, after a restart as before.
func TestAnotherDefaultBranch(t *testing.T) {
	needRedis(t)
	hub, shop := newShopServer(t)
	if _, err := shop.Commit("acme", forgetest.Commit{Branch: "next", From: "main", Files: map[string]string{"n": "n\n"}}); err != nil {
		t.Fatal(err)
	}
	hub.App.Install("acme")
	s := startFound(t, hub, "acme")
	s.serves("acme/shop@main")
	land(t, shop, "first", "main")
	if q := s.queue("acme/shop@main"); q.Default != "" {
		t.Errorf("it says %q", q.Default)
	}
	done(t, shop.SetDefaultBranch("acme", "next"))
	const want = "the default branch is next; this queue stays with main, as that was not renamed. For a queue of next start a server with --branch next; --branch main ends this message"
	stays := func() {
		t.Helper()
		s.until("it says so", func() bool { return s.queue("acme/shop@main").Default == want })
		s.serves("acme/shop@main")
		var out strings.Builder
		explain.Queue(print.Sheet{Out: &out, Width: 200, Now: time.Now()}, s.queue("acme/shop@main"))
		page := string(s.get("/queue?queue=" + url.QueryEscape("acme/shop@main")))
		for where, text := range map[string]string{"status": out.String(), "the page": page} {
			if !strings.Contains(text, "the default branch is next; this queue stays with main") {
				t.Errorf("%s does not say it:\n%s", where, text)
			}
		}
	}
	stays()
	closed := func(n int) { // GitHub shows only what is on the default branch as merged
		t.Helper()
		s.until(fmt.Sprintf("#%d is closed", n), func() bool { return shop.Pull(n).State == "closed" })
		if !slices.Contains(shop.Pull(n).Labels, texts.LandedLabel) {
			t.Errorf("#%d: %+v", n, shop.Pull(n))
		}
	}
	closed(ask(t, shop, "second", "main"))
	s = s.again(hub, func(c *Serve) { c.Owner = []string{"acme"} })
	stays()
	closed(ask(t, shop, "third", "main"))
	done(t, shop.SetDefaultBranch("acme", "main"))
	s.until("there is nothing to say any more", func() bool { return s.queue("acme/shop@main").Default == "" })
}

// Each repository has one name, whoever asks for it and in which order.
func TestQueueNames(t *testing.T) {
	store := memstore.New(time.Now)
	of := func(id int64, name, own string) keptName {
		t.Helper()
		k, err := (&queueNames{store: store, owner: itoa(id)}).of(t.Context(), forge.Place{ID: id, Name: name}, own)
		done(t, err)
		return k
	}
	for _, c := range []struct {
		id        int64
		name, own string
		want      keptName
	}{
		{77, "acme/shop", "", keptName{Name: "acme/shop"}},          // its branch was chosen
		{77, "acme/store", "main", keptName{"acme/shop", "main"}},   // renamed; by now nobody chooses
		{77, "acme/store", "trunk", keptName{"acme/shop", "main"}},  // another default branch
		{91, "Acme/Shop", "main", keptName{"Acme/Shop~91", "main"}}, // names differ in more than case
		{92, "acme/store", "main", keptName{"acme/store", "main"}},  // nobody's queues have that
		{77, "acme/shop~91", "main", keptName{"acme/shop", "main"}}, // it stays
		{91, "acme/depot", "", keptName{"Acme/Shop~91", "main"}},    // so does this
	} {
		if got := of(c.id, c.name, c.own); got != c.want {
			t.Errorf("%d %s: %+v, want %+v", c.id, c.name, got, c.want)
		}
	}
	n := &queueNames{store: store, owner: "x"}
	for name, want := range map[string]int64{"ACME/shop": 77, "acme/shop~91": 91, "acme/store": 92, "acme/depot": 0} {
		if id, _, err := n.named(t.Context(), name); err != nil || id != want {
			t.Errorf("%s: %d %v, want %d", name, id, err, want)
		}
	}

	// What a queue has stored belongs to its repository, although no name was kept.
	s := queue.NewState("main")
	s.Main.Repository = 5
	record, _, err := s.Encode(queue.Ref{Kind: queue.KindMeta, ID: queue.MetaMain})
	done(t, err)
	token, err := store.Acquire(t.Context(), "acme/old@main", "x", time.Minute)
	done(t, err)
	done(t, store.Commit(t.Context(), queue.Turn{Queue: "acme/old@main", Token: token, Put: []queue.Record{record}}))
	if got := of(6, "acme/old", "main"); got.Name != "acme/old~6" {
		t.Errorf("%+v", got)
	}
	if got := of(5, "acme/old", "main"); got.Name != "acme/old" {
		t.Errorf("%+v", got)
	}
}
