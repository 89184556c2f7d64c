package main

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/submitqueue/submitqueue/app/access"
	"github.com/submitqueue/submitqueue/app/api"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/client"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/server"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/server/servertest"
	"github.com/submitqueue/submitqueue/queue/storetest"
)

// tokenCommands are commands of scripts about tokens.
func tokenCommands() map[string]func(*testscript.TestScript, bool, []string) {
	return map[string]func(*testscript.TestScript, bool, []string){
		// elsewhere makes the commands that follow those of a machine that has no more than the
		// server's address.
		"elsewhere": func(ts *testscript.TestScript, _ bool, _ []string) {
			f, err := client.ReadFile(ts.Getenv("SUBMITQUEUE_DATA"))
			ts.Check(err)
			ts.Setenv("SUBMITQUEUE_SERVER", f.URL)
			ts.Setenv("SUBMITQUEUE_DATA", filepath.Join(ts.Getenv("WORK"), "nothing"))
			ts.Setenv("SUBMITQUEUE_TOKEN", "")
		},
		// address sets ADDRESS to where the server listens, for the one that comes after it.
		"address": func(ts *testscript.TestScript, _ bool, _ []string) {
			f, err := client.ReadFile(ts.Getenv("SUBMITQUEUE_DATA"))
			ts.Check(err)
			ts.Setenv("ADDRESS", strings.TrimPrefix(f.URL, "http://"))
		},
		// home takes elsewhere back.
		"home": func(ts *testscript.TestScript, _ bool, _ []string) {
			ts.Setenv("SUBMITQUEUE_SERVER", "")
			ts.Setenv("SUBMITQUEUE_DATA", filepath.Join(ts.Getenv("WORK"), "data"))
			ts.Setenv("SUBMITQUEUE_TOKEN", "")
		},
		// bearing TOKEN|FILE has the commands that follow bear a token.
		"bearing": func(ts *testscript.TestScript, neg bool, args []string) {
			if neg || len(args) != 1 {
				ts.Fatalf("usage: bearing TOKEN|FILE")
			}
			token := args[0]
			if !strings.HasPrefix(token, "sq_") {
				token = strings.TrimSpace(ts.ReadFile(token))
			}
			ts.Setenv("SUBMITQUEUE_TOKEN", token)
		},
	}
}

var enterLink = regexp.MustCompile(`http://\S+/enter\?code=\S+`)

// The link of a start signs one browser in, and a killed server knows it again. A token that
// was added beside the server lets in before and after that.
func TestSessionsOutliveTheServer(t *testing.T) {
	storetest.OneOf(t, 2)
	t.Parallel()
	c := newCrashed(t, 0)
	var said *servertest.Console
	c.wrap = func(cmd *exec.Cmd) {
		said = &servertest.Console{}
		cmd.Stderr = said
	}
	c.start()
	link := ""
	c.until("a link is printed", func() bool { link = enterLink.FindString(said.Text()); return link != "" })
	secret, err := access.NewTokens(c.data).Add(access.Token{Name: "ann", Role: access.Read, Made: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	base := func() string {
		f, err := client.ReadFile(c.data)
		if err != nil {
			t.Fatal(err)
		}
		return f.URL
	}
	stranger, b := servertest.NewBrowser(t, base()), servertest.NewBrowser(t, base())
	if status := stranger.Open("/"); status != http.StatusUnauthorized || stranger.Shows("x@main") {
		t.Errorf("a stranger: %d\n%s", status, stranger.Page)
	}
	if status := b.Open(link); status != 200 || b.Shows("x@main") {
		t.Fatalf("the link: %d\n%s", status, b.Page)
	}
	if status := b.Submit(); status != 200 || !b.Shows("x@main") || strings.Contains(b.Last.Request.URL.String(), "code") {
		t.Fatalf("the button: %d %s\n%s", status, b.Last.Request.URL, b.Page)
	}
	if status := stranger.Open(link); status != http.StatusForbidden || !stranger.Shows("good once") {
		t.Errorf("a second time: %d\n%s", status, stranger.Page)
	}
	c.end(syscall.SIGKILL)
	c.start()
	b.Base, stranger.Base = base(), base()
	if status := b.Open("/"); status != 200 || !b.Shows("x@main") {
		t.Errorf("after the kill: %d\n%s", status, b.Page)
	}
	if stranger.Open("/enter"); stranger.Submit("token", secret) != 200 || !stranger.Shows("x@main") {
		t.Errorf("with a token:\n%s", stranger.Page)
	}
	ann := client.Client{Base: base(), Token: secret}
	var queues []any
	if err := ann.Get(t.Context(), "/api/queues", &queues); err != nil || len(queues) != 1 {
		t.Errorf("%v %v", queues, err)
	}
	if err := access.NewTokens(c.data).Remove("ann", time.Now()); err != nil {
		t.Fatal(err)
	}
	if stranger.Open("/") != http.StatusUnauthorized || ann.Get(t.Context(), "/api/queues", &queues) == nil {
		t.Error("a removed token lets in")
	}
	for _, name := range []string{"tokens.json", "sessions.json", "client.json"} {
		if info, err := os.Stat(filepath.Join(c.data, name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", name, info, err)
		}
	}
	if code := c.end(syscall.SIGTERM); code != 0 {
		t.Errorf("it ends with %d", code)
	}
}

// With --public everybody reads, and nobody is given a link.
func TestPublicServer(t *testing.T) {
	c := newCrashed(t, 0)
	c.flags = []string{"--public"}
	said := &servertest.Console{}
	c.wrap = func(cmd *exec.Cmd) { cmd.Stderr = said }
	c.start()
	f, err := client.ReadFile(c.data)
	if err != nil {
		t.Fatal(err)
	}
	stranger := client.Client{Base: f.URL}
	var queues []any
	if err := stranger.Get(t.Context(), "/api/queues", &queues); err != nil || len(queues) != 1 {
		t.Errorf("%v %v", queues, err)
	}
	if err := stranger.Post(t.Context(), "/api/pause", api.PauseCommand{Reason: "x"}, new(any)); err == nil {
		t.Error("everybody may pause")
	}
	c.end(syscall.SIGTERM)
	if enterLink.MatchString(said.Text()) {
		t.Errorf("a link is printed:\n%s", said.Text())
	}
}

// The name in whose the server's own token commands is the file's, if that says one.
func TestNameOfTheOwnToken(t *testing.T) {
	data := t.TempDir()
	t.Setenv(api.TokenVariable, "")
	token, name, err := server.ClientToken(data)
	if err != nil || len(token) < 20 || name != client.UserName() {
		t.Errorf("%q %q %v", token, name, err)
	}
	raw, err := json.Marshal(client.File{Token: "kept", User: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(client.PathOf(data), raw, 0o600); err != nil {
		t.Fatal(err)
	}
	if token, name, err := server.ClientToken(data); token != "kept" || name != "ann" || err != nil {
		t.Errorf("%q %q %v", token, name, err)
	}
	t.Setenv(api.TokenVariable, "0123456789abcdef")
	if token, name, err := server.ClientToken(data); token != "0123456789abcdef" || name != "ann" || err != nil {
		t.Errorf("%q %q %v", token, name, err)
	}
}
