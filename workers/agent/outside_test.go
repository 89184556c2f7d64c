package agent_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/forge/mirror/upload"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/workers/coordinator"
	"github.com/submitqueue/submitqueue/workers/protocol"
)

// origin is a repository on this machine, which has files of Git LFS beside it.
type origin struct {
	w         *world
	bare, dir string
	fetch     func() // has the server's mirror know what was pushed
}

func (w *world) origin(in, name string) *origin {
	o := &origin{w: w, bare: filepath.Join(in, name+".git"), dir: filepath.Join(w.t.TempDir(), filepath.Base(name))}
	w.git("", "init", "-q", "-b", "main", "--bare", o.bare)
	w.git("", "init", "-q", "-b", "main", o.dir)
	return o
}

// commit commits files, and submodules by path, and pushes.
func (o *origin) commit(files map[string]string, modules map[string]string) string {
	o.w.t.Helper()
	for name, text := range files {
		path := filepath.Join(o.dir, name)
		o.w.must(os.MkdirAll(filepath.Dir(path), 0o755))
		o.w.must(os.WriteFile(path, []byte(text), 0o644))
		if strings.HasSuffix(name, ".sh") {
			o.w.must(os.Chmod(path, 0o755))
		}
	}
	o.w.git(o.dir, "add", "-A")
	for path, commit := range modules {
		o.w.git(o.dir, "update-index", "--add", "--cacheinfo", "160000,"+commit+","+path)
	}
	o.w.git(o.dir, "commit", "-qm", "m")
	o.w.git(o.dir, "push", "-q", o.bare, "HEAD:main")
	return strings.TrimSpace(o.w.git(o.dir, "rev-parse", "HEAD"))
}

func pointerOf(content string) (text, oid string) {
	sum := sha256.Sum256([]byte(content))
	oid = hex.EncodeToString(sum[:])
	return fmt.Sprintf("version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize %d\n", oid, len(content)), oid
}

// keep keeps a content as git-lfs does for a repository, and returns its pointer.
func (o *origin) keep(content string) string {
	text, oid := pointerOf(content)
	at := filepath.Join(o.bare, "lfs", "objects", oid[:2], oid[2:4])
	o.w.must(os.MkdirAll(at, 0o755))
	o.w.must(os.WriteFile(filepath.Join(at, oid), []byte(content), 0o644))
	return text
}

type onDisk struct{ url string }

func (d onDisk) Remote(context.Context) (forge.Remote, error) { return forge.Remote{URL: d.url}, nil }

