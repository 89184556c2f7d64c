package upload_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/submitqueue/submitqueue/forge/mirror/upload"
	"github.com/submitqueue/submitqueue/queue"
)

// world is a bare repository, and a server that opens one commit of it for each token.
type world struct {
	t    *testing.T
	repo string // bare
	base string // of the server, without scheme

	mu     sync.Mutex
	grants map[string]upload.Grant
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, repo: filepath.Join(t.TempDir(), "m.git"), grants: map[string]upload.Grant{}}
	w.git("", "init", "-q", "--bare", "-b", "main", w.repo)
	h, err := upload.New(upload.Options{Dir: filepath.Join(t.TempDir(), "views"), Log: slog.New(slog.DiscardHandler), Access: func(token string) (upload.Grant, bool) {
		w.mu.Lock()
		defer w.mu.Unlock()
		g, ok := w.grants[token]
		return g, ok
	}})
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	w.base = strings.TrimPrefix(s.URL, "http://")
	return w
}

// git runs git as a runner's would be, and returns what it printed.
func (w *world) try(dir string, args ...string) (string, error) {
	w.t.Helper()
	cmd := exec.CommandContext(w.t.Context(), "git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@x", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@x")
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func (w *world) git(dir string, args ...string) string {
	w.t.Helper()
	out, err := w.try(dir, args...)
	if err != nil {
		w.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return out
}

// commit puts a commit with one more file into the repository, under no ref.
func (w *world) commit(parent, name, content string) string {
	w.t.Helper()
	file := filepath.Join(w.t.TempDir(), "f")
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		w.t.Fatal(err)
	}
	blob := w.git(w.repo, "hash-object", "-w", file)
	index := "GIT_INDEX_FILE=" + filepath.Join(w.t.TempDir(), "index")
	run := func(args ...string) string {
		cmd := exec.Command("git", args...)
		cmd.Dir = w.repo
		cmd.Env = append(os.Environ(), index)
		out, err := cmd.CombinedOutput()
		if err != nil {
			w.t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	if parent != "" {
		run("read-tree", parent)
	}
	run("update-index", "--add", "--cacheinfo", "100644,"+blob+",dir/"+name)
	args := []string{"commit-tree", run("write-tree"), "-m", name}
	if parent != "" {
		args = append(args, "-p", parent)
	}
	return w.git(w.repo, args...)
}

// grant opens a commit for a token.
func (w *world) grant(token, commit string) (end func()) {
	ends := make(chan struct{})
	w.mu.Lock()
	defer w.mu.Unlock()
	w.grants[token] = upload.Grant{Commit: queue.CommitID(commit), Ends: ends,
		Objects: func(context.Context) (string, error) { return filepath.Join(w.repo, "objects"), nil }}
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.grants, token)
		close(ends)
	}
}

func (w *world) url(token string) string {
	return "http://gitlab-ci-token:" + token + "@" + w.base + "/git/shop.git"
}

func (w *world) clone() string {
	w.t.Helper()
	dir := w.t.TempDir()
	w.git(dir, "init", "-q", ".")
	return dir
}

// A runner gets its commit: all of it, shallow, by its name and by its ref, with either
// protocol, and without contents that it fetches as it needs them.
func TestFetch(t *testing.T) {
	w := newWorld(t)
	first := w.commit("", "a", "one\n")
	head := w.commit(first, "b", strings.Repeat("two\n", 1000))
	w.git(w.repo, "update-ref", "refs/heads/secret", w.commit("", "x", "hidden\n"))
	w.grant("job-1", head)
	for _, protocol := range []string{"0", "2"} {
		for name, args := range map[string][]string{
			"the ref":      {"fetch", "-q", w.url("job-1"), "+" + upload.Ref + ":refs/x"},
			"the commit":   {"fetch", "-q", w.url("job-1"), "+" + head + ":refs/x"},
			"shallow":      {"fetch", "-q", "--depth", "1", w.url("job-1"), "+" + head + ":refs/x"},
			"without more": {"fetch", "-q", "--depth", "1", "--no-tags", "--filter=tree:0", w.url("job-1"), "+" + head + ":refs/x"},
		} {
			dir := w.clone()
			w.git(dir, append([]string{"-c", "protocol.version=" + protocol}, args...)...)
			if got := w.git(dir, "rev-parse", "refs/x"); got != head {
				t.Errorf("%s, protocol %s: %s", name, protocol, got)
			}
			if name == "without more" {
				continue
			}
			w.git(dir, "checkout", "-q", "--detach", "refs/x")
			if raw, err := os.ReadFile(filepath.Join(dir, "dir", "b")); err != nil || len(raw) != 4000 {
				t.Errorf("%s, protocol %s: %d bytes, %v", name, protocol, len(raw), err)
			}
		}
		if refs := w.git("", "-c", "protocol.version="+protocol, "ls-remote", w.url("job-1")); strings.Contains(refs, "secret") || !strings.Contains(refs, upload.Ref) {
			t.Errorf("refs:\n%s", refs)
		}
		// A partial clone fetches contents as it needs them.
		dir := filepath.Join(t.TempDir(), "partial")
		w.git("", "-c", "protocol.version="+protocol, "clone", "-q", "--filter=blob:none", "--depth", "1", "-n", w.url("job-1"), dir)
		w.git(dir, "-c", "protocol.version="+protocol, "checkout", "-q", "--detach", head)
		if raw, err := os.ReadFile(filepath.Join(dir, "dir", "a")); err != nil || string(raw) != "one\n" {
			t.Errorf("a partial clone, protocol %s: %q %v", protocol, raw, err)
		}
	}
	// A second fetch sends what is new.
	dir := w.clone()
	w.git(dir, "fetch", "-q", w.url("job-1"), upload.Ref)
	next := w.commit(head, "c", "three\n")
	w.grant("job-2", next)
	w.git(dir, "fetch", "-q", w.url("job-2"), next+":refs/next")
}

// A job's token opens its own commit: no other job's, nothing under a hidden ref, nothing
// without a ref, by whatever protocol; it opens nothing when the job has ended.
func TestWhatATokenDoesNotOpen(t *testing.T) {
	w := newWorld(t)
	base := w.commit("", "a", "one\n")
	mine, other := w.commit(base, "b", "mine\n"), w.commit(base, "c", "other\n")
	hidden := w.commit("", "x", "hidden\n")
	w.git(w.repo, "update-ref", "refs/heads/hidden", hidden)
	blob := w.git(w.repo, "rev-parse", other+":dir/c")
	end := w.grant("mine", mine)
	w.grant("other", other)
	for _, protocol := range []string{"0", "1", "2"} {
		for name, oid := range map[string]string{"another job's commit": other, "a hidden ref's commit": hidden, "a file of another job": blob} {
			for _, more := range [][]string{nil, {"--depth", "1"}, {"--depth", "1", "--filter=blob:none"}} {
				dir := w.clone()
				args := append(append([]string{"-c", "protocol.version=" + protocol, "fetch", "-q"}, more...), w.url("mine"), oid)
				if out, err := w.try(dir, args...); err == nil {
					t.Errorf("protocol %s, %v: %s was fetched\n%s", protocol, more, name, out)
				}
				if _, err := w.try(dir, "cat-file", "-e", oid); err == nil {
					t.Errorf("protocol %s, %v: %s is there", protocol, more, name)
				}
			}
		}
	}
	// As it is on the wire, with and without protocol 2.
	for _, head := range []string{"", "version=2"} {
		for _, body := range []string{
			packet("want "+other+" no-progress\n") + "0000" + packet("done\n"),
			packet("want "+mine+" no-progress\n") + packet("want "+hidden+"\n") + "0000" + packet("done\n"),
			packet("command=fetch") + "0001" + packet("want "+other) + packet("done") + "0000",
		} {
			if raw := w.post("mine", head, []byte(body)); bytes.Contains(raw, []byte("PACK")) {
				t.Errorf("%q got a pack", body)
			}
		}
	}
	if raw := w.post("mine", "", zipped(packet("want "+mine+" no-progress\n")+"0000"+packet("done\n"))); !bytes.Contains(raw, []byte("PACK")) {
		t.Errorf("its own commit, compressed: %q", raw)
	}
	if out, err := w.try(w.clone(), "push", "-q", w.url("mine"), "HEAD:refs/heads/x"); err == nil {
		t.Errorf("it can push: %s", out)
	}
	for _, token := range []string{"", "nobody", "mine2"} {
		if out, err := w.try("", "ls-remote", w.url(token)); err == nil {
			t.Errorf("token %q: %s", token, out)
		}
	}
	end()
	if out, err := w.try("", "ls-remote", w.url("mine")); err == nil {
		t.Errorf("after the job's end: %s", out)
	}
}

func packet(s string) string { return fmt.Sprintf("%04x%s", len(s)+4, s) }

func zipped(s string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write([]byte(s))
	_ = z.Close()
	return b.Bytes()
}

func (w *world) post(token, protocol string, body []byte) []byte {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), "POST", "http://"+w.base+"/git/shop.git/git-upload-pack", bytes.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	req.SetBasicAuth("x", token)
	req.Header.Set("Git-Protocol", protocol)
	if len(body) > 1 && body[0] == 0x1f {
		req.Header.Set("Content-Encoding", "gzip")
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer res.Body.Close()
	raw, _ := io.ReadAll(res.Body)
	return raw
}

// Rubbish is refused, and other addresses are not there.
func TestRubbish(t *testing.T) {
	w := newWorld(t)
	w.grant("job", w.commit("", "a", "one\n"))
	for _, body := range []string{"", "0", "zzzz", "0003", "ffffwant", packet("hello\n") + "0000", packet("want zz\n") + "0000", packet("want ../../x\n") + "0000"} {
		if raw := w.post("job", "", []byte(body)); !bytes.Contains(raw, []byte("upload-pack")) {
			t.Errorf("%q: %q", body, raw)
		}
	}
	for path, want := range map[string]int{"/git/shop.git/info/refs?service=git-receive-pack": 403, "/git/shop.git/HEAD": 404, "/git/shop.git/objects/info/packs": 404, "/git/info/refs": 404, "/.git/info/refs?service=git-upload-pack": 401} {
		res, err := http.Get("http://" + w.base + path)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("%s: %d, not %d", path, res.StatusCode, want)
		}
	}
}
