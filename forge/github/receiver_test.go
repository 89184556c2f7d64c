package github_test

import (
	"crypto/hmac"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/google/go-github/v60/github"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/forgetest"
	"github.com/submitqueue/submitqueue/forge/github"
	"github.com/submitqueue/submitqueue/queue"
)

const secret = "s3cret"

// inbox takes webhooks the way the service does.
type inbox struct {
	*httptest.Server
	mu     sync.Mutex
	status int
	events []queue.Event
	offers []queue.Offered
	kinds  []string
	repos  []string
	errs   []error
}

func newInbox(t *testing.T) *inbox {
	t.Helper()
	in := &inbox{status: http.StatusOK}
	r := github.NewReceiver(secret)
	in.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			t.Error(err)
		}
		d, err := r.Receive(req.Header, body)
		if _, err := sdk.ParseWebHook(req.Header.Get("X-GitHub-Event"), body); err != nil {
			t.Errorf("go-github cannot read what the simulated GitHub sent: %v", err)
		}
		in.mu.Lock()
		defer in.mu.Unlock()
		if in.status == http.StatusOK {
			in.kinds = append(in.kinds, d.Kind)
			for _, e := range d.Events {
				if o, is := e.Body.(queue.Offered); is { // beside what people have done: see TestOffers
					in.offers = append(in.offers, o)
				} else {
					in.events = append(in.events, e)
				}
			}
			in.repos = append(in.repos, d.Repository)
			if !isErr(err, forge.ErrIgnored) && err != nil {
				in.errs = append(in.errs, err)
			}
		}
		w.WriteHeader(in.status)
	}))
	t.Cleanup(in.Close)
	return in
}

// take returns what came in since the last call.
func (in *inbox) take(w *world) []queue.Event {
	w.Helper()
	w.must(w.server.WaitDelivered(w.ctx))
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, err := range in.errs {
		w.Error(err)
	}
	events := in.events
	in.events = nil
	return events
}

