package mirror_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// host is a forge of which only the address counts.
type host struct {
	forge.Forge
	remote forge.Remote
}

func (h host) Remote(context.Context) (forge.Remote, error) { return h.remote, nil }

// repoAt makes a repository in a folder that several share.
func repoAt(t testing.TB, dir, name string) *repo {
	t.Helper()
	r := &repo{t, filepath.Join(dir, name)}
	if err := os.MkdirAll(filepath.Dir(r.dir), 0o755); err != nil {
		t.Fatal(err)
	}
	r.run("", "init", "--quiet", "--bare", "--initial-branch=main", r.dir)
	return r
}

// with makes a commit on main of files and of submodules, by path.
func (r *repo) with(change files, modules map[string]queue.CommitID) queue.CommitID {
	r.t.Helper()
	var b strings.Builder
	b.WriteString("commit refs/heads/main\ncommitter A <a@x> 1700000000 +0000\ndata 1\nm\n")
	if exec.Command("git", "--git-dir="+r.dir, "rev-parse", "-q", "--verify", "refs/heads/main").Run() == nil {
		fmt.Fprintf(&b, "from refs/heads/main^0\n")
	}
	for path, text := range change {
		mode := "100644"
		if rest, ok := strings.CutPrefix(path, "@ "); ok {
			path, mode = rest, "120000"
		}
		if text == "-" {
			fmt.Fprintf(&b, "D %s\n", path)
			continue
		}
		fmt.Fprintf(&b, "M %s inline %s\ndata %d\n%s\n", mode, path, len(text), text)
	}
	for path, commit := range modules {
		fmt.Fprintf(&b, "M 160000 %s %s\n", commit, path)
	}
	r.run(b.String(), "fast-import", "--quiet", "--force")
	return r.tip("main")
}

func gitmodule(name, path, url string) string {
	return fmt.Sprintf("[submodule %q]\n\tpath = %s\n\turl = %s\n", name, path, url)
}

// checkedOut checks a commit out as a runner does, and lists the files that are there.
func checkedOut(t *testing.T, c mirror.Checkouts, commit queue.CommitID, dir string, which config.Submodules) (map[string]string, error) {
	t.Helper()
	return filledWith(t, c, commit, dir, config.Checkout{Submodules: which})
}

func filledWith(t *testing.T, c mirror.Checkouts, commit queue.CommitID, dir string, want config.Checkout) (map[string]string, error) {
	t.Helper()
	release, err := c.Checkout(t.Context(), commit, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if err := c.Fill(t.Context(), commit, dir, want); err != nil {
		return nil, err
	}
	found := map[string]string{}
	err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			rel, _ := filepath.Rel(dir, path)
			found[rel] = string(text)
		}
		return err
	})
	return found, err
}

func wantFiles(t *testing.T, got map[string]string, err error, want string) {
	t.Helper()
	var names []string
	for path, text := range got {
		if path != ".gitmodules" {
			names = append(names, path+"="+text)
		}
	}
	for i := range names { // few
		for j := range i {
			if names[i] < names[j] {
				names[i], names[j] = names[j], names[i]
			}
		}
	}
	if s := strings.Join(names, " "); err != nil || s != want {
		t.Errorf("%s, want %s (%v)", s, want, err)
	}
}