// outsideWorld is a world whose git endpoint is the server's: a mirror of acme/shop, which has
// a submodule acme/lib, which has acme/deep.
func outsideWorld(t *testing.T) (w *world, commit string, shop *origin) {
	t.Helper()
	var all mirror.Checkouts
	w = newWorld(t, func(o *coordinator.Options) {
		o.Ref = func(queue.Build) string { return upload.Ref }
		o.Large = func(ctx context.Context, b queue.Build) (paths []string, err error) {
			out, err := all.Outside(ctx, b.Commit, b.Jobs[0].Step.Checkout)
			if err != nil {
				return nil, err
			}
			for _, f := range out.Large {
				paths = append(paths, f.Path)
			}
			return paths, nil
		}
		o.RepoURL = func(queue.Build) string { return w.base + "/git/acme/shop.git" }
	})
	dir := t.TempDir()
	deep, lib := w.origin(dir, "acme/deep"), w.origin(dir, "acme/lib")
	shop = w.origin(dir, "acme/shop")
	const tracked = "*.bin filter=lfs\n*.sh filter=lfs\n"
	d := deep.commit(map[string]string{"d": "of deep\n"}, nil)
	l := lib.commit(map[string]string{".gitattributes": tracked, "l": "of lib\n", "l.bin": lib.keep("content of lib\n"), ".gitmodules": "[submodule \"n\"]\n\tpath = n\n\turl = ../deep.git\n"}, map[string]string{"n": d})
	commit = shop.commit(map[string]string{".gitattributes": tracked, "big.bin": shop.keep("content of shop\n"), "in/tool.sh": shop.keep("#!/bin/sh\necho the tool ran\n"), "doc.md": shop.keep("of no account"),
		".gitmodules": "[submodule \"a name\"]\n\tpath = third party/lib\n\turl = ../lib.git\n"}, map[string]string{"third party/lib": l})
	m, err := mirror.Open(t.Context(), filepath.Join(t.TempDir(), "mirror"))
	w.must(err)
	t.Cleanup(func() { _ = m.Close() })
	shop.fetch = func() {
		_, err := m.Remotes.FetchBranch(t.Context(), forge.Remote{URL: shop.bare}, "main")
		w.must(err)
	}
	shop.fetch()
	all = mirror.Checkouts{Mirror: m, Forge: onDisk{shop.bare}}
	h, err := upload.New(upload.Options{Dir: filepath.Join(t.TempDir(), "views"), Base: func() string { return w.base + "/git" }, Log: slog.New(slog.DiscardHandler), Access: func(token string) (upload.Grant, bool) {
		j, ok := w.c.Job(token)
		// On disk, repositories lie below a folder; the path of a forge begins at its host.
		g := upload.Grant{Commit: j.Commit, Path: strings.Trim(filepath.ToSlash(dir), "/") + "/acme/shop", Ends: j.Ends, Objects: func(ctx context.Context) (string, error) { return all.ObjectsOf(ctx, j.Commit) }}
		if !j.Want.Plain() {
			g.Outside = func(ctx context.Context) (*mirror.Outside, error) { return all.Outside(ctx, j.Commit, j.Want) }
		}
		return g, ok
	}})
	w.must(err)
	w.mu.Lock()
	w.serve = http.StripPrefix("/git", h)
	w.mu.Unlock()
	return w, commit, shop
}

func (w *world) runWith(id queue.BuildID, commit string, c config.Checkout, run string) (queue.BuildDone, string) {
	w.t.Helper()
	s := config.Step{Name: "unit", Run: run, Timeout: time.Minute, Checkout: c}
	w.must(w.pool.Run(w.t.Context(), queue.Build{ID: id, Queue: "acme/shop@main", Commit: queue.CommitID(commit), Jobs: []queue.Job{{Step: s, Keys: []queue.Key{{Step: s.Digest(), Target: "a", Hash: "h"}}}}}, "run/"+string(id)))
	return w.done(id), w.log(id)
}

// Submodules and files of Git LFS are in a job's checkout as in one of the server's own
// runners, and in no later one that asks for none.
func TestOutside(t *testing.T) {
	t.Parallel()
	w, commit, shop := outsideWorld(t)
	o := w.options()
	w.agent(o)
	all := config.Checkout{Submodules: config.SubmodulesAll, LFS: config.SwitchOn}
	const lib = `"third party/lib"`
	const plain = "grep -q spec/v1 big.bin && test ! -e " + lib + "/l"
	for _, test := range []struct {
		id   queue.BuildID
		want config.Checkout
		run  string
	}{
		{"plain", config.Checkout{}, plain},
		{"all", all, "grep 'content of shop' big.bin && in/tool.sh && grep spec/v1 doc.md && grep 'of lib' " + lib + "/l && grep 'content of lib' " + lib + "/l.bin && grep 'of deep' " + lib + "/n/d; x=$?; touch " + lib + "/left; exit $x"},
		{"again", all, "grep 'of deep' " + lib + "/n/d && test ! -e " + lib + "/left && mkdir " + lib + "/closed && touch " + lib + "/closed/x && chmod 0 " + lib + "/closed"},
		{"only-lfs", config.Checkout{LFS: config.SwitchOn}, "grep 'content of shop' big.bin && test ! -e " + lib + "/l"},
		{"top", config.Checkout{Submodules: config.SubmodulesTop}, "grep spec/v1 big.bin && grep spec/v1 " + lib + "/l.bin && test -d " + lib + "/n && test ! -e " + lib + "/n/d; x=$?; rm -r " + lib + "; ln -s / " + lib + "; exit $x"},
		{"plain-again", config.Checkout{}, plain},
	} {
		if d, log := w.runWith(test.id, commit, test.want, test.run); d.Outcome != queue.JobPassed {
			t.Errorf("%s: %+v\n%s", test.id, d, log)
		}
	}
	// What has come stays on the machine, and is looked at again.
	_, oid := pointerOf("content of shop\n")
	kept := filepath.Join(o.Dir, "lfs", oid)
	w.must(os.WriteFile(kept, []byte("content of nope\n"), 0o600))
	w.must(os.RemoveAll(filepath.Join(shop.bare, "lfs")))
	if d, log := w.runWith("damaged", commit, all, "grep 'content of shop' big.bin"); d.Outcome != queue.JobPassed {
		t.Errorf("%+v\n%s", d, log)
	}
}

