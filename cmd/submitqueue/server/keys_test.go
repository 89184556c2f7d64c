package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/submitqueue/submitqueue/app/api"
	"github.com/submitqueue/submitqueue/app/texts"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/explain"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"
	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/forgetest"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/memstore"
	"github.com/submitqueue/submitqueue/queue/redisstore"
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
	storetest.OneOf(t, 2)
	t.Parallel()
	hub, shop := newShopServer(t)
	hub.App.Install("acme")
	s := startFound(t, hub, "acme")
	s.serves("acme/shop@main")
	land(t, shop, "first", "main")
	key := s.queue("acme/shop@main").Key
	if !strings.HasPrefix(key, strings.TrimPrefix(hub.URL(), "http://")+":") || !strings.HasSuffix(key, "@main") {
		t.Errorf("the key is %s", key)
	}
	done(t, shop.Rename("acme", "acme/store"))
	land(t, shop, "second", "main")
	s.serves("acme/store@main")
	for _, name := range []string{"acme/store", "acme/store@main", key, "acme/shop@main", "Acme/shop"} {
		if q := s.queue(name); q.Name != "acme/store@main" || q.Key != key {
			t.Errorf("%s is taken for %s, %s", name, q.Name, q.Key)
		}
	}
	s.until("its metrics have the new name", func() bool { return strings.Contains(s.metrics(), `slots{queue="acme/store@main"}`) })
	if strings.Contains(s.metrics(), `queue="acme/shop@main"`) {
		t.Error("there are metrics under the former name")
	}
	other := addRepository(t, hub, "acme", "shop", map[string]string{".submitqueue.yml": passConfig})
	hub.App.AddToInstallation("acme", "shop")
	s.serves("acme/shop@main", "acme/store@main")
	if q := s.queue("acme/shop"); q.Key == key {
		t.Error("the name that another has taken is still that of the first")
	}
	land(t, shop, "third", "main")
	land(t, other, "fourth", "main")
	needRedis(t)
	s = s.again(hub, func(c *Serve) { c.Owner = []string{"acme"} })
	s.serves("acme/shop@main", "acme/store@main")
	if got := s.queue("acme/store").Key; got != key {
		t.Errorf("the key is %s, and was %s", got, key)
	}
	land(t, shop, "fifth", "main")
	land(t, other, "sixth", "main")
}

// A queue whose repository or branch was renamed while no server ran is found by its
// id, with all that waits there: the repository, its branch, both, and with another
// repository under the old name whose branch is renamed, too.
func TestRenamedWhileTheServerWasDown(t *testing.T) {
	t.Parallel()
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
		if (!c.repository || !c.branch) && !storetest.Required("long") {
			continue // both are renamed in the others
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hub, shop := newShopServer(t)
			shop.SetPermission("max", "maintain")
			hub.App.Install("acme")
			s := startFound(t, hub, "acme")
			s.serves("acme/shop@main")
			key, name := s.queue("acme/shop@main").Key, "acme/shop"
			land(t, shop, "first", "main")
			waits := propose(t, shop, "second", "main")
			shop.Comment("max", waits, "/queue pause the release is cut")
			s.until("it is paused", func() bool { return s.queue("acme/shop@main").Paused })
			shop.Comment("ann", waits, "/land")
			s.queued("acme/shop@main", 1)
			s.stop()
			branch, others := "main", "main"
			if c.repository {
				name = "acme/store"
				done(t, shop.Rename("acme", name))
			}
			if c.branch {
				branch = "trunk"
				done(t, shop.RenameBranch("acme", "main", branch))
			}
			var want []string
			var other *forgetest.Repository
			if c.newcomer {
				other = addRepository(t, hub, "acme", "shop", map[string]string{".submitqueue.yml": passConfig})
				hub.App.AddToInstallation("acme", "shop")
				want = []string{"acme/shop@main"}
			}
			want = append(want, name+"@"+branch)
			s = s.again(hub, func(c *Serve) { c.Owner = []string{"acme"} })
			s.serves(want...)
			s.queued(key, 1)
			if c.newcomer {
				land(t, other, "third", "main")
				others = "develop"
				done(t, other.RenameBranch("acme", "main", others))
				land(t, other, "fourth", others)
				s.serves("acme/shop@develop", "acme/store@trunk")
				s = s.again(hub, func(c *Serve) { c.Owner = []string{"acme"} })
				s.serves("acme/shop@develop", "acme/store@trunk")
				land(t, other, "fifth", others)
			}
			s.until("it is that of "+branch, func() bool { q := s.queue(key); return q.Branch == branch && q.Tip == shop.Head(branch) })
			s.queued(name, 1)
			shop.Comment("max", waits, "/queue resume")
			merged(t, shop, waits)
			land(t, shop, "sixth", branch)
		})
	}
}

