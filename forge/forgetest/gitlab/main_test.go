package gitlab_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/forge/forgetest/gitlab"
)

type object = map[string]any

// world is a server with one project, whose background jobs run when the test says so.
type world struct {
	*testing.T
	server  *gitlab.Server
	project *gitlab.Project
	ann     string // token of a maintainer
}

func newWorld(t *testing.T, o gitlab.Options) *world {
	t.Helper()
	t.Parallel()
	s, err := gitlab.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	w := &world{T: t, server: s, ann: s.AddUser("ann")}
	if w.project, err = s.AddProject("group/sub/r", "main", "ann"); err != nil {
		t.Fatal(err)
	}
	return w
}

// opened is a merge request of a new branch; what follows it has run.
func (w *world) opened(branch string) int {
	w.project.Push("ann", branch, nil)
	n := w.project.Open(gitlab.Opening{Author: "ann", Source: branch})
	w.server.Settle()
	return n
}

// call calls the REST interface with a token; the path is behind the project's number.
func (w *world) call(token, method, path string, body object) (int, object, string) {
	w.Helper()
	return w.at(token, method, fmt.Sprintf("projects/%d/%s", w.project.ID(), path), body)
}

func (w *world) at(token, method, path string, body object) (int, object, string) {
	w.Helper()
	var in io.Reader
	if body != nil {
		data, _ := json.Marshal(body)
		in = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(w.Context(), method, w.server.URL()+"/api/v4/"+path, in)
	if err != nil {
		w.Fatal(err)
	}
	req.Header.Set("Private-Token", token)
	c := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := c.Do(req)
	if err != nil {
		w.Fatal(err)
	}
	defer resp.Body.Close()
	data, _ := io.ReadAll(resp.Body)
	out := object{}
	_ = json.Unmarshal(data, &out)
	return resp.StatusCode, out, string(data)
}

// bot calls as the bot and fails where the status is another.
func (w *world) bot(status int, method, path string, body object) object {
	w.Helper()
	got, out, text := w.call(w.server.BotToken(), method, path, body)
	if got != status {
		w.Fatalf("%s %s: %d, want %d: %s", method, path, got, status, text)
	}
	return out
}

// git runs git with a token in a fresh repository and returns what it said.
func (w *world) git(token string, args ...string) (string, error) {
	w.Helper()
	cmd := exec.CommandContext(w.Context(), "git", args...)
	cmd.Dir = w.project.Dir()
	cmd.Env = append(os.Environ(), "GIT_TERMINAL_PROMPT=0", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// push pushes by real git over HTTP, as the account of a token.
func (w *world) push(token string, args ...string) (string, error) {
	w.Helper()
	u, _ := url.Parse(w.server.URL() + "/group/sub/r.git")
	u.User = url.UserPassword("x", token)
	at := slices.Index(args, "URL")
	args[at] = u.String()
	return w.git(token, append([]string{"push"}, args...)...)
}

func (w *world) state(n int, want string) gitlab.MergeRequest {
	w.Helper()
	mr := w.project.Look(n)
	if mr.State != want {
		w.Errorf("!%d is %s, want %s: %+v", n, mr.State, want, mr)
	}
	return mr
}

func (w *world) contains(text, part string) {
	w.Helper()
	if !strings.Contains(text, part) {
		w.Errorf("%q does not say %q", text, part)
	}
}