// TestSubmodules follows one checkout directory through what steps ask for.
func TestSubmodules(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	inner, lib, app := repoAt(t, dir, "inner.git"), repoAt(t, dir, "lib.git"), repoAt(t, dir, "team/app.git")
	i1 := inner.with(files{"i": "1"}, nil)
	l1 := lib.with(files{"l": "1", ".gitmodules": gitmodule("inner", "deep/inner", "../inner.git")}, map[string]queue.CommitID{"deep/inner": i1})
	l2 := lib.with(files{"l": "2"}, nil) // the tip is another commit than the one that is named
	a1 := app.with(files{"f": "1", ".gitmodules": gitmodule("x", "third/lib", "../../lib.git")}, map[string]queue.CommitID{"third/lib": l1})
	a2 := app.with(files{"f": "2"}, map[string]queue.CommitID{"third/lib": l2})
	a3 := app.with(files{"f": "3", "third/lib": "-", ".gitmodules": "-"}, nil)
	m := app.fetched()
	c := mirror.Checkouts{Mirror: m, Forge: host{remote: app.remote()}}
	to := filepath.Join(t.TempDir(), "checkout")

	got, err := checkedOut(t, c, a1, to, "")
	wantFiles(t, got, err, "f=1")
	got, err = checkedOut(t, c, a1, to, config.SubmodulesTop)
	wantFiles(t, got, err, "f=1 third/lib/.gitmodules="+gitmodule("inner", "deep/inner", "../inner.git")+" third/lib/l=1")
	if _, err := os.Stat(filepath.Join(to, "third/lib/.git")); err == nil {
		t.Error("a repository was made in the checkout")
	}
	got, err = checkedOut(t, c, a1, to, config.SubmodulesOff)
	wantFiles(t, got, err, "f=1")
	got, err = checkedOut(t, c, a2, to, config.SubmodulesAll)
	wantFiles(t, got, err, "f=2 third/lib/.gitmodules="+gitmodule("inner", "deep/inner", "../inner.git")+" third/lib/deep/inner/i=1 third/lib/l=2")
	got, err = checkedOut(t, c, a3, to, config.SubmodulesAll)
	wantFiles(t, got, err, "f=3") // nothing of the former submodule is left

	// Submodules that were fetched once are there when the host is away.
	if err := os.Rename(lib.dir, lib.dir+".away"); err != nil {
		t.Fatal(err)
	}
	got, err = checkedOut(t, c, a1, filepath.Join(t.TempDir(), "other"), config.SubmodulesTop)
	wantFiles(t, got, err, "f=1 third/lib/.gitmodules="+gitmodule("inner", "deep/inner", "../inner.git")+" third/lib/l=1")

	var wg sync.WaitGroup // two slots of one machine
	for i, commit := range []queue.CommitID{a1, a2, a1} {
		wg.Go(func() {
			got, err := checkedOut(t, c, commit, filepath.Join(t.TempDir(), fmt.Sprint(i)), config.SubmodulesAll)
			if err != nil || got["third/lib/deep/inner/i"] != "1" {
				t.Errorf("%v %v", got, err)
			}
		})
	}
	wg.Wait()
}

// A cache that no build has used for long makes room.
func TestUnusedSubmodules(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	app := repoAt(t, dir, "app.git")
	app.with(files{"f": "1"}, nil)
	m := app.fetched()
	c := mirror.Checkouts{Mirror: m, Forge: host{remote: app.remote()}}
	caches := func() []string {
		return must(filepath.Glob(filepath.Join(m.Dir(), "submodules", "*", "submitqueue.index")))(t)
	}
	use := func(name string) {
		t.Helper()
		lib := repoAt(t, dir, name+".git")
		a := app.with(files{".gitmodules": gitmodule("x", "lib", "../"+name+".git")}, map[string]queue.CommitID{"lib": lib.with(files{"l": name}, nil)})
		app.fetch(m, "main")
		got, err := checkedOut(t, c, a, filepath.Join(t.TempDir(), "c"), config.SubmodulesTop)
		wantFiles(t, got, err, "f=1 lib/l="+name)
	}
	use("one")
	first := caches()
	use("two")
	if len(first) != 1 || len(caches()) != 2 {
		t.Fatalf("%v, then %v", first, caches())
	}
	old := time.Now().AddDate(0, 0, -31)
	for _, name := range []string{"submitqueue.index", "submitqueue.used", "HEAD"} {
		if err := os.Chtimes(filepath.Join(filepath.Dir(first[0]), name), old, old); err != nil {
			t.Fatal(err)
		}
	}
	use("three")
	if left := caches(); len(left) != 2 || slices.Contains(left, first[0]) {
		t.Errorf("%v, with %v", left, first)
	}
}