// --repo finds the queue under the name that it began with, and under the present
// one; somebody else who has taken the former name has none of it.
func TestNamedRepositoryIsRenamed(t *testing.T) {
	storetest.OneOf(t, 2)
	t.Parallel()
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
		s.serves("acme/store@main")
		land(t, shop, "by-"+strings.ToLower(strings.ReplaceAll(name, "/", "-"))+itoa(int64(len(name)))+name[:1], "main")
	}
	s = s.again(hub, serves("acme/store", "acme/shop")) // the same one
	s.serves("acme/store@main")
	other := addRepository(t, hub, "acme", "shop", map[string]string{".submitqueue.yml": passConfig})
	hub.App.AddToInstallation("acme", "shop")
	before := other.Head("main")
	s = s.again(hub, serves("acme/shop"))
	s.serves("acme/store@main")
	n := ask(t, other, "mine", "main")
	land(t, shop, "last", "main")
	if other.Head("main") != before || other.Pull(n).Merged {
		t.Error("the queue has landed what another repository asks for")
	}
}

// While the forge cannot say which repository an unknown name belongs to, there is
// no queue, and the server is not ready.
func TestNamedRepositoryIsNotFoundYet(t *testing.T) {
	storetest.OneOf(t, 2)
	t.Parallel()
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
	s.serves("acme/store@main")
	land(t, shop, "first", "main")
}

// A queue whose branch nobody has chosen goes along where that is renamed, and stays
// where another one becomes the default branch; it says so, after a restart as before.
func TestAnotherDefaultBranch(t *testing.T) {
	storetest.OneOf(t, 2)
	t.Parallel()
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

// Each repository has one key, whoever asks for it and in which order, and however it is
// renamed; a version before finds it, too.
func TestQueueKeys(t *testing.T) {
	t.Parallel()
	store := memstore.New(time.Now)
	of := func(id int64, name, own string) repositoryKey {
		t.Helper()
		k, err := newQueueKeys(store, itoa(id), "").of(t.Context(), forge.Place{ID: id, Name: name}, own)
		done(t, err)
		return k
	}
	for _, c := range []struct {
		id        int64
		name, own string
		want      repositoryKey
	}{
		{77, "acme/shop", "", repositoryKey{"github:77", "", []string{"acme/shop"}}},                        // its branch was chosen
		{77, "acme/store", "main", repositoryKey{"github:77", "main", []string{"acme/shop", "acme/store"}}}, // renamed; by now nobody chooses
		{77, "acme/store", "trunk", repositoryKey{"github:77", "main", []string{"acme/shop", "acme/store"}}},
		{91, "Acme/Shop", "main", repositoryKey{"github:91", "main", []string{"Acme/Shop"}}},
		{77, "acme/shop", "main", repositoryKey{"github:77", "main", []string{"acme/store", "acme/shop"}}}, // and back
		{91, "acme/depot", "", repositoryKey{"github:91", "main", []string{"Acme/Shop", "acme/depot"}}},
	} {
		if got := of(c.id, c.name, c.own); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%d %s: %+v, want %+v", c.id, c.name, got, c.want)
		}
	}
	named := func(want map[string]int64) {
		t.Helper()
		for name, want := range want {
			if id, _, err := newQueueKeys(store, "x", "").named(t.Context(), name); err != nil || id != want {
				t.Errorf("%s: %d %v, want %d", name, id, err, want)
			}
		}
	}
	named(map[string]int64{"ACME/shop": 77, "acme/store": 77, "acme/depot": 91, "acme/till": 0})
	of(77, "acme/store", "") // acme/shop was first its name
	named(map[string]int64{"acme/shop": 77})
	of(92, "acme/shop", "") // the repository that has it is before those that had it
	named(map[string]int64{"acme/shop": 92})
	of(93, "acme/shop", "") // one of the two was renamed since: the forge knows
	named(map[string]int64{"acme/shop": 0})

	// An earlier version reads the fields that it knows.
	records, _, err := store.Load(t.Context(), keysKept)
	done(t, err)
	for _, r := range records {
		var before struct{ Name, Branch string }
		done(t, json.Unmarshal(r.Data, &before))
		if r.ID == "77" && (before.Name != "github:77" || before.Branch != "main") {
			t.Errorf("a version before reads %+v", before)
		}
	}

	// Another forge gives the same ids.
	k, err := newQueueKeys(store, "x", "https://Git.Globex.example/api/v3/").of(t.Context(), forge.Place{ID: 77, Name: "acme/shop"}, "main")
	done(t, err)
	if want := (repositoryKey{"git.globex.example:77", "main", []string{"acme/shop"}}); !reflect.DeepEqual(k, want) {
		t.Errorf("%+v, want %+v", k, want)
	}
	if got := of(77, "acme/store", "main"); got.Key != "github:77" {
		t.Errorf("%+v", got)
	}
}

