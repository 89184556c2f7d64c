package setup

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/cmd/submitqueue/gitlabaccount"
	fake "github.com/submitqueue/submitqueue/forge/forgetest/gitlab"
	"github.com/submitqueue/submitqueue/forge/forgetest/gitlab/described"
	"github.com/submitqueue/submitqueue/forge/gitlab"
	"github.com/submitqueue/submitqueue/queue/storetest"
)

func TestMain(m *testing.M) {
	storetest.FilesInMemory()
	m.Run()
}

// bench is a simulated GitLab with a project, and a server that takes its webhooks as long
// as they prove themselves by the secret that it was started with.
type bench struct {
	*testing.T
	gl      *fake.Server
	project *fake.Project
	data    string
	server  *httptest.Server
	taken   atomic.Int64
	from    atomic.Pointer[receiver] // nil: it does not run
}

type receiver struct {
	verify func(http.Header, []byte) error
}

const config = "version: 1\nsteps:\n  - {name: unit, run: 'true'}\n"

func newBench(t *testing.T, o fake.Options) *bench {
	t.Helper()
	t.Parallel()
	o.Judge = described.Judge(t)
	gl, err := fake.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { gl.Close() })
	b := &bench{T: t, gl: gl, data: t.TempDir()}
	b.project = b.add("group/sub/shop", config)
	b.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		from := b.from.Load()
		switch {
		case from == nil || r.URL.Path != "/webhook/gitlab":
			http.NotFound(w, r)
		case r.Method != http.MethodPost:
			w.WriteHeader(http.StatusMethodNotAllowed)
		default:
			body, _ := io.ReadAll(r.Body)
			if from.verify(r.Header, body) != nil {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			b.taken.Add(1)
			w.WriteHeader(http.StatusAccepted)
		}
	}))
	t.Cleanup(b.server.Close)
	b.write("gitlab-token", gl.BotToken())
	return b
}

func (b *bench) add(path, config string) *fake.Project {
	b.Helper()
	b.gl.AddUser("ann")
	p, err := b.gl.AddProject(path, "main", "ann")
	if err != nil {
		b.Fatal(err)
	}
	if config != "" {
		p.Push("ann", "main", map[string]string{".submitqueue.yml": config})
	}
	b.gl.Settle()
	return p
}

func (b *bench) write(name, text string) {
	b.Helper()
	if err := os.WriteFile(filepath.Join(b.data, name), []byte(text+"\n"), 0o600); err != nil {
		b.Fatal(err)
	}
}

func (b *bench) read(name string) string {
	text, _ := os.ReadFile(filepath.Join(b.data, name))
	return strings.TrimSpace(string(text))
}

// restart has the server take webhooks by the secret that is in its file by now.
func (b *bench) restart() {
	b.Helper()
	secret := gitlab.Secret{Token: b.read("gitlab-secret")}
	if strings.HasPrefix(secret.Token, "whsec_") {
		secret = gitlab.Secret{Signing: secret.Token}
	}
	r, err := gitlab.NewReceiver(secret)
	if err != nil {
		b.Fatal(err)
	}
	b.from.Store(&receiver{func(h http.Header, body []byte) error {
		_, err := r.Receive(h, body)
		return err
	}})
}

// run runs the command, and returns what it has printed.
func (b *bench) run(change func(*GitLab)) (string, error) {
	b.Helper()
	var out bytes.Buffer
	c := &GitLab{Flags: gitlabaccount.Flags{URL: b.gl.URL()}, Target: "group/sub/shop", Public: b.server.URL, RefPrefix: "submitqueue", Data: b.data, Days: 364, Out: &out}
	if change != nil {
		change(c)
	}
	err := c.Run(b.Context())
	return out.String(), err
}

func (b *bench) ok(change func(*GitLab)) string {
	b.Helper()
	out, err := b.run(change)
	if err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	return out
}

// says fails where a text lacks one of these parts.
func (b *bench) says(text string, parts ...string) {
	b.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			b.Errorf("it does not say %q:\n%s", part, text)
		}
	}
}

