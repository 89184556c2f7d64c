package workers

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/workers/cache"
)

// A guest finds its caches as it has left them, and can change them; nobody else can.
func TestCachesOfGuests(t *testing.T) { each(t, testCachesOfGuests) }

func testCachesOfGuests(t *testing.T, w way) {
	dir := place(t)
	with, _ := caching()
	r := guestSlot(t, w, filepath.Join(dir, "slots", "1"), tree{"sub/f": "x", "sub/deep/f": "x"}, with)
	made := `mkdir -p node_modules/closed node_modules/bin sub/deep/target; echo v1 > node_modules/a; ln node_modules/a node_modules/hard
ln -s ../a node_modules/bin/link; ln -s /etc/passwd node_modules/out; ln sub/f sub/deep/target/f; mkfifo node_modules/pipe
chmod 555 node_modules/closed; mkdir node_modules/open; chmod 777 node_modules/open; chmod 000 node_modules/bin; chmod 500 node_modules`
	paths := []string{"node_modules", "sub/deep/target"}
	mustLog(t, r, of("q", cached(made, nil, paths...)), "sub/deep/target: kept, ")
	look := `set -e
chmod 700 node_modules node_modules/bin; test "$(cat node_modules/bin/link)" = v1; test "$(stat -c %h node_modules/a)" = 2
rmdir node_modules/open; test -O node_modules/a; test -O sub/deep/target/f; echo v2 > node_modules/a; rm -r node_modules/closed; test "$(cat sub/f)" = x
! ls ../caches/* || exit 1`
	if w.Isolation == IsolateUID { // another user holds it open elsewhere
		look = strings.Replace(look, "rmdir", `test "$(stat -c %a node_modules/open)" = 755; rmdir`, 1)
	}
	mustLog(t, r, of("q", cached(look, nil, paths...)), "restored")

	// Another slot sees none of it.
	other := guestSlot(t, w, filepath.Join(dir, "slots", "2"), tree{"f": ""}, with)
	caches := filepath.Join(r.files.root, "caches")
	if res := execute(t.Context(), other, of("q", step("ls -R "+caches+" | grep . || cat "+caches+"/*/about"))); res.end.Outcome != queue.JobFailed {
		t.Errorf("%+v\n%s", res.end, res.log)
	}
	mustLog(t, other, of("q", cached("! test -e node_modules", nil, paths...)), "nothing kept yet")

	// What comes from a store is the guest's, too.
	store, err := cache.OpenFolder(filepath.Join(dir, "shared"), 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	shared := cache.NewShared(store, quiet())
	defer shared.Close()
	r.o.Caches.Shared, other.o.Caches.Shared = shared, shared
	mustLog(t, r, of("shared", cached("mkdir n; echo x > n/x; chmod 700 n", nil, "n")), "kept")
	shared.Wait()
	mustLog(t, other, of("shared", cached("test -O n && test -O n/x && echo y > n/x && mkdir n/new", nil, "n")), "fetched from the shared store")
	r.o.Caches.Shared, other.o.Caches.Shared = nil, nil

	// A step cannot put anything in there.
	if res := execute(t.Context(), r, of("q", step("touch ../caches/x || mv ../caches ../away || mkdir ../caches/new-1"))); res.end.Outcome != queue.JobFailed {
		t.Errorf("%+v\n%s", res.end, res.log)
	}

	// Under another user, as after a restart where the number was taken, they are gone.
	g := *r.files.guest
	g.uid, g.held = other.files.guest.uid, nil
	if g.uid == 0 {
		return
	}
	o := r.o
	again, err := newRunner(o, &g)
	if err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(caches); err != nil || len(left) > 0 || again.kept.Total() != 0 {
		t.Errorf("%v, %v", left, err)
	}
	res := execute(t.Context(), again, of("q", cached("test ! -e node_modules", nil, paths...)))
	if res.end.Outcome != queue.JobPassed || !strings.Contains(res.log, "nothing kept yet") {
		t.Errorf("%+v\n%s", res.end, res.log)
	}
}