// keepBefore stores which keys a repository's queues have, as a version before did.
func keepBefore(t *testing.T, store queue.Store, id int64, kept string) {
	t.Helper()
	put := queue.Record{Ref: queue.Ref{Kind: queue.KindMeta, ID: itoa(id)}, Data: []byte(kept)}
	token, err := store.Acquire(t.Context(), keysKept, "before", time.Minute)
	done(t, err)
	_, version, err := store.Load(t.Context(), keysKept)
	done(t, err)
	done(t, store.Commit(t.Context(), queue.Turn{Queue: keysKept, Token: token, Version: version, Put: []queue.Record{put}}))
	done(t, store.Release(t.Context(), keysKept, token))
}

// States that earlier versions have stored under names stay there, and are found;
// repositories of another forge get none of them.
func TestQueueKeysOfBefore(t *testing.T) {
	t.Parallel()
	store := memstore.New(time.Now)
	keepBefore(t, store, 77, `{"name":"acme/shop","branch":"main"}`)
	keepBefore(t, store, 91, `{"name":"acme/shop~91"}`)
	s := queue.NewState("main")
	s.Main.Repository = 5
	record, _, err := s.Encode(queue.Ref{Kind: queue.KindMeta, ID: queue.MetaMain})
	done(t, err)
	for _, name := range []string{"acme/old@main", "acme/shop@main"} { // before any keys were kept
		token, err := store.Acquire(t.Context(), name, "x", time.Minute)
		done(t, err)
		done(t, store.Commit(t.Context(), queue.Turn{Queue: name, Token: token, Put: []queue.Record{record}}))
	}
	n := newQueueKeys(store, "x", "")
	for name, want := range map[string]int64{"acme/shop~91": 91, "acme/old": 0} {
		if id, _, err := n.named(t.Context(), name); err != nil || id != want {
			t.Errorf("%s: %d %v, want %d", name, id, err, want)
		}
	}
	for _, c := range []struct {
		api  string
		id   int64
		name string
		want string
	}{
		{"", 77, "acme/store", "acme/shop"},
		{"", 91, "acme/shop", "acme/shop~91"},
		{"", 6, "acme/old", "github:6"},
		{"", 5, "acme/old", "acme/old"},
		{"", 92, "acme/shop", "github:92"}, // its key is that of 77
		{"https://git.globex.example/api/v3/", 77, "acme/shop", "git.globex.example:77"},
	} {
		k, err := newQueueKeys(store, "y", c.api).of(t.Context(), forge.Place{ID: c.id, Name: c.name}, "main")
		done(t, err)
		if k.Key != c.want {
			t.Errorf("%s%d %s: %+v, want %s", c.api, c.id, c.name, k, c.want)
		}
	}
	keepBefore(t, store, 12, `{"name":"acme/till","branch":"main"}`) // of the one forge that there was
	k, err := newQueueKeys(store, "y", "https://git.globex.example/api/v3/").of(t.Context(), forge.Place{ID: 12, Name: "acme/till"}, "trunk")
	done(t, err)
	if want := (repositoryKey{"acme/till", "main", []string{"acme/till"}}); !reflect.DeepEqual(k, want) {
		t.Errorf("%+v, want %+v", k, want)
	}
}

// dying is a store of a server that is killed while it writes: before or after.
type dying struct {
	queue.Store
	written bool
}

func (d dying) Commit(ctx context.Context, t queue.Turn) error {
	if d.written {
		if err := d.Store.Commit(ctx, t); err != nil {
			return err
		}
	}
	return errors.New("killed")
}