// writes are the requests that changed something, since the last n.
func (b *bench) writes(since int) (list []string) {
	for _, r := range b.gl.Requests()[since:] {
		if r.Method != http.MethodGet {
			list = append(list, r.Method+" "+r.Path)
		}
	}
	return list
}

// arrives reports whether a webhook of something that happens is taken.
func (b *bench) arrives() bool {
	before := b.taken.Load()
	b.project.Push("ann", "main", nil)
	b.gl.Settle()
	b.gl.Deliver(context.Background())
	return b.taken.Load() > before
}

// The webhook is made once, signed where GitLab signs; what it carries is what the server
// takes. Doing it again changes nothing.
func TestMakesTheWebhook(t *testing.T) {
	for _, c := range []struct {
		name     string
		unsigned bool
	}{{"signed", false}, {"by token", true}} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, fake.Options{Unsigned: c.unsigned})
			out := b.ok(nil)
			b.says(out, "made      the webhook", "does not answer from here", "submitqueue serve --forge gitlab --gitlab-url "+b.gl.URL()+" --repo group/sub/shop")
			if got := strings.HasPrefix(b.read("gitlab-secret"), "whsec_"); got == c.unsigned {
				t.Errorf("the secret is %q", b.read("gitlab-secret"))
			}
			if strings.Contains(out, b.read("gitlab-secret")) || strings.Contains(out, b.read("gitlab-token")) {
				t.Error("it prints a secret")
			}
			if info, err := os.Stat(filepath.Join(b.data, "gitlab-secret")); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("the secret's file: %v, %v", info.Mode(), err)
			}
			b.restart()
			if !b.arrives() {
				t.Error("the server refuses what GitLab sends")
			}
			since := len(b.gl.Requests())
			b.says(b.ok(nil), "as it should be", "deliveries  the last one")
			if w := b.writes(since); len(w) > 0 {
				t.Errorf("doing it again has changed something: %v", w)
			}
			if files, _ := os.ReadDir(b.data); len(files) != 2 {
				t.Errorf("files are left over: %v", files)
			}
		})
	}
}

// A dry run changes nothing, and says what would be done.
func TestDryRun(t *testing.T) {
	b := newBench(t, fake.Options{})
	b.says(b.ok(func(c *GitLab) { c.DryRun, c.Protect = true, true }), "would have made the webhook", "would have protected the branches submitqueue/*")
	b.says(b.ok(func(c *GitLab) { c.DryRun, c.Rotate = true, true }), "would exchange the token")
	if w := b.writes(0); len(w) > 0 {
		t.Errorf("it has changed something: %v", w)
	}
	if b.read("gitlab-secret") != "" {
		t.Error("it has made a secret")
	}
}

// Each fault of a webhook is mended, and nothing else is touched.
func TestMends(t *testing.T) {
	elsewhere := "https://elsewhere.example.org/webhook/gitlab"
	for _, c := range []struct {
		name  string
		spoil func(*bench)
		with  func(*GitLab)
		says  string
	}{
		{"events", func(b *bench) { b.hook("push_events", "false") }, nil, "it did not tell of push events"},
		{"a filter of branches", func(b *bench) { b.hook("push_events_branch_filter", "x") }, nil, "some branches only"},
		{"the secret was lost", func(b *bench) { b.hook("signing_token", "") }, nil, "it had no secret"},
		{"the file was lost", func(b *bench) { os.Remove(filepath.Join(b.data, "gitlab-secret")) }, nil, "its secret was in no file here"},
		{"another secret", func(b *bench) {
			b.hook("signing_token", gitlabaccount.NewSigning())
			b.arrives()
		}, nil, "the server has refused its secret"},
		{"another address", func(b *bench) { b.hook("url", elsewhere) }, func(c *GitLab) { c.Replace = true }, "it went to " + elsewhere},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, fake.Options{})
			b.ok(nil)
			b.restart()
			other := b.project.AddHook(fake.Hook{URL: "https://chat.example.org/hook", Events: []string{fake.PushHook}})
			c.spoil(b)
			out, _ := b.run(c.with)
			b.says(out, "mended    the webhook of group/sub/shop: ", c.says)
			b.restart()
			if !b.arrives() {
				t.Error("nothing arrives")
			}
			b.says(b.ok(nil), "as it should be")
			if h := b.project.Hooks(); len(h) != 2 || h[other].URL != "https://chat.example.org/hook" || len(h[other].Events) != 1 {
				t.Errorf("the webhooks: %+v", h)
			}
		})
	}
}

