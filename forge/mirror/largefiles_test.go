package mirror_test

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/forgetest"
	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

var withLFS = config.Checkout{LFS: config.SwitchOn, Submodules: config.SubmodulesAll}

const tracked = "*.bin filter=lfs diff=lfs merge=lfs -text\n"

// TestLargeFiles follows one checkout directory through what steps ask for, with an LFS
// server that shows its contents to us only.
func TestLargeFiles(t *testing.T) {
	t.Parallel()
	hub := forgetest.NewLFS()
	defer hub.Close()
	hub.Token = "Basic ours"
	dir := t.TempDir()
	lib, app := repoAt(t, dir, "acme/lib.git"), repoAt(t, dir, "acme/app.git")
	one, two, of := []byte("one one"), []byte("two"), []byte("of the submodule")
	l := lib.with(files{".gitattributes": tracked, "l.bin": hub.Keep("acme/lib", of)}, nil)
	a1 := app.with(files{".gitattributes": tracked, "x.bin": hub.Keep("acme/app", one), "deep/run.bin": hub.Keep("acme/app", two),
		"raw.bin": "no pointer\n", "doc.md": forgetest.LFSPointer(one), "empty.bin": ""}, nil)
	a2 := app.with(files{"x.bin": forgetest.LFSPointer(two), "deep/run.bin": "-"}, nil)
	a3 := app.with(files{".gitattributes": "-", ".gitmodules": gitmodule("m", "m", "../lib.git")}, map[string]queue.CommitID{"m": l})
	m := app.fetched()
	// git reads the repositories from their folders, and LFS from its server
	own := forge.Remote{URL: hub.URL("acme/app"), Header: []string{"Authorization: Basic ours"}}
	c := mirror.Checkouts{Mirror: m, Forge: host{remote: own}}
	to := filepath.Join(t.TempDir(), "checkout")
	pointer := forgetest.LFSPointer(one)
	for i, step := range []struct {
		commit queue.CommitID
		want   config.Checkout
		files  string
	}{
		{a1, config.Checkout{}, "deep/run.bin=" + forgetest.LFSPointer(two) + " doc.md=" + pointer + " empty.bin= raw.bin=no pointer\n x.bin=" + pointer},
		{a1, config.Checkout{LFS: config.SwitchOn}, "deep/run.bin=two doc.md=" + pointer + " empty.bin= raw.bin=no pointer\n x.bin=one one"},
		{a2, config.Checkout{LFS: config.SwitchOn}, "doc.md=" + pointer + " empty.bin= raw.bin=no pointer\n x.bin=two"},
		{a1, config.Checkout{}, "deep/run.bin=" + forgetest.LFSPointer(two) + " doc.md=" + pointer + " empty.bin= raw.bin=no pointer\n x.bin=" + pointer},
		{a3, config.Checkout{LFS: config.SwitchOn}, "doc.md=" + pointer + " empty.bin= raw.bin=no pointer\n x.bin=" + forgetest.LFSPointer(two)},
	} {
		got, err := filledWith(t, c, step.commit, to, step.want)
		delete(got, ".gitattributes")
		t.Log(i)
		wantFiles(t, got, err, step.files)
	}
	if a, b := hub.Sent(one), hub.Sent(two); a != 1 || b != 1 {
		t.Errorf("sent %d and %d times", a, b)
	}
	if s := hub.Strangers(); len(s) > 0 {
		t.Errorf("the host of the contents was shown %q", s)
	}
}

// The line that git-lfs writes is no driver that is missing. Two changes of one file are in
// conflict, and what one alone has changed is merged.
func TestLargeFilesMerge(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	pointer := func(content string) string { return forgetest.LFSPointer([]byte(content)) }
	base := r.commit("main", "base", files{".gitattributes": tracked, "x.bin": pointer("x"), "y.bin": pointer("y")})
	a := r.commit("a", "a", files{"x.bin": pointer("a")}, base)
	b := r.commit("b", "b", files{"x.bin": pointer("b")}, base)
	c := r.commit("c", "c", files{"y.bin": pointer("c")}, base)
	m := r.fetched("main", "a", "b", "c")
	if err := m.Merges.WriteAttributes(t.Context(), must(m.Objects.Tree(t.Context(), base))(t).ID()); err != nil {
		t.Fatal(err)
	}
	got := must(m.Merges.MergeWave(t.Context(), []mirror.Pick{pick(a, b), pick(a, c)}))(t)
	if fmt.Sprint(got[0].Conflicts) != "[x.bin]" || len(got[1].Conflicts) != 0 {
		t.Errorf("%q and %q", got[0].Conflicts, got[1].Conflicts)
	}
}