// A step that makes a link in the place of a submodule has nothing outside emptied.
func TestSubmoduleBehindALink(t *testing.T) {
	t.Parallel()
	dir, outside := t.TempDir(), t.TempDir()
	lib, app := repoAt(t, dir, "lib.git"), repoAt(t, dir, "app.git")
	l := lib.with(files{"l": "1"}, nil)
	a := app.with(files{".gitmodules": gitmodule("x", "third/lib", "../lib.git")}, map[string]queue.CommitID{"third/lib": l})
	c := mirror.Checkouts{Mirror: app.fetched(), Forge: host{remote: app.remote()}}
	if err := os.MkdirAll(filepath.Join(outside, "lib"), 0o755); err != nil {
		t.Fatal(err)
	}
	mark := filepath.Join(outside, "lib", "mark")
	if err := os.WriteFile(mark, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "checkout")
	for i, l := range [][2]string{{"third/lib", filepath.Join(outside, "lib")}, {"third", outside}, {"third/lib", filepath.Join(outside, "lib")}, {"third", outside}} {
		which := []config.Submodules{config.SubmodulesTop, config.SubmodulesTop, config.SubmodulesOff, config.SubmodulesOff}[i]
		if _, err := checkedOut(t, c, a, to, config.SubmodulesTop); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.RemoveAll(filepath.Join(to, l[0])), os.Symlink(l[1], filepath.Join(to, l[0]))); err != nil {
			t.Fatal(err)
		}
		got, err := checkedOut(t, c, a, to, which)
		wantFiles(t, got, err, map[config.Submodules]string{config.SubmodulesTop: "third/lib/l=1"}[which])
		if left, err := os.ReadDir(filepath.Join(outside, "lib")); err != nil || len(left) != 1 {
			t.Errorf("%s: what is outside is now %v %v", l[0], left, err)
		}
	}
}

func TestSubmodulesRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	mark := filepath.Join(t.TempDir(), "mark")
	lib := repoAt(t, dir, "lib.git")
	l := lib.with(files{"l": "1"}, nil)
	gone := queue.CommitID(strings.Repeat("7", 40))
	for i, c := range []struct {
		modules string
		commit  queue.CommitID
		want    string
	}{
		{gitmodule("x", "lib", "ext::touch "+mark), l, "is none that is fetched"},
		{gitmodule("x", "lib", "fd::7"), l, "is none that is fetched"},
		{gitmodule("x", "lib", "file://"+lib.dir), l, "is none that is fetched"},
		{gitmodule("x", "lib", lib.dir), l, "is none that is fetched"},
		{gitmodule("x", "lib", "http://host.invalid/o/lib.git"), l, "is none that is fetched"},
		{gitmodule("x", "lib", "git://host.invalid/o/lib.git"), l, "is none that is fetched"},
		{gitmodule("x", "lib", "git@host.invalid:o/lib.git"), l, "write its https address"},
		{gitmodule("x", "lib", "ssh://-oProxyCommand=touch/lib.git"), l, "address"},
		{gitmodule("x", "lib", "https://me:hunter2@host.invalid/o/lib.git"), l, "holds a password"},
		{gitmodule("x", "lib", "--upload-pack=touch "+mark), l, "which is none"},
		{gitmodule("x", "lib", "../../../../../../../../../../../../../../../../lib.git"), l, "leads above"},
		{gitmodule("x", "lib", "../none.git"), l, "it is not there, or not to be read"},
		{gitmodule("x", "lib", "../lib.git"), gone, "has no commit " + string(gone)},
		{gitmodule("x", "lib", "../lib.git") + "\tupdate = !touch " + mark + "\n", l, "wants a command"},
		{gitmodule("x", "lib", "../lib.git") + gitmodule("y", "../up", "../lib.git"), l, `the part ".."`},
		{gitmodule("x", "lib", "../lib.git") + gitmodule("y", "/tmp/x", "../lib.git"), l, "begins at the root"},
		{gitmodule("x", "lib", "../lib.git") + gitmodule("y", "a/.GIT/hooks", "../lib.git"), l, "a folder of git's own"},
		{gitmodule("../../x", "lib", "../lib.git"), l, "the submodule's name"},
		{gitmodule("x", "lib", "../lib.git") + gitmodule("y", "lib", "../other.git"), l, "are both at"},
		{gitmodule("x", "other", "../lib.git"), l, "has no address for it"},
		{"[submodule", l, "cannot be read"},
		{"[include]\n\tpath = /etc/passwd\n", l, "has no address for it"},
	} {
		app := repoAt(t, dir, fmt.Sprintf("app%d.git", i))
		a := app.with(files{".gitmodules": c.modules}, map[string]queue.CommitID{"lib": c.commit})
		_, err := checkedOut(t, mirror.Checkouts{Mirror: app.fetched(), Forge: host{remote: app.remote()}}, a, filepath.Join(t.TempDir(), "c"), config.SubmodulesAll)
		if err == nil || len(err.Error()) > 480 || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v, want %q", c.modules, err, c.want)
		}
	}
	app := repoAt(t, dir, "linked.git")
	a := app.with(files{"@ .gitmodules": "m", "m": gitmodule("x", "lib", "../lib.git")}, map[string]queue.CommitID{"lib": l})
	if _, err := app.fetched().Checkout(t.Context(), a, filepath.Join(t.TempDir(), "c")); err == nil {
		t.Error(".gitmodules was a symbolic link") // git itself refuses it
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("a command ran")
	}
}