// A content that cannot be had is an infrastructure error, and names the file; so is one that
// the server sends wrong. The step never sees its pointer.
func TestPointerFileIsInfrastructureError(t *testing.T) {
	t.Parallel()
	w, _, shop := outsideWorld(t)
	w.agent(w.options())
	text, oid := pointerOf("never pushed")
	commit := shop.commit(map[string]string{"missing.bin": text}, nil)
	shop.fetch()
	d, log := w.runWith("missing", commit, config.Checkout{LFS: config.SwitchOn}, "echo the step ran; exit 1")
	if d.Outcome != queue.JobInfra || !strings.Contains(d.Detail, `"missing.bin", a file of Git LFS`) || !strings.Contains(d.Detail, "push it there") || strings.Contains(log, "\nthe step ran") {
		t.Errorf("%+v\n%s", d, log)
	}
	shop.keep("never pushed")
	w.breaks(func(rw http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, oid) {
			_, _ = io.WriteString(rw, "never PUSHED")
			return true
		}
		return false
	})
	d, log = w.runWith("wrong", commit, config.Checkout{LFS: config.SwitchOn}, "echo the step ran; exit 1")
	if d.Outcome != queue.JobInfra || !strings.Contains(log, `"missing.bin", a file of Git LFS: what has come is not what its pointer names`) || strings.Contains(log, "\nthe step ran") {
		t.Errorf("%+v\n%s", d, log)
	}
	w.breaks(nil)
	if d, log := w.runWith("there", commit, config.Checkout{LFS: config.SwitchOn}, "grep 'never pushed' missing.bin"); d.Outcome != queue.JobPassed {
		t.Errorf("%+v\n%s", d, log)
	}
}