// A file keeps its mode, and one of a submodule comes from the submodule's own server.
func TestLargeFilesOfSubmodules(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lib, app := repoAt(t, dir, "lib.git"), repoAt(t, dir, "app.git")
	keep := func(r *repo, content string) string {
		text := forgetest.LFSPointer([]byte(content))
		oid := strings.Split(strings.Fields(text)[3], ":")[1]
		at := filepath.Join(r.dir, "lfs", "objects", oid[:2], oid[2:4])
		if err := os.MkdirAll(at, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(at, oid), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		return text
	}
	l := lib.with(files{".gitattributes": tracked, "l.bin": keep(lib, "of lib")}, nil)
	a := app.with(files{".gitattributes": tracked, "x tool.bin": keep(app, "#!/bin/sh\n"), ".gitmodules": gitmodule("m", "m", "../lib.git")},
		map[string]queue.CommitID{"m": l})
	to := filepath.Join(t.TempDir(), "c")
	c := mirror.Checkouts{Mirror: app.fetched(), Forge: host{remote: app.remote()}}
	got, err := filledWith(t, c, a, to, withLFS)
	delete(got, ".gitattributes")
	delete(got, "m/.gitattributes")
	wantFiles(t, got, err, "m/l.bin=of lib x tool.bin=#!/bin/sh\n")

	missing := app.with(files{"y.bin": forgetest.LFSPointer([]byte("never pushed"))}, nil)
	app.fetch(c.Mirror, "main")
	if _, err := filledWith(t, c, missing, to, withLFS); err == nil || !strings.Contains(err.Error(), `"y.bin", a file of Git LFS: `) || !strings.Contains(err.Error(), "push it there") {
		t.Error(err)
	}
}

func TestExecutableLargeFile(t *testing.T) {
	t.Parallel()
	hub := forgetest.NewLFS()
	defer hub.Close()
	r := repoAt(t, t.TempDir(), "acme/app.git")
	commit := r.with(files{".gitattributes": tracked, "x run.bin": "", "plain.bin": hub.Keep("acme/app", []byte("p"))}, nil)
	text := hub.Keep("acme/app", []byte("#!/bin/sh\necho ran\n"))
	r.run(fmt.Sprintf("commit refs/heads/main\ncommitter A <a@x> 1700000000 +0000\ndata 1\nm\nfrom %s\nM 100755 inline run.bin\ndata %d\n%s\n", commit, len(text), text),
		"fast-import", "--quiet", "--force")
	to := filepath.Join(t.TempDir(), "c")
	if _, err := filledWith(t, mirror.Checkouts{Mirror: r.fetched(), Forge: host{remote: forge.Remote{URL: hub.URL("acme/app")}}}, r.tip("main"), to, withLFS); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]os.FileMode{"run.bin": 0o111, "plain.bin": 0} {
		if info, err := os.Stat(filepath.Join(to, name)); err != nil || info.Mode()&0o111 != want {
			t.Errorf("%s: %v %v", name, info, err)
		}
	}
}

// A change names what LFS server it likes, in .lfsconfig: by https, and without our token.
func TestLFSConfig(t *testing.T) {
	t.Parallel()
	hub := forgetest.NewLFS()
	defer hub.Close()
	r := repoAt(t, t.TempDir(), "acme/app.git")
	x := hub.Keep("acme/app", []byte("x"))
	c := mirror.Checkouts{Forge: host{remote: forge.Remote{URL: hub.URL("acme/app"), Header: []string{"Authorization: Basic ours"}}}}
	other := httptest.NewUnstartedServer(nil)
	other.Config.ErrorLog = log.New(io.Discard, "", 0)
	other.StartTLS()
	defer other.Close()
	for cfg, want := range map[string]string{
		"[lfs]\n\tfetchexclude = *\n":                      "",
		"[lfs]\n\turl = http://host.invalid/lfs\n":         "from where nothing is fetched",
		"[lfs]\n\turl = file:///etc\n":                     "from where nothing is fetched",
		"[lfs]\n\turl = ssh://git@host.invalid/lfs\n":      "from where nothing is fetched",
		"[lfs]\n\turl = https://me:hunter2@host.invalid\n": "with a password",
		"[lfs":                              "cannot be read",
		"[include]\n\tpath = /etc/passwd\n": "",
		"[lfs]\n\turl = " + other.URL:       "certificate", // it is asked, and is nobody we know
	} {
		commit := r.with(files{".gitattributes": tracked, "x.bin": x, ".lfsconfig": cfg}, nil)
		c.Mirror = r.fetched()
		_, err := filledWith(t, c, commit, filepath.Join(t.TempDir(), "c"), withLFS)
		if want == "" != (err == nil) || err != nil && (!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2")) {
			t.Errorf("%q: %v, want %q", cfg, err, want)
		}
	}
}