// A repository whose submodule is an earlier state of itself, and so on, is followed to a
// bound.
func TestSubmodulesInOneAnother(t *testing.T) {
	t.Parallel()
	r := repoAt(t, t.TempDir(), "self.git")
	tip := r.with(files{"f": "0"}, nil)
	for i := range 12 {
		tip = r.with(files{"f": fmt.Sprint(i + 1), ".gitmodules": gitmodule("s", "s", "./../self.git")}, map[string]queue.CommitID{"s": tip})
	}
	_, err := checkedOut(t, mirror.Checkouts{Mirror: r.fetched(), Forge: host{remote: r.remote()}}, tip, filepath.Join(t.TempDir(), "c"), config.SubmodulesAll)
	if err == nil || !strings.Contains(err.Error(), "at most 8 are followed") {
		t.Error(err)
	}
}

// TestSubmoduleCredentials serves repositories over HTTP: ours may be read with our token
// only, which is shown to nobody but our owner's repositories.
func TestSubmoduleCredentials(t *testing.T) {
	t.Parallel()
	backend := strings.TrimSpace(string(must(exec.Command("git", "--exec-path").Output())(t))) + "/git-http-backend"
	if _, err := os.Stat(backend); err != nil {
		t.Skip("git-http-backend is not installed")
	}
	dir := t.TempDir()
	mine, open, other := repoAt(t, dir, "us/mine.git"), repoAt(t, dir, "us/open.git"), repoAt(t, dir, "them/lib.git")
	c1, c2, c3 := mine.with(files{"m": "1"}, nil), open.with(files{"o": "1"}, nil), other.with(files{"t": "1"}, nil)
	var mu sync.Mutex
	seen := map[string][]string{} // what was shown, by the first two parts of the path
	serve := &cgi.Handler{Path: backend, Env: []string{"GIT_PROJECT_ROOT=" + dir, "GIT_HTTP_EXPORT_ALL=1"}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		name := strings.Join(strings.Split(q.URL.Path, "/")[1:3], "/")
		mu.Lock()
		seen[name] = append(seen[name], q.Header.Get("Authorization"))
		mu.Unlock()
		with := q.Header.Get("Authorization") == "Basic ours"
		if name == "us/mine.git" && !with || name == "us/open.git" && with || name == "us/closed.git" {
			http.Error(w, "Repository not found.", http.StatusNotFound)
			return
		}
		serve.ServeHTTP(w, q)
	}))
	defer server.Close()
	app := repoAt(t, dir, "us/app.git")
	own := forge.Remote{URL: server.URL + "/us/app.git", Header: []string{"Authorization: Basic ours"}}
	a := app.with(files{".gitmodules": gitmodule("m", "m", "../mine.git") +
		gitmodule("t", "t", server.URL+"/them/lib.git")}, map[string]queue.CommitID{"m": c1, "t": c3})
	c := mirror.Checkouts{Mirror: app.fetched(), Forge: host{remote: own}}
	got, err := checkedOut(t, c, a, filepath.Join(t.TempDir(), "c"), config.SubmodulesTop)
	wantFiles(t, got, err, "m/m=1 t/t=1")

	b := app.with(files{".gitmodules": gitmodule("o", "o", "../open.git"), "m": "-", "t": "-"}, map[string]queue.CommitID{"o": c2})
	app.fetch(c.Mirror, "main")
	got, err = checkedOut(t, c, b, filepath.Join(t.TempDir(), "c"), config.SubmodulesTop)
	wantFiles(t, got, err, "o/o=1") // the token did not serve, and none was needed

	closed := app.with(files{".gitmodules": gitmodule("o", "o", "../closed.git")}, nil)
	app.fetch(c.Mirror, "main")
	_, err = checkedOut(t, c, closed, filepath.Join(t.TempDir(), "c"), config.SubmodulesTop)
	if err == nil || !strings.Contains(err.Error(), `submodule "o"`) || !strings.Contains(err.Error(), "let everybody read it") || strings.Contains(err.Error(), "ours") {
		t.Error(err)
	}
	mu.Lock()
	defer mu.Unlock()
	for _, shown := range seen["them/lib.git"] {
		if shown != "" {
			t.Errorf("another owner's repository was shown %q", shown)
		}
	}
	if len(seen["them/lib.git"]) == 0 || len(seen["us/mine.git"]) == 0 {
		t.Error(seen)
	}
}