// hook changes the first webhook, as people do on its page.
func (b *bench) hook(field, value string) {
	b.Helper()
	if err := b.project.EditHook(field, value); err != nil {
		b.Fatal(err)
	}
}

// A webhook that GitLab has switched off is tested, which switches it on.
func TestSwitchesOn(t *testing.T) {
	b := newBench(t, fake.Options{})
	b.ok(nil)
	for range 5 {
		b.arrives() // nobody is there
	}
	out, err := b.run(nil)
	if err == nil {
		t.Error("it is content with a webhook that is off")
	}
	b.says(out, "FAIL  deliveries", "has switched the webhook off after failures, and tries again in", "send a test")
	b.restart()
	b.says(b.ok(nil), "tested    the webhook of group/sub/shop", "the newest one has")
	if !b.arrives() {
		t.Error("nothing arrives")
	}
}

// The token is exchanged for one of the same account.
func TestRotates(t *testing.T) {
	b := newBench(t, fake.Options{Bot: "project_7_bot_1f"})
	old := b.read("gitlab-token")
	out := b.ok(func(c *GitLab) { c.Rotate = true })
	fresh := b.read("gitlab-token")
	if fresh == old || strings.Contains(out, fresh) {
		t.Errorf("the token was %q and is %q:\n%s", old, fresh, out)
	}
	b.says(out, "expires on "+time.Now().UTC().Add(364*24*time.Hour).Format(time.DateOnly), "Restart the server")
	b.says(b.ok(nil), "of project_7_bot_1f (an account that GitLab has made for a project's token); it expires on")
	b.write("gitlab-token", old)
	out, err := b.run(nil)
	if err == nil {
		t.Error("the old token is taken")
	}
	b.says(out, "GitLab does not take the token")
}

// Where a new token cannot be kept, the old one is not given up.
func TestRotatesOnlyWhatItCanKeep(t *testing.T) {
	b := newBench(t, fake.Options{})
	_, err := b.run(func(c *GitLab) { c.Rotate, c.Token = true, filepath.Join(b.data, "gitlab-token", "x") })
	if err == nil {
		t.Fatal("it is content")
	}
	folder := filepath.Join(b.data, "closed")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "t"), []byte(b.gl.BotToken()), 0o600); err != nil {
		t.Fatal(err)
	}
	b.gl.Fail(fake.Fault{Method: "POST", Path: "/rotate", Status: 400})
	if _, err := b.run(func(c *GitLab) { c.Rotate, c.Token = true, filepath.Join(folder, "t") }); err == nil {
		t.Error("it is content with a refusal")
	}
	if files, _ := os.ReadDir(folder); len(files) != 1 {
		t.Errorf("files are left over: %v", files)
	}
	b.ok(func(c *GitLab) { c.Rotate, c.Token = true, filepath.Join(folder, "t") })
}

// A group has one webhook where its tier has such; else each of its projects has one.
func TestGroups(t *testing.T) {
	for _, c := range []struct {
		name    string
		premium bool
		says    string
	}{{"premium", true, "made      the webhook"}, {"free", false, "each project gets one"}} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, fake.Options{Premium: c.premium})
			second, none := b.add("group/other", config), b.add("group/sub/none", "")
			out := b.ok(func(c *GitLab) { c.Target = b.gl.URL() + "/group" })
			b.says(out, c.says, "group: 3 projects, 2 with a .submitqueue.yml", "--repo group/sub/shop --repo group/other")
			if got := []int{len(b.project.Hooks()), len(second.Hooks()), len(none.Hooks())}; c.premium && got[0]+got[1]+got[2] != 0 || !c.premium && (got[0] != 1 || got[1] != 1 || got[2] != 0) {
				t.Errorf("webhooks of the projects: %v", got)
			}
			b.restart()
			if !b.arrives() {
				t.Error("nothing arrives")
			}
			since := len(b.gl.Requests())
			b.ok(func(c *GitLab) { c.Target = "group" })
			if w := b.writes(since); len(w) > 0 {
				t.Errorf("doing it again has changed something: %v", w)
			}
			if c.premium { // the group's tells of the project, too
				b.says(b.ok(nil), "the group group tells the server of group/sub/shop already", "of the group group, signed")
			}
		})
	}
}