func TestEachUsedEvent(t *testing.T) {
	w := newWorld(t, forgetest.Options{})
	in := newInbox(t)
	w.server.SetWebhook(in.URL, secret)
	w.server.Ping()
	n := w.pull("topic")
	if d := cmp.Diff([]queue.Body{queue.MainMoved{Branch: "topic"}}, bodies(in.take(w))); d != "" {
		t.Error(d)
	}
	issue := w.repo.OpenIssue("bob", "broken")
	w.server.AddBot("robo[bot]")
	w.commit("release", "main")
	in.take(w)

	var id, review int64
	for name, c := range map[string]struct {
		do   func()
		want func() []queue.Body
	}{
		"comment": {
			func() { id = w.repo.Comment("ann", n, "/land") },
			func() []queue.Body {
				return []queue.Body{queue.Commented{Number: n, Comment: fmt.Sprint(id), Author: "ann", Body: "/land"}}
			},
		},
		"a description that names nobody": {func() { w.repo.Redescribe("ann", n, "Why.") }, nil},
		"a description that depends": {
			func() {
				w.repo.Redescribe("ann", n, "depends on #7")
				w.repo.Redescribe("ann", n, "Why: it\n\ndepends on #7")
				w.repo.Redescribe("ann", n, "> depends on #7")
			},
			func() []queue.Body { return []queue.Body{queue.Stirred{Number: n}, queue.Stirred{Number: n}} },
		},
		"comment on an issue": {func() { w.repo.Comment("ann", issue, "/land") }, nil},
		"comment edited and deleted": {func() {
			old := w.repo.Comments(issue)
			if len(old) > 0 {
				w.repo.EditComment("ann", old[0].ID, "/land")
				w.repo.DeleteComment("ann", old[0].ID)
			}
		}, nil},
		"comment by a bot": {
			func() { id = w.repo.Comment("robo[bot]", n, "/land") },
			func() []queue.Body {
				return []queue.Body{queue.Commented{Number: n, Comment: fmt.Sprint(id), Author: "robo[bot]", Body: "/land", Bot: true}}
			},
		},
		"comment by a bot without": {func() { w.must(w.forge.Comment(w.ctx, n, marker, "hello")) }, nil},
		"our comment, toggled": {func() {
			body := "hello\n" + queue.Box{Verb: queue.CommandLand, Label: "Queue it."}.String() + "\n" + queueMarker
			w.must(w.forge.Comment(w.ctx, n, queueMarker, body))
			id := w.repo.Comments(n)[len(w.repo.Comments(n))-1].ID
			for range 2 {
				if !w.repo.Toggle("o", id, "Queue it.") {
					t.Error("the owner may not toggle")
				}
			}
			w.must(w.forge.Comment(w.ctx, n, queueMarker, body+"\nmore")) // our own edit
			w.repo.EditComment("robo[bot]", id, "gone")
		}, func() []queue.Body {
			box := "- [ ] Queue it. <!-- submitqueue-box:land -->\n"
			first, _ := queue.SaidIn("hello\n" + box + queueMarker)
			last, _ := queue.SaidIn("hello\n" + box + queueMarker + "\nmore")
			return []queue.Body{queue.Edited{Number: n, Author: "o", Before: first, Command: "/land"},
				queue.Edited{Number: n, Author: "o", Before: first, Command: "/land cancel"},
				queue.Edited{Number: n, Author: "robo[bot]", Bot: true, Before: last}}
		}},
		"another's comment with a box": {func() {
			id := w.repo.Comment("ann", n, queue.Box{Verb: queue.CommandLand, Label: "Mine."}.String()+"\n"+queueMarker)
			in.take(w) // that they were written
			w.repo.Toggle("o", id, "Mine.")
		}, nil},
		"label by a bot": {func() { w.repo.Label("robo[bot]", n, "robo") }, func() []queue.Body {
			return []queue.Body{queue.Labeled{Number: n, Label: "robo", Actor: "robo[bot]", On: true, Bot: true}}
		}},
		"comment in a review": {
			func() { id = w.repo.ReviewComment("ann", n, "hm\n/land") },
			func() []queue.Body {
				return []queue.Body{queue.Commented{Number: n, Comment: fmt.Sprint("inline-", id), Author: "ann", Body: "hm\n/land"}}
			},
		},
		"button": {
			func() {
				w.must(w.forge.Check(w.ctx, forge.Check{Name: "submitqueue", Head: queue.CommitID(w.repo.Pull(n).Head), ExternalID: fmt.Sprint(n, ".0123abcd"),
					State: forge.CheckQueued, Buttons: []forge.Button{{ID: forge.ButtonCancel, Label: "Cancel", Hint: "x"}}}))
				w.repo.CI.Press("ann", w.repo.Pull(n).Head, "submitqueue", "Cancel")
				w.repo.CI.Rerequest("o", w.repo.Pull(n).Head, "submitqueue")
				w.repo.CI.RerequestSuite("o", n)
			},
			func() []queue.Body {
				head := queue.CommitID(w.repo.Pull(n).Head)
				return []queue.Body{
					queue.Commented{Number: n, Author: "ann", Body: "/land cancel", Head: head},
					queue.Commented{Number: n, Author: "o", Body: "/land retry", Head: head},
					queue.Commented{Number: n, Author: "o", Body: "/land retry", Head: head},
				}
			},
		},
		"button of another": {func() {
			w.repo.CI.SetCheck("ci", w.repo.Pull(n).Head, "build", "failure")
			w.repo.CI.Rerequest("o", w.repo.Pull(n).Head, "build")
		}, func() []queue.Body { return []queue.Body{queue.Stirred{Head: queue.CommitID(w.repo.Pull(n).Head)}} }}, // for it has failed
		"comment in a review without": {func() { w.repo.ReviewComment("ann", n, "hm") }, nil},
		"review with a command": {
			func() { review = w.repo.Review("o", n, "APPROVED", "", "good\n/land") },
			func() []queue.Body {
				return []queue.Body{queue.Commented{Number: n, Comment: fmt.Sprint("review-", review), Author: "o", Body: "good\n/land"}, queue.Stirred{Number: n}}
			},
		},
		"review without":           {func() { w.repo.Review("o", n, "APPROVED", "", "good") }, func() []queue.Body { return []queue.Body{queue.Stirred{Number: n}} }},
		"review that says nothing": {func() { w.repo.Review("o", n, "COMMENTED", "", "hm") }, nil},
		"review dismissed": {func() { w.repo.DismissReview("ann", n, w.repo.Review("o", n, "CHANGES_REQUESTED", "", "")) }, func() []queue.Body {
			return []queue.Body{queue.Stirred{Number: n}, queue.Stirred{Number: n}}
		}},
		"conversation": {func() {
			id := w.repo.StartThread("o", n, "a.go")
			w.repo.ResolveThread("ann", n, id, true)
			w.repo.ResolveThread("o", n, id, false)
		}, func() []queue.Body { return []queue.Body{queue.Stirred{Number: n}, queue.Stirred{Number: n}} }},
		"status": {func() {
			w.repo.CI.PostStatus(w.repo.Head("release"), "ci/old", "pending")
			w.repo.CI.PostStatus(w.repo.Head("release"), "ci/old", "failure")
		}, func() []queue.Body { return []queue.Body{queue.Stirred{Head: queue.CommitID(w.repo.Head("release"))}} }},
		"label": {func() { w.repo.Label("ann", n, "queue"); w.repo.Unlabel("o", n, "queue") }, func() []queue.Body {
			return []queue.Body{
				queue.Labeled{Number: n, Label: "queue", Actor: "ann", On: true},
				queue.Labeled{Number: n, Label: "queue", Actor: "o"},
			}
		}},
		"push to the pull request": {func() { w.commit("topic", "") }, func() []queue.Body {
			return []queue.Body{
				queue.MainMoved{Branch: "topic"},
				queue.HeadMoved{Number: n, Head: queue.CommitID(w.repo.Head("topic")), By: "o"},
			}
		}},
		"title": {func() { w.repo.Retitle("ann", n, fmt.Sprint("title ", time.Now())) }, nil},
		"base": {func() { w.repo.Retarget("ann", n, "release"); w.repo.Retarget("ann", n, "main") }, func() []queue.Body {
			return []queue.Body{queue.Retargeted{Number: n}, queue.Retargeted{Number: n}}
		}},
		"draft": {func() { w.repo.SetDraft("ann", n, true); w.repo.SetDraft("ann", n, false) }, func() []queue.Body {
			return []queue.Body{queue.Retargeted{Number: n}, queue.Retargeted{Number: n}}
		}},
		"closed and reopened": {func() { w.repo.ClosePull("ann", n); w.repo.Reopen("ann", n) }, func() []queue.Body {
			return []queue.Body{queue.Closed{Number: n}, queue.Retargeted{Number: n}}
		}},
		"check run": {func() {
			w.repo.CI.SetCheck("ci", w.repo.Head("topic"), "unit", "")
			w.repo.CI.SetCheck("ci", w.repo.Head("topic"), "unit", "success")
			w.repo.CI.SetCheck("ci", w.repo.Head("topic"), "submitqueue", "success")
		}, func() []queue.Body { return []queue.Body{queue.Stirred{Head: queue.CommitID(w.repo.Head("topic"))}} }},
	} {
		c.do()
		var want []queue.Body
		if c.want != nil {
			want = c.want()
		}
		got := in.take(w)
		if d := cmp.Diff(want, bodies(got)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		for _, e := range got {
			if moved, is := e.Body.(queue.HeadMoved); is && moved.Made == 0 {
				t.Errorf("%s: a push without its time", name)
			}
			if e.ID == "" || e.At != (queue.Event{}).At {
				t.Errorf("%s: %+v", name, e)
			}
		}
	}

	w.commit("upper", "topic")
	upper := must(w.repo.OpenPull("ann", "upper", "topic", "Upper"))
	in.take(w)
	must(w.repo.Stack("ann", n, upper))
	if d := cmp.Diff([]queue.Body{queue.Retargeted{Number: n}, queue.Retargeted{Number: upper}}, bodies(in.take(w))); d != "" {
		t.Errorf("stacked: %s", d)
	}

	head, err := w.repo.Commit("o", forgetest.Commit{Branch: "main", Merge: "topic", Message: "Merge"})
	w.must(err)
	want := []queue.Body{queue.MainMoved{Branch: "main"}, queue.Closed{Number: n, Merged: true}}
	if d := cmp.Diff(want, bodies(in.take(w))); d != "" || w.repo.Head("main") != head {
		t.Errorf("landed: %s", d)
	}
	for _, name := range in.repos[1:] {
		if name != "o/r" {
			t.Errorf("repository %q", name)
		}
	}
}

func TestEventIsTheSameByEachChannel(t *testing.T) {
	w := newWorld(t, forgetest.Options{})
	in := newInbox(t)
	w.server.SetWebhook(in.URL, secret)
	n := w.pull("topic")
	in.take(w)
	since := time.Now()
	w.repo.Comment("ann", n, "/land")
	hook := in.take(w)
	missed, err := w.forge.Missed(w.ctx, since, nil)
	w.must(err)
	found := hook[0].Body.(queue.Commented)
	found.Late = true // the queue is told that no webhook has come
	if d := cmp.Diff([]queue.Event{{ID: hook[0].ID, Body: found}}, missed); d != "" || found.Made == 0 {
		t.Error(d)
	}

	in.mu.Lock()
	in.status = http.StatusServiceUnavailable
	in.mu.Unlock()
	w.repo.Label("ann", n, "queue") // refused by us
	w.must(w.server.WaitDelivered(w.ctx))
	in.mu.Lock()
	in.status = http.StatusOK
	in.mu.Unlock()
	w.server.DropWebhooks(1)
	w.repo.ClosePull("ann", n) // lost on the way
	asked, err := w.forge.Redeliver(w.ctx, since)
	w.must(err)
	got := in.take(w)
	want := []queue.Body{queue.Labeled{Number: n, Label: "queue", Actor: "ann", On: true}, queue.Closed{Number: n}}
	if d := cmp.Diff(want, bodies(got)); d != "" || asked != 2 {
		t.Errorf("asked for %d: %s", asked, d)
	}
	if log := w.server.Deliveries(); !strings.HasSuffix(got[0].ID, log[len(log)-2].GUID) || !strings.HasPrefix(got[0].ID, "github/label/") {
		t.Errorf("%s is not the id of the delivery", got[0].ID)
	}
	if asked, err := w.forge.Redeliver(w.ctx, since); err != nil || asked != 0 {
		t.Errorf("asked again for %d: %v", asked, err)
	}
}

// One webhook that GitHub does not send again holds up none of the others.
func TestRedeliverGoesOnBehindOneThatIsRefused(t *testing.T) {
	w := newWorld(t, forgetest.Options{})
	n := w.pull("topic")
	w.must(w.server.WaitDelivered(w.ctx))
	in := newInbox(t)
	w.server.SetWebhook(in.URL, secret)
	for _, status := range []int{404, 422} {
		since := time.Now()
		w.server.DropWebhooks(2)
		w.repo.Label("ann", n, fmt.Sprint("first-", status))
		w.repo.Label("ann", n, fmt.Sprint("second-", status))
		w.must(w.server.WaitDelivered(w.ctx))
		w.server.Fail(forgetest.Fault{Method: "POST", Path: "/app/hook/deliveries/*/attempts", Status: status, Message: "not this one"})
		asked, err := w.forge.Redeliver(w.ctx, since)
		got := in.take(w)
		if want := []queue.Body{queue.Labeled{Number: n, Label: fmt.Sprint("second-", status), Actor: "ann", On: true}}; err != nil || !cmp.Equal(want, bodies(got)) {
			t.Errorf("%d: %d, %v, %v", status, asked, err, bodies(got))
		}
		if asked, err = w.forge.Redeliver(w.ctx, since); err != nil || asked != 1 {
			t.Errorf("%d: then %d, %v", status, asked, err)
		}
		in.take(w)
	}
}

const queueMarker = "<!-- submitqueue:o/r@main -->"

// An edit is as old as the edit, however old the comment is.
func TestEditOfAnOldComment(t *testing.T) {
	now := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	r := github.NewReceiverAt(secret, func() time.Time { return now })
	for name, c := range map[string]struct {
		updated, sender, author, issue string
		want                           error
	}{
		"now":              {"2026-11-22T09:59:00Z", "bob", "q[bot]", `{"number":7,"pull_request":{}}`, nil},
		"replayed":         {"2026-11-12T09:59:00Z", "bob", "q[bot]", `{"number":7,"pull_request":{}}`, forge.ErrIgnored},
		"by ourselves":     {"2026-11-22T09:59:00Z", "Q[bot]", "q[bot]", `{"number":7,"pull_request":{}}`, forge.ErrIgnored},
		"on an issue":      {"2026-11-22T09:59:00Z", "bob", "q[bot]", `{"number":7}`, forge.ErrIgnored},
		"without a sender": {"2026-11-22T09:59:00Z", "", "q[bot]", `{"number":7,"pull_request":{}}`, forge.ErrMalformed},
		"without a number": {"2026-11-22T09:59:00Z", "bob", "q[bot]", `{"pull_request":{}}`, forge.ErrMalformed},
	} {
		body := fmt.Sprintf(`{"action":"edited","issue":%s,"sender":{"login":%q},"repository":{"full_name":"o/r"},"changes":{"body":{"from":%q}},`+
			`"comment":{"id":5,"body":"x","user":{"login":%q,"type":"Bot"},"created_at":"2026-01-01T00:00:00Z","updated_at":%q}}`,
			c.issue, c.sender, "hello\n"+queueMarker, c.author, c.updated)
		d, err := r.Receive(forgetest.WebhookHeader("issue_comment", "guid", secret, []byte(body)), []byte(body))
		if !isErr(err, c.want) || c.want == nil && len(d.Events) != 1 {
			t.Errorf("%s: %+v, %v", name, d, err)
		} else if c.want == nil && d.Events[0].Body.(queue.Edited).Made != queue.At(now.Add(-time.Minute)) {
			t.Errorf("%s: it is not told when that was: %+v", name, d.Events[0].Body)
		}
	}
}

const commented = `{"action":"created","issue":{"number":7,"pull_request":{}},"comment":{"id":5,"body":"/land","user":{"login":"ann","type":"User"}},"repository":{"full_name":"o/r"}}`

func TestSignature(t *testing.T) {
	r := github.NewReceiver(secret)
	good := forgetest.WebhookHeader("issue_comment", "d1", secret, []byte(commented))
	if d, err := r.Receive(good, []byte(commented)); err != nil || len(d.Events) == 0 || d.ID != "d1" || d.Kind != "issue_comment" {
		t.Fatalf("%+v %v", d, err)
	}
	mac := hmac.New(sha1.New, []byte(secret))
	io.WriteString(mac, commented)
	old := "sha1=" + hex.EncodeToString(mac.Sum(nil))
	for name, change := range map[string]func(h http.Header) []byte{
		"missing":       func(h http.Header) []byte { h.Del("X-Hub-Signature-256"); return nil },
		"SHA-1 beside":  func(h http.Header) []byte { h.Del("X-Hub-Signature-256"); h.Set("X-Hub-Signature", old); return nil },
		"SHA-1 instead": func(h http.Header) []byte { h.Set("X-Hub-Signature-256", old); return nil },
		"other body":    func(http.Header) []byte { return []byte(commented + " ") },
		"not hex":       func(h http.Header) []byte { h.Set("X-Hub-Signature-256", "sha256=zz"); return nil },
		"empty":         func(h http.Header) []byte { h.Set("X-Hub-Signature-256", "sha256="); return nil },
		"other secret": func(h http.Header) []byte {
			h.Set("X-Hub-Signature-256", forgetest.WebhookHeader("", "", "guess", []byte(commented)).Get("X-Hub-Signature-256"))
			return nil
		},
	} {
		h := good.Clone()
		body := change(h)
		if body == nil {
			body = []byte(commented)
		}
		if d, err := r.Receive(h, body); err != forge.ErrSignature || d.Events != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	none := github.NewReceiver("")
	h := good.Clone()
	h.Set("X-Hub-Signature-256", forgetest.WebhookHeader("", "", "\x00", nil).Get("X-Hub-Signature-256"))
	if _, err := none.Receive(h, nil); err != forge.ErrSignature {
		t.Errorf("no secret takes nothing: %v", err)
	}
}

func TestForm(t *testing.T) {
	body := []byte("payload=" + url.QueryEscape(commented))
	h := forgetest.WebhookHeader("issue_comment", "d1", secret, body)
	h.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
	d, err := github.NewReceiver(secret).Receive(h, body)
	want := queue.Commented{Number: 7, Comment: "5", Author: "ann", Body: "/land"}
	if err != nil || len(d.Events) != 1 || d.Events[0].Body != want {
		t.Errorf("%+v %v", d, err)
	}
}

func TestMalformedAndIgnored(t *testing.T) {
	for name, c := range map[string]struct {
		event, body string
		want        error
	}{
		"not JSON":             {"push", `{`, forge.ErrMalformed},
		"wrong type":           {"push", `{"ref":7}`, forge.ErrMalformed},
		"no repository":        {"push", `{"ref":"refs/heads/main"}`, forge.ErrMalformed},
		"no number":            {"pull_request", `{"action":"closed","repository":{"full_name":"o/r"}}`, forge.ErrMalformed},
		"no head":              {"pull_request", `{"action":"synchronize","pull_request":{"number":1},"repository":{"full_name":"o/r"}}`, forge.ErrMalformed},
		"no label":             {"pull_request", `{"action":"labeled","pull_request":{"number":1},"repository":{"full_name":"o/r"}}`, forge.ErrMalformed},
		"comment without id":   {"issue_comment", `{"action":"created","issue":{"number":1,"pull_request":{}},"repository":{"full_name":"o/r"}}`, forge.ErrMalformed},
		"review without id":    {"pull_request_review", `{"action":"submitted","review":{"body":"/land"},"pull_request":{"number":1}}`, forge.ErrMalformed},
		"check without head":   {"check_run", `{"action":"completed","check_run":{},"repository":{"full_name":"o/r"}}`, forge.ErrMalformed},
		"thread of nothing":    {"pull_request_review_thread", `{"action":"resolved","repository":{"full_name":"o/r"}}`, forge.ErrMalformed},
		"no event":             {"", `{}`, forge.ErrMalformed},
		"tag":                  {"push", `{"ref":"refs/tags/v1","repository":{"full_name":"o/r"}}`, forge.ErrIgnored},
		"ping":                 {"ping", `{"zen":"x"}`, forge.ErrIgnored},
		"new event":            {"quantum", `{}`, forge.ErrIgnored},
		"opened":               {"pull_request", `{"action":"opened","pull_request":{"number":1}}`, forge.ErrIgnored},
		"review without words": {"pull_request_review", `{"action":"submitted","review":{"body":null}}`, forge.ErrIgnored},
	} {
		h := forgetest.WebhookHeader(c.event, "d", secret, []byte(c.body))
		if d, err := github.NewReceiver(secret).Receive(h, []byte(c.body)); !isErr(err, c.want) || d.Events != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	h := forgetest.WebhookHeader("ping", "d", secret, nil)
	h.Set("Content-Type", "text/plain")
	if _, err := github.NewReceiver(secret).Receive(h, nil); !isErr(err, forge.ErrMalformed) {
		t.Errorf("plain text: %v", err)
	}
}

func FuzzReceive(f *testing.F) {
	f.Add("issue_comment", commented)
	f.Add("pull_request", `{"action":"labeled","pull_request":{"number":1},"label":{"name":"x"},"repository":{"full_name":"o/r"}}`)
	f.Add("pull_request", `{"action":"opened","pull_request":{"number":1,"state":"open","head":{"sha":"abc"},"base":{"ref":"main"},"user":{"login":"a"}},"repository":{"full_name":"o/r"}}`)
	f.Add("pull_request_review", `{"action":"submitted","review":{"id":1,"body":"/land","user":{"login":"a"}},"pull_request":{"number":1}}`)
	f.Add("check_run", `{"action":"completed","check_run":{"head_sha":"abc","name":"ci"},"repository":{"full_name":"o/r"}}`)
	f.Add("push", `{"ref":"refs/heads/main","repository":{"full_name":"o/r"}}`)
	r := github.NewReceiver(secret)
	f.Fuzz(func(t *testing.T, event, body string) {
		d, err := r.Receive(forgetest.WebhookHeader(event, "d", secret, []byte(body)), []byte(body))
		switch {
		case err == nil:
			_, offers := d.Events[len(d.Events)-1].Body.(queue.Offered) // beside what was done
			if n := len(d.Events); n != 1 && (n != 2 || !offers) || d.Events[0].ID == "" || d.Events[0].Body == nil || d.Repository == "" {
				t.Errorf("%+v", d)
			}
		case isErr(err, forge.ErrIgnored), isErr(err, forge.ErrMalformed):
			if d.Events != nil {
				t.Errorf("events with %v", err)
			}
		default:
			t.Errorf("signed, and yet: %v", err)
		}
		if _, err := r.Receive(forgetest.WebhookHeader(event, "d", "other", []byte(body)), []byte(body)); err != forge.ErrSignature {
			t.Errorf("signed by another: %v", err)
		}
	})
}

func TestReplayWindow(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for event, body := range map[string]string{
		"issue_comment":       `{"action":"created","issue":{"number":7,"pull_request":{}},"comment":{"id":5,"body":"/land","created_at":"2026-03-01T12:00:00Z","user":{"login":"ann"}},"repository":{"full_name":"o/r"}}`,
		"pull_request_review": `{"action":"submitted","review":{"id":5,"body":"/land","submitted_at":"2026-03-01T12:00:00Z","user":{"login":"ann"}},"pull_request":{"number":7,"updated_at":"2026-03-09T12:00:00Z"},"repository":{"full_name":"o/r"}}`,
		"pull_request":        `{"action":"labeled","pull_request":{"number":7,"updated_at":"2026-03-01T12:00:00Z"},"label":{"name":"land"},"repository":{"full_name":"o/r"}}`,
	} {
		h := forgetest.WebhookHeader(event, "d", secret, []byte(body))
		for after, want := range map[time.Duration]error{0: nil, 72 * time.Hour: nil, 100 * time.Hour: forge.ErrIgnored} {
			r := github.NewReceiverAt(secret, func() time.Time { return at.Add(after) })
			if d, err := r.Receive(h, []byte(body)); !isErr(err, want) || (len(d.Events) == 1) != (want == nil) {
				t.Errorf("%s after %s: %v", event, after, err)
			}
		}
	}
}

// What happens late to something old has no date of its own, and is taken.
func TestLateEvents(t *testing.T) {
	r := github.NewReceiverAt(secret, func() time.Time { return time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC) })
	const old = `"pull_request":{"number":7,"updated_at":"2026-03-01T12:00:00Z"},"repository":{"full_name":"o/r"}}`
	review := func(action, state string) string {
		return `{"action":"` + action + `","review":{"id":5,"body":"/land","state":"` + state + `","submitted_at":"2026-03-01T12:00:00Z","user":{"login":"ann"}},` + old
	}
	for name, c := range map[string]struct {
		event, body string
		want        error
	}{
		"submitted then":          {"pull_request_review", review("submitted", "approved"), forge.ErrIgnored},
		"dismissed late":          {"pull_request_review", review("dismissed", "dismissed"), nil},
		"edited late":             {"pull_request_review", review("edited", "approved"), nil},
		"a remark edited late":    {"pull_request_review", review("edited", "commented"), forge.ErrIgnored},
		"resolved late":           {"pull_request_review_thread", `{"action":"resolved","thread":{"comments":[{"id":1,"created_at":"2026-03-01T12:00:00Z"}]},` + old, nil},
		"unresolved late":         {"pull_request_review_thread", `{"action":"unresolved",` + old, nil},
		"labeled then":            {"pull_request", `{"action":"labeled","label":{"name":"land"},` + old, forge.ErrIgnored},
		"commented on lines then": {"pull_request_review_comment", `{"action":"created","comment":{"id":5,"body":"/land","created_at":"2026-03-01T12:00:00Z","user":{"login":"ann"}},` + old, forge.ErrIgnored},
	} {
		d, err := r.Receive(forgetest.WebhookHeader(c.event, "d", secret, []byte(c.body)), []byte(c.body))
		if !isErr(err, c.want) || c.want == nil && (len(d.Events) != 1 || d.Events[0].Body != queue.Stirred{Number: 7}) {
			t.Errorf("%s: %v, %+v", name, err, d.Events)
		}
	}
}

func TestAccessWebhooks(t *testing.T) {
	for name, c := range map[string]struct {
		event, body string
		want        forge.Delivery
	}{
		"suspended": {"installation", `{"action":"suspend","installation":{"account":{"login":"acme"}}}`,
			forge.Delivery{Account: "acme"}},
		"taken": {"installation_repositories", `{"action":"removed","installation":{"account":{"login":"acme"}},"repositories_removed":[{"id":77,"full_name":"acme/shop"}]}`,
			forge.Delivery{Repositories: []forge.Place{{ID: 77, Name: "acme/shop"}}}},
		"another default branch": {"repository", `{"action":"edited","repository":{"id":77,"full_name":"acme/shop"},"changes":{"default_branch":{"from":"main"}}}`,
			forge.Delivery{Repository: "acme/shop", RepositoryID: 77}},
		"renamed": {"repository", `{"action":"renamed","repository":{"full_name":"acme/store"},"changes":{"repository":{"name":{"from":"shop"}}}}`,
			forge.Delivery{Repository: "acme/store", Formerly: "acme/shop"}},
		"transferred": {"repository", `{"action":"transferred","repository":{"full_name":"globex/shop"},"changes":{"owner":{"from":{"organization":{"login":"acme"}}}}}`,
			forge.Delivery{Repository: "globex/shop", Formerly: "acme/shop"}},
	} {
		d, err := github.NewReceiver(secret).Receive(forgetest.WebhookHeader(c.event, "d", secret, []byte(c.body)), []byte(c.body))
		if err != nil || len(d.Events) != 1 {
			t.Errorf("%s: %v %+v", name, err, d)
			continue
		}
		c.want.ID, c.want.Kind, c.want.Events = "d", c.event, d.Events
		if diff := cmp.Diff(c.want, d); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	for _, body := range []string{`{"action":"archived","repository":{"full_name":"o/r"}}`, `{"action":"suspend"}`} {
		if _, err := github.NewReceiver(secret).Receive(forgetest.WebhookHeader("repository", "d", secret, []byte(body)), []byte(body)); !isErr(err, forge.ErrIgnored) {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// What an open pull request shows is told with each event by which it may be news, and
// only with those; it is the account's name that counts, whatever the commits say.
func TestOffers(t *testing.T) {
	w := newWorld(t, forgetest.Options{})
	in := newInbox(t)
	w.server.SetWebhook(in.URL, secret)
	w.commit("topic", "main")
	w.commit("release", "main")
	w.server.AddBot("robo[bot]")
	n, err := w.repo.OpenPull("robo[bot]", "topic", "main", "Update")
	w.must(err)
	want := queue.Offered{Number: n, Head: queue.CommitID(w.repo.Head("topic")), Base: "main", Author: "robo[bot]"}
	told := func(after string, want ...queue.Offered) {
		t.Helper()
		in.take(w)
		in.mu.Lock()
		defer in.mu.Unlock()
		for i := range in.offers {
			if in.offers[i].At == 0 {
				t.Errorf("%s: it does not say when that was", after)
			}
			in.offers[i].At = 0
		}
		if d := cmp.Diff(want, in.offers); d != "" {
			t.Errorf("%s (-want +got):\n%s", after, d)
		}
		in.offers = nil
	}
	told("opened", want)
	w.repo.Comment("ann", n, "/land")
	w.repo.Retitle("ann", n, "Updates")
	w.repo.Redescribe("ann", n, "depends on #7")
	w.repo.Review("bob", n, "APPROVED", "", "")
	told("nothing that it shows")
	w.repo.Label("ann", n, "ready")
	labelled := want
	labelled.Labels = []string{"ready"}
	told("labelled", labelled)
	w.repo.SetDraft("ann", n, true)
	draft := labelled
	draft.Draft = true
	told("a draft", draft)
	w.repo.Retarget("ann", n, "release")
	other := draft
	other.Base = "release"
	told("another branch", other)
	w.repo.SetDraft("ann", n, false)
	w.repo.Retarget("ann", n, "main")
	w.repo.Unlabel("ann", n, "ready")
	other.Draft = false
	told("as before", other, labelled, want)
	w.repo.ClosePull("ann", n)
	told("closed")
	w.repo.Label("ann", n, "ready")
	told("labelled while it is closed")
	w.repo.Reopen("ann", n)
	told("reopened", labelled)

	open, err := w.forge.Capabilities().Lister.OpenOn(w.ctx, "main")
	w.must(err)
	if len(open) != 1 || open[0].Number != n || open[0].Author != "robo[bot]" || string(open[0].Head) != w.repo.Head("topic") || fmt.Sprint(open[0].Labels) != "[ready]" || open[0].Draft || open[0].Base != "main" {
		t.Errorf("listed: %+v", open)
	}
	if none, err := w.forge.Capabilities().Lister.OpenOn(w.ctx, "release"); err != nil || len(none) > 0 {
		t.Errorf("for another branch: %+v, %v", none, err)
	}
}