// A step has put a symbolic link, or a file, in the place of a submodule or of a folder above one,
// as builds do that take a library from elsewhere. The next step finds the submodule again, and
// what the link leads to is left alone.
func TestASubmoduleThatAStepHasReplaced(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lib, app := repoAt(t, dir, "lib.git"), repoAt(t, dir, "team/app.git")
	l := lib.with(files{"l": "1"}, nil)
	a := app.with(files{"f": "1", ".gitmodules": gitmodule("x", "third/lib", "../../lib.git")}, map[string]queue.CommitID{"third/lib": l})
	c := mirror.Checkouts{Mirror: app.fetched(), Forge: host{remote: app.remote()}}
	want := config.Checkout{Submodules: config.SubmodulesTop}
	elsewhere := filepath.Join(t.TempDir(), "elsewhere")
	if err := errors.Join(os.MkdirAll(filepath.Join(elsewhere, "lib"), 0o755), os.WriteFile(filepath.Join(elsewhere, "lib", "kept"), nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	for name, step := range map[string]func(at string) error{
		"a link": func(at string) error {
			return os.Symlink(filepath.Join(elsewhere, "lib"), filepath.Join(at, "third", "lib"))
		},
		"a file": func(at string) error { return os.WriteFile(filepath.Join(at, "third", "lib"), nil, 0o644) },
		"a link above": func(at string) error {
			return errors.Join(os.Remove(filepath.Join(at, "third")), os.Symlink(elsewhere, filepath.Join(at, "third")))
		},
		"a file, and f, too": func(at string) error {
			return errors.Join(os.WriteFile(filepath.Join(at, "third", "lib"), nil, 0o644), os.WriteFile(filepath.Join(at, "f"), nil, 0o644))
		},
	} {
		to := filepath.Join(t.TempDir(), "checkout")
		release, err := c.Checkout(t.Context(), a, to)
		if err == nil {
			err = c.Fill(t.Context(), a, to, want)
		}
		if err == nil {
			err = errors.Join(os.RemoveAll(filepath.Join(to, "third", "lib")), step(to))
		}
		if err == nil {
			_, err = c.Restore(t.Context(), a, to)
		}
		if err == nil {
			err = c.Fill(t.Context(), a, to, want)
		}
		text, failed := os.ReadFile(filepath.Join(to, "third", "lib", "l"))
		if err = errors.Join(err, failed); err != nil || string(text) != "1" {
			t.Errorf("%s: %q %v", name, text, err)
		}
		if _, err := os.Stat(filepath.Join(elsewhere, "lib", "kept")); err != nil {
			t.Error(err)
		}
		if err := release(); err != nil {
			t.Error(err)
		}
	}
}