// The branches of builds are protected on demand, and the queue can still push and delete
// them.
func TestProtects(t *testing.T) {
	b := newBench(t, fake.Options{})
	b.project.Push("ann", "main", map[string]string{".submitqueue.yml": "version: 1\nsteps:\n  - {name: ci, checks: [test]}\n"})
	b.project.Set(func(s *fake.Settings) { s.Jobs, s.Protected = []string{"test"}, []string{"DEPLOY_KEY"} })
	b.gl.Settle()
	b.says(b.ok(nil), "do not get the protected variables (DEPLOY_KEY)", "--protect-refs")
	b.says(b.ok(func(c *GitLab) { c.Protect = true }), "protected the branches submitqueue/*")
	b.says(b.ok(func(c *GitLab) { c.Protect = true }), "are protected already")
}

// Each error says what to do.
func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(*bench)
		with  func(*GitLab)
		says  string
	}{
		{"no token", func(b *bench) { os.Remove(filepath.Join(b.data, "gitlab-token")) }, nil, "make one with the scope api"},
		{"a wrong token", func(b *bench) { b.write("gitlab-token", "glpat-x") }, nil, "GitLab does not take the token"},
		{"a scope", func(b *bench) {
			b.gl.SetToken(b.gl.BotToken(), func(t *fake.Token) { t.Scopes = []string{"read_api"} })
		}, nil, "make a token with the scope api"},
		{"expired", func(b *bench) { b.gl.Pass(400 * 24 * time.Hour) }, nil, "GitLab does not take the token"},
		{"a developer", func(b *bench) { b.project.SetLevel(b.gl.Bot(), 30) }, nil, "make it a maintainer"},
		{"a stranger", func(b *bench) { b.project.SetLevel(b.gl.Bot(), 0) }, nil, "neither a project nor a group"},
		{"no such project", nil, func(c *GitLab) { c.Target = "group/none" }, "neither a project nor a group"},
		{"no address", nil, func(c *GitLab) { c.Public = "" }, "--url https://HOST"},
		{"a wrong address", nil, func(c *GitLab) { c.Public = "queue.example.org" }, "write https://HOST"},
		{"nobody may push", func(b *bench) { b.project.Protect("main", fake.Guard{Push: 0, Merge: 40}) }, nil, "Allowed to push and merge"},
		{"trains", func(b *bench) { b.project.Set(func(s *fake.Settings) { s.Trains = true }) }, nil, "merge trains are on"},
		{"a group without queues", func(b *bench) { b.add("empty/one", "") }, func(c *GitLab) { c.Target = "empty" }, "submitqueue init"},
		{"an instance that does not sign any more", func(b *bench) { b.write("gitlab-secret", "short") }, nil, "less than 16 characters"},
		{"GitLab is away", func(b *bench) { b.gl.Fail(fake.Fault{Status: 502, Times: 99}) }, nil, "does not answer"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, fake.Options{})
			if c.spoil != nil {
				c.spoil(b)
			}
			out, err := b.run(c.with)
			if err == nil {
				t.Fatalf("it is content:\n%s", out)
			}
			b.says(out+err.Error(), c.says)
		})
	}
}

// A key for signing is refused where GitLab drops it: the server would refuse everything.
func TestKeyWhereNothingIsSigned(t *testing.T) {
	b := newBench(t, fake.Options{Unsigned: true})
	b.write("gitlab-secret", gitlabaccount.NewSigning())
	_, err := b.run(nil)
	if err == nil || !strings.Contains(err.Error(), "take the file away") {
		t.Errorf("it says: %v", err)
	}
}