// A server that dies while it keeps a key has lost nothing: the next one, of whichever
// version, has the same.
func TestQueueKeyIsKeptByADyingServer(t *testing.T) {
	t.Parallel()
	needRedis(t)
	for _, before := range []string{"", `{"name":"acme/shop","branch":"main"}`} {
		for _, written := range []bool{false, true} {
			store, end := redisIn(t, t.TempDir())
			want := "github:77"
			if before != "" {
				keepBefore(t, store, 77, before)
				want = "acme/shop"
			}
			seen := forge.Place{ID: 77, Name: "acme/store"}
			if k, err := newQueueKeys(dying{store, written}, "dies", "").of(t.Context(), seen, "main"); err == nil {
				t.Errorf("%+v", k)
			}
			k, err := newQueueKeys(store, "next", "").of(t.Context(), seen, "trunk")
			done(t, err)
			if branch := map[bool]string{true: "main", false: "trunk"}[written || before != ""]; k.Key != want || k.Branch != branch || k.name() != "acme/store" {
				t.Errorf("before %q, written %v: %+v", before, written, k)
			}
			end()
		}
	}
}

// redisIn opens the Redis that a server has in its data folder. It ends with the test, or
// before.
func redisIn(t *testing.T, data string) (store *redisstore.Store, end func()) {
	t.Helper()
	store, closes, _, err := redisstore.Auto(t.Context(), redisstore.AutoOptions{DataDir: data})
	done(t, err)
	end = sync.OnceFunc(func() { _ = closes() }) // what was stored is read again
	t.Cleanup(end)
	return store, end
}

// A store of a server of before, whose keys are names, is taken over as it is: state,
// inbox, history and archive. The repository and its branch were renamed meanwhile.
func TestStoreOfBefore(t *testing.T) {
	storetest.OneOf(t, 2)
	t.Parallel()
	needRedis(t)
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
	key := s.queue("acme/shop@main").Key
	s.stop()

	const before = "acme/shop@main"
	moved := s.asBefore(key, before)
	done(t, shop.Rename("acme", "acme/store"))
	done(t, shop.RenameBranch("acme", "main", "trunk"))
	s = s.again(hub, func(c *Serve) { c.Owner = []string{"acme"} })
	s.serves("acme/store@trunk") // what was in the inbox ends the pause
	if got := s.queue("acme/store").Key; got != before {
		t.Errorf("the key is %s", got)
	}
	merged(t, shop, waits)
	land(t, shop, "third", "trunk")
	s.until("the history has what landed, one of before", func() bool {
		return strings.Count(string(s.get("/api/history?max=1000&queue=acme/store")), `"what":"landed"`) == 3
	})
	s.stop()
	store, _ := redisIn(t, s.data)
	client := rawRedis(t, store)
	defer client.Close()
	if left, err := client.Keys(t.Context(), "sq:{"+key+"}*").Result(); err != nil || len(left) > 0 {
		t.Errorf("there is a second queue: %v %v", left, err)
	}
	for _, k := range moved {
		if n, err := client.Exists(t.Context(), k).Result(); strings.Contains(k, ":known:") && (err != nil || n != 1) {
			t.Errorf("a pass of the archive is gone: %s %v", k, err)
		}
	}
}

// asBefore has what this server has stored of a queue have the keys that versions before
// gave it, and a command wait in its inbox. It returns these keys.
func (s *serving) asBefore(key, before string) (moved []string) {
	t := s.t
	t.Helper()
	store, ends := redisIn(t, s.data)
	defer ends()
	client := rawRedis(t, store)
	defer client.Close()
	stored, err := client.Keys(t.Context(), "sq:{"+key+"}*").Result()
	done(t, err)
	for _, k := range stored {
		to := strings.Replace(k, "{"+key+"}", "{"+before+"}", 1)
		done(t, client.Rename(t.Context(), k, to).Err())
		moved = append(moved, to)
	}
	for _, kind := range []string{":inbox", ":history", ":version", ":meta", ":change", ":known:"} {
		if !slices.ContainsFunc(moved, func(k string) bool { return strings.Contains(k, kind) }) {
			t.Errorf("nothing is stored of %s", kind)
		}
	}
	repository, branch, _ := strings.Cut(key, "@")
	name, _, _ := strings.Cut(before, "@")
	id := repository[strings.LastIndexByte(repository, ':')+1:]
	index := "sq:{" + keysKept + "}:" + string(queue.KindMeta)
	done(t, client.Del(t.Context(), index).Err())
	done(t, client.HSet(t.Context(), index, id, fmt.Sprintf(`{"name":%q,"branch":%q}`, name, branch)).Err())
	done(t, store.Append(t.Context(), before, queue.Event{ID: "resume", At: queue.At(time.Now()),
		Body: queue.Commented{Comment: "resume", Author: "max", Body: "/queue resume"}}))
	return moved
}

func rawRedis(t *testing.T, store *redisstore.Store) *redis.Client {
	t.Helper()
	o, err := redis.ParseURL(store.URL())
	done(t, err)
	return redis.NewClient(o)
}