// Our token is shown to the LFS servers of our owner's repositories, and to no other that a
// change names.
func TestLFSServersAndOurToken(t *testing.T) {
	var mu sync.Mutex
	shown := map[string][]string{} // by the first two parts of the path
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		name := strings.Join(strings.Split(q.URL.Path, "/")[1:3], "/")
		shown[name] = append(shown[name], q.Header.Get("Authorization"))
		w.WriteHeader(http.StatusNotFound)
	}))
	defer server.Close()
	before := http.DefaultTransport
	http.DefaultTransport = server.Client().Transport
	defer func() { http.DefaultTransport = before }()
	r := repoAt(t, t.TempDir(), "acme/app.git")
	c := mirror.Checkouts{Forge: host{remote: forge.Remote{URL: server.URL + "/acme/app.git", Header: []string{"Authorization: Basic ours"}}}}
	for _, at := range []string{"", "/acme/art.git/info/lfs", "/them/art.git/info/lfs", "/acme/../them/up.git/info/lfs"} {
		cfg := ""
		if at != "" {
			cfg = "[lfs]\n\turl = " + server.URL + at
		}
		commit := r.with(files{".gitattributes": tracked, "x.bin": forgetest.LFSPointer([]byte("x")), ".lfsconfig": cfg}, nil)
		c.Mirror = r.fetched()
		if _, err := filledWith(t, c, commit, filepath.Join(t.TempDir(), "c"), withLFS); err == nil || !strings.Contains(err.Error(), "let everybody read it") {
			t.Errorf("%s: %v", at, err)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	for name, all := range shown {
		ours := slices.Contains(all, "Basic ours")
		if own := strings.HasPrefix(name, "acme/") && name != "acme/.."; ours != own || !slices.Contains(all, "") {
			t.Errorf("%s was shown %q", name, all)
		}
	}
	if len(shown) != 4 {
		t.Errorf("asked were %q", shown)
	}
}

// Restore and Fill give a filled checkout its files again, whatever a step has changed: files of
// the commit, contents of Git LFS, and files of submodules.
func TestFilledCheckoutIsRestored(t *testing.T) {
	t.Parallel()
	hub := forgetest.NewLFS()
	defer hub.Close()
	dir := t.TempDir()
	lib, app := repoAt(t, dir, "acme/lib.git"), repoAt(t, dir, "acme/app.git")
	l := lib.with(files{"l": "l"}, nil)
	a := app.with(files{".gitattributes": tracked, "x.bin": hub.Keep("acme/app", []byte("one")), "f": "f", ".gitmodules": gitmodule("m", "m", "../lib.git")}, map[string]queue.CommitID{"m": l})
	m := app.fetched()
	for _, test := range []struct {
		remote string // git reads submodules from folders, and LFS from its server
		want   config.Checkout
		whole  string
		names  []string
	}{
		{app.dir, config.Checkout{Submodules: config.SubmodulesTop}, "f=f m/l=l", []string{"f", "m/l", "m/new"}},
		{hub.URL("acme/app"), config.Checkout{LFS: config.SwitchOn}, "f=f x.bin=one", []string{"f", "x.bin"}},
	} {
		c := mirror.Checkouts{Mirror: m, Forge: host{remote: forge.Remote{URL: test.remote}}}
		to := filepath.Join(t.TempDir(), "checkout")
		release := must(c.Checkout(t.Context(), a, to))(t)
		read := func() map[string]string {
			got := map[string]string{}
			for _, name := range test.names {
				if text, err := os.ReadFile(filepath.Join(to, name)); err == nil {
					got[name] = string(text)
				}
			}
			return got
		}
		err := c.Fill(t.Context(), a, to, test.want)
		wantFiles(t, read(), err, test.whole)
		for _, name := range test.names { // what a step does
			if err := os.WriteFile(filepath.Join(to, name), []byte("changed"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		changed, err := c.Restore(t.Context(), a, to)
		if err == nil {
			err = c.Fill(t.Context(), a, to, test.want)
		}
		wantFiles(t, read(), err, test.whole)
		if !slices.Contains(changed, "f") {
			t.Errorf("%q", changed)
		}
		if err := release(); err != nil {
			t.Error(err)
		}
	}
}