// Stock clients find the same: git fills submodules whose addresses are relative, and git-lfs
// is given what is of the job's commit, and nothing else, as long as the job runs.
func TestOutsideForStockClients(t *testing.T) {
	t.Parallel()
	w, commit, shop := outsideWorld(t)
	elsewhere := shop.keep("of another commit")
	_, oid := pointerOf("of another commit")
	s := config.Step{Name: "unit", Run: "true", Checkout: config.Checkout{Submodules: config.SubmodulesAll, LFS: config.SwitchOn, Depth: 3}}
	answered := make(chan protocol.Job, 1)
	go func() {
		var j protocol.Job
		w.post("/api/v4/jobs/request", "", protocol.JobRequest{Token: w.token, SystemID: "s_stock", Info: protocol.Info{Name: "gitlab-runner", Executor: "shell", Platform: "linux"}}, &j)
		answered <- j
	}()
	w.joined()
	w.must(w.pool.Run(t.Context(), queue.Build{ID: "b1", Queue: "acme/shop@main", Commit: queue.CommitID(commit), Jobs: []queue.Job{{Step: s, Keys: []queue.Key{{Step: s.Digest(), Target: "a", Hash: "h"}}}}}, "run/b1"))
	j := <-answered
	dir := t.TempDir()
	u, err := url.Parse(j.GitInfo.RepoURL)
	w.must(err)
	u.Path = "/git" + filepath.ToSlash(shop.bare) // the path that it has on the forge
	address := u.String()
	w.git(dir, "init", "-q", ".")
	w.git(dir, "remote", "add", "origin", address)
	w.git(dir, append([]string{"fetch", "-q", "--depth=3", "origin"}, j.GitInfo.Refspecs...)...)
	w.git(dir, "checkout", "-q", "--detach", j.GitInfo.SHA)
	w.git(dir, "submodule", "update", "-q", "--init", "--recursive")
	for path, want := range map[string]string{"third party/lib/l": "of lib\n", "third party/lib/n/d": "of deep\n"} {
		if got, err := os.ReadFile(filepath.Join(dir, path)); err != nil || string(got) != want {
			t.Errorf("%s: %q %v", path, got, err)
		}
	}

	_, mine := pointerOf("content of shop\n")
	_, libs := pointerOf("content of lib\n")
	type object struct {
		OID     string `json:"oid"`
		Size    int    `json:"size"`
		Actions struct {
			Download struct {
				Href   string            `json:"href"`
				Header map[string]string `json:"header"`
			} `json:"download"`
		} `json:"actions"`
		Error *struct {
			Code int `json:"code"`
		} `json:"error"`
	}
	ask := func(operation string, objects ...object) (answer struct {
		Objects []object `json:"objects"`
	}, status int) {
		status = w.post(u.Path+"/info/lfs/objects/batch", j.Token, map[string]any{"operation": operation, "objects": objects}, &answer)
		return answer, status
	}
	answer, status := ask("download", object{OID: mine, Size: 16}, object{OID: libs, Size: 15}, object{OID: oid, Size: 17}, object{OID: mine, Size: 17})
	if status != http.StatusOK || len(answer.Objects) != 4 || answer.Objects[2].Error == nil || answer.Objects[2].Error.Code != http.StatusNotFound || answer.Objects[3].Error == nil {
		t.Fatalf("%d %+v (%s)", status, answer, elsewhere)
	}
	get := func(href string, header map[string]string) (int, string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, href, nil)
		w.must(err)
		for k, v := range header {
			req.Header.Set(k, v)
		}
		res, err := http.DefaultClient.Do(req)
		w.must(err)
		defer res.Body.Close()
		raw, err := io.ReadAll(res.Body)
		w.must(err)
		return res.StatusCode, string(raw)
	}
	d := answer.Objects[0].Actions.Download
	if status, got := get(d.Href, d.Header); status != http.StatusOK || got != "content of shop\n" {
		t.Errorf("%s: %d %q", d.Href, status, got)
	}
	if status, _ := get(strings.Replace(d.Href, mine, oid, 1), d.Header); status != http.StatusNotFound {
		t.Errorf("a content of another commit: %d", status)
	}
	if status, _ := get(d.Href, nil); status != http.StatusUnauthorized {
		t.Errorf("without the token: %d", status)
	}
	if _, status := ask("upload", object{OID: mine, Size: 16}); status != http.StatusForbidden {
		t.Errorf("upload: %d", status)
	}
	w.must(w.pool.Stop(t.Context(), "b1"))
	w.done("b1")
	w.put(j, protocol.Update{State: protocol.StateFailed})
	if status, _ := get(d.Href, d.Header); status != http.StatusUnauthorized {
		t.Errorf("when the job has ended: %d", status)
	}
}

// post sends JSON, with a job's token as git does, and reads the answer.
func (w *world) post(path, token string, in, out any) int {
	raw, _ := json.Marshal(in) // plain structs
	req, err := http.NewRequest(http.MethodPost, w.base+path, bytes.NewReader(raw))
	if err != nil {
		w.t.Error(err)
		return 0
	}
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.SetBasicAuth("gitlab-ci-token", token)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Error(err)
		return 0
	}
	defer res.Body.Close()
	_ = json.NewDecoder(res.Body).Decode(out) // its status tells
	return res.StatusCode
}

func (w *world) put(j protocol.Job, u protocol.Update) {
	w.t.Helper()
	u.Token = j.Token
	raw, err := json.Marshal(u)
	w.must(err)
	req, err := http.NewRequest(http.MethodPut, fmt.Sprintf("%s/api/v4/jobs/%d", w.base, j.ID), bytes.NewReader(raw))
	w.must(err)
	res, err := http.DefaultClient.Do(req)
	w.must(err)
	w.must(res.Body.Close())
}
