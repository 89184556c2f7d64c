package gitlab_test

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/forge"
	fake "github.com/submitqueue/submitqueue/forge/forgetest/gitlab"
	"github.com/submitqueue/submitqueue/forge/gitlab"
	"github.com/submitqueue/submitqueue/queue"
)

// inbox receives the webhooks of a project, once each.
type inbox struct {
	receiver forge.Receiver
	mu       sync.Mutex
	seen     map[string]bool
	events   []string
	failed   []string
}

func (b *inbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	d, err := b.receiver.Receive(r.Header, body)
	b.mu.Lock()
	defer b.mu.Unlock()
	if err != nil && !errors.Is(err, forge.ErrIgnored) {
		b.failed = append(b.failed, err.Error())
		w.WriteHeader(401)
		return
	}
	if b.seen[d.ID] {
		return
	}
	b.seen[d.ID] = true
	for _, e := range d.Events {
		b.events = append(b.events, brief(e.Body))
		said, isSaid := e.Body.(queue.Commented)
		moved, isMoved := e.Body.(queue.HeadMoved)
		if isSaid && said.Made == 0 || isMoved && moved.Made == 0 {
			b.failed = append(b.failed, "without its time: "+brief(e.Body))
		}
	}
	for _, l := range d.CI.Look {
		b.events = append(b.events, "look "+l)
	}
}

func receiver(t *testing.T, s gitlab.Secret) forge.Receiver {
	t.Helper()
	r, err := gitlab.NewReceiverOf(s, "submitqueue")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestLifeByWebhooks has a merge request live, and its webhooks come signed, with a token,
// twice and out of order.
func TestLifeByWebhooks(t *testing.T) {
	t.Parallel()
	for name, secret := range map[string]gitlab.Secret{"signed": {Signing: signing}, "token": {Token: "s3cret"}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, fake.Options{Held: true})
			b := &inbox{receiver: receiver(t, secret), seen: map[string]bool{}}
			to := httptest.NewServer(b)
			defer to.Close()
			p := w.project
			p.AddHook(fake.Hook{URL: to.URL, Token: secret.Token, Signing: secret.Signing})
			is := func(what string, do func(), want ...string) {
				t.Helper()
				b.events = nil
				do()
				w.server.Settle()
				w.server.RepeatHooks()
				w.server.Deliver(t.Context())
				slices.Sort(b.events)
				slices.Sort(want)
				if !slices.Equal(b.events, want) {
					t.Errorf("%s: %q, want %q", what, b.events, want)
				}
			}
			p.Push("ann", "topic", nil)
			n := 0
			is("open", func() { n = p.Open(fake.Opening{Author: "ann", Source: "topic"}) }, "queue.MainMoved{topic}")
			b.events = nil
			note := p.Comment("ann", n, "/land\n/label ~x")
			w.server.RepeatHooks()
			w.server.Deliver(t.Context())
			slices.Sort(b.events)
			if want := []string{fmt.Sprintf("queue.Commented{%d %d ann /land false }", n, note), fmt.Sprintf("queue.Labeled{%d x ann true false false}", n)}; !slices.Equal(b.events, want) {
				t.Errorf("land: %q, want %q", b.events, want)
			}
			is("label", func() { p.Label("ann", n, "ready", true) }, fmt.Sprintf("queue.Labeled{%d ready ann true false false}", n))
			is("label off", func() { p.Label("ann", n, "ready", false) }, fmt.Sprintf("queue.Labeled{%d ready ann false false false}", n))
			is("assign somebody", func() { p.Assign("ann", n, "cyn") })
			is("assign us", func() { p.Assign("ann", n, "cyn", w.server.Bot()) }, fmt.Sprintf("queue.Labeled{%d  ann true false true}", n))
			is("us among others", func() { p.Assign("cyn", n, w.server.Bot()) })
			is("unassign us", func() { p.Assign("cyn", n) }, fmt.Sprintf("queue.Labeled{%d  cyn false false true}", n))
			is("approve", func() { p.Approve("cyn", n) }, fmt.Sprintf("queue.Stirred{%d }", n))
			next := p.MergeCommit(p.Tip("topic"), p.Tip("main"))
			is("push", func() { p.Force("ann", "topic", next) }, "queue.MainMoved{topic}", fmt.Sprintf("queue.HeadMoved{%d %s ann}", n, next))
			is("draft", func() { p.SetTitle("ann", n, "Draft: x") }, fmt.Sprintf("queue.Retargeted{%d}", n))
			is("system note", func() { p.SystemNote(n, "changed") })
			is("close", func() { p.Close("ann", n) }, fmt.Sprintf("queue.Closed{%d false}", n))
			is("reopen", func() { p.Reopen("ann", n) }, fmt.Sprintf("queue.Retargeted{%d}", n))
			is("merge", func() { p.Force("ann", "main", p.MergeCommit(p.Tip("main"), p.Tip("topic"))) }, "queue.MainMoved{main}", fmt.Sprintf("queue.Closed{%d true}", n))
			if len(b.failed) != 0 {
				t.Errorf("refused: %q", b.failed)
			}
		})
	}
}

// TestMissedFindsWhatWebhooksLost has GitLab switch a hook off, and everything be read again.
func TestMissedFindsWhatWebhooksLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fake.Options{})
	since := time.Now().Add(-time.Minute)
	n := w.opened("topic")
	id := w.project.Comment("ann", n, "/land")
	w.project.Comment("ann", n, "just words")
	edited := w.project.Comment("ann", n, "words")
	w.server.Pass(3 * time.Second)
	w.project.EditComment(n, edited, "/cancel")
	w.project.Label("cyn", n, "ready", true)
	w.server.LoseHooks()
	events, err := w.forge.Missed(t.Context(), since, []int{n})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range events {
		got = append(got, brief(e.Body))
		switch b := e.Body.(type) {
		case queue.Commented:
			if b.Made == 0 || !b.Late {
				t.Errorf("it is not told when %+v was given", b)
			}
		case queue.Labeled:
			if b.Made == 0 || !b.Late {
				t.Errorf("it is not told when %+v was set", b)
			}
		}
	}
	want := []string{fmt.Sprintf("queue.Commented{%d %d ann /land false }", n, id), fmt.Sprintf("queue.Labeled{%d ready cyn true false false}", n), fmt.Sprintf("queue.HeadMoved{%d %s }", n, w.project.Look(n).SHA)}
	if !slices.Equal(got, want) {
		t.Errorf("missed %q, want %q", got, want)
	}
	// the note has the same id in its webhook
	h := http.Header{"X-Gitlab-Event": {fake.NoteHook}, "X-Gitlab-Token": {"x"}}
	d, err := receiver(t, gitlab.Secret{Token: "x"}).Receive(h, []byte(fmt.Sprintf(`{"user":{"username":"ann"},"project":{"path_with_namespace":"o/r"},"object_attributes":{"id":%d,"note":"/land","noteable_type":"MergeRequest","action":"create"},"merge_request":{"iid":%d}}`, id, n)))
	if err != nil || len(d.Events) != 1 || d.Events[0].ID != events[0].ID {
		t.Errorf("%+v, %v; missed as %q", d, err, events[0].ID)
	}
}

// An owner can delete a merge request, for which GitLab sends no webhook. News of the others
// is told all the same.
func TestMissedOfADeletedMergeRequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fake.Options{})
	since := time.Now().Add(-time.Minute)
	n := w.opened("topic")
	w.project.Comment("ann", n, "/land")
	events, err := w.forge.Missed(t.Context(), since, []int{99, n})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range events {
		got = append(got, fmt.Sprintf("%T", e.Body))
	}
	if !slices.Equal(got, []string{"queue.Commented", "queue.Closed", "queue.HeadMoved"}) || events[1].Body != (queue.Closed{Number: 99}) || events[1].ID == "" {
		t.Errorf("missed %+v", events)
	}
}

// A merge request that changes while the changed ones are listed moves to the end of the list,
// and the first of the second page to the first page, which was read before.
func TestMissedWhileTheListMoves(t *testing.T) {
	t.Parallel()
	var w *world
	var moves atomic.Bool
	o := fake.Options{Judge: func(x fake.Exchange) {
		if strings.HasSuffix(x.Request.URL.Path, "/merge_requests") && len(x.Answer) > 2 && moves.CompareAndSwap(true, false) {
			w.project.SetTitle("ann", 1, "changed meanwhile")
		}
	}}
	w = newWorld(t, o)
	since := time.Now().Add(-time.Minute)
	w.project.Push("ann", "topic", nil)
	want := map[int]bool{}
	for range 103 {
		n := w.project.Open(fake.Opening{Author: "ann", Source: "topic"})
		w.project.Comment("ann", n, "/land")
		w.project.Close("ann", n)
		w.server.Pass(time.Second)
		want[n] = true
	}
	w.server.Settle()
	moves.Store(true)
	events, err := w.forge.Missed(t.Context(), since, nil)
	if err != nil || moves.Load() {
		t.Fatal(err, "nothing has changed meanwhile: ", moves.Load())
	}
	for _, e := range events {
		delete(want, e.Body.(queue.Commented).Number)
	}
	if len(want) > 0 {
		t.Errorf("the commands on these are lost: %v", slices.Sorted(maps.Keys(want)))
	}
}

// Somebody pushes to a merge request while the changed ones are listed, which takes many pages.
// The list has it twice then, and the later head is the present one.
func TestMissedTellsThePresentHead(t *testing.T) {
	t.Parallel()
	var w *world
	var moves atomic.Bool
	o := fake.Options{Judge: func(x fake.Exchange) {
		if strings.HasSuffix(x.Request.URL.Path, "/merge_requests") && len(x.Answer) > 2 && moves.CompareAndSwap(true, false) {
			w.project.Push("ann", "first", map[string]string{"f": "pushed meanwhile"})
		}
	}}
	w = newWorld(t, o)
	since := time.Now().Add(-time.Minute)
	w.project.Push("ann", "first", map[string]string{"f": "1"})
	w.project.Push("ann", "topic", nil)
	n := w.project.Open(fake.Opening{Author: "ann", Source: "first"})
	w.server.Pass(time.Second)
	for range 103 {
		w.project.Close("ann", w.project.Open(fake.Opening{Author: "ann", Source: "topic"}))
		w.server.Pass(time.Second)
	}
	w.server.Settle()
	moves.Store(true)
	events, err := w.forge.Missed(t.Context(), since, []int{n})
	if err != nil || moves.Load() || len(events) != 1 {
		t.Fatal(err, "nothing was pushed meanwhile: ", moves.Load(), events)
	}
	p, err := w.forge.PullRequest(t.Context(), n)
	if got, _ := events[0].Body.(queue.HeadMoved); err != nil || got.Head != p.Head {
		t.Errorf("told of %s, the head is %s (%v)", got.Head, p.Head, err)
	}
}

// A label and an assignment that nobody has heard of are found; those of which our note says
// that they were, or that was edited since, are not: nobody who has asked once is heard twice.
func TestMissedTellsOnceOfLabelsAndAssignments(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fake.Options{})
	since := time.Now().Add(-time.Minute)
	n := w.opened("topic")
	missed := func() (got []string) {
		t.Helper()
		events, err := w.forge.Missed(t.Context(), since, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			got = append(got, brief(e.Body))
		}
		return got
	}
	is := func(what string, want ...string) {
		t.Helper()
		if got := missed(); !slices.Equal(got, want) {
			t.Errorf("%s: missed %q, want %q", what, got, want)
		}
	}
	w.project.Assign("ann", n, "cyn", w.server.Bot())
	w.server.Pass(time.Second)
	w.project.Label("cyn", n, "ready", true)
	w.server.Pass(time.Second)
	w.project.Assign("cyn", n, "cyn")
	w.server.Pass(time.Second)
	all := []string{fmt.Sprintf("queue.Labeled{%d  ann true false true}", n), fmt.Sprintf("queue.Labeled{%d ready cyn true false false}", n), fmt.Sprintf("queue.Labeled{%d  cyn false false true}", n)}
	is("nothing was heard", all...)
	if err := w.forge.Comment(t.Context(), n, marker, "queued"); err != nil {
		t.Fatal(err)
	}
	is("all was heard")
	w.server.Pass(time.Minute)
	since = since.Add(50 * time.Second)
	w.project.Label("cyn", n, "ready", false)
	is("one more", fmt.Sprintf("queue.Labeled{%d ready cyn false false false}", n))
	w.server.Pass(time.Second)
	if err := w.forge.Comment(t.Context(), n, marker, "taken out"); err != nil {
		t.Fatal(err)
	}
	is("and heard")
}

// A webhook that GitLab has switched off is found when what was missed is read, and is tried
// at once, so that it is on again as soon as the server can be reached.
func TestMissedSwitchesWebhooksOnAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, fake.Options{})
	down := true
	to := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		if down {
			rw.WriteHeader(http.StatusBadGateway)
		}
	}))
	defer to.Close()
	ours := w.project.AddHook(fake.Hook{URL: to.URL + gitlab.HookPath, Token: "x"})
	n := w.opened("topic")
	w.server.LoseHooks()
	for range 40 {
		w.project.Comment("ann", n, "words")
		w.server.Deliver(t.Context())
		w.server.Pass(25 * time.Hour)
	}
	if got := w.project.HookStatus(ours); got != "disabled" {
		t.Fatalf("it is %s", got)
	}
	look := func(want string) {
		t.Helper()
		if _, err := w.forge.Missed(t.Context(), time.Now(), nil); err != nil {
			t.Error(err)
		}
		if got := w.project.HookStatus(ours); got != want {
			t.Errorf("it is %s, want %s", got, want)
		}
	}
	look("disabled")
	down = false
	look("executable")
}

func TestUnsignedIsRefusedWhereSigningIsSet(t *testing.T) {
	t.Parallel()
	body := []byte(`{"object_kind":"push","ref":"refs/heads/main","project":{"path_with_namespace":"o/r"}}`)
	r := receiver(t, gitlab.Secret{Signing: signing, Token: "s3cret"})
	h := http.Header{"X-Gitlab-Event": {fake.PushHook}, "X-Gitlab-Token": {"s3cret"}}
	if _, err := r.Receive(h, body); !errors.Is(err, forge.ErrSignature) {
		t.Errorf("unsigned, with a token: %v", err)
	}
	fake.Sign(h, signing, "id", time.Now().Add(-100*time.Hour), body)
	if _, err := r.Receive(h, body); !errors.Is(err, forge.ErrSignature) {
		t.Errorf("signed four days ago: %v", err)
	}
	fake.Sign(h, signing, "id", time.Now(), body)
	h.Set("Webhook-Signature", "v1,AAAA "+h.Get("Webhook-Signature"))
	if d, err := r.Receive(h, body); err != nil || d.ID != "id" {
		t.Errorf("one of two signatures is right: %+v, %v", d, err)
	}
	h.Set("Webhook-Id", "other")
	if _, err := r.Receive(h, body); !errors.Is(err, forge.ErrSignature) {
		t.Errorf("another id than the signed one: %v", err)
	}
	for _, s := range []gitlab.Secret{{}, {Token: ""}} {
		if _, err := receiver(t, s).Receive(http.Header{"X-Gitlab-Token": {""}, "X-Gitlab-Event": {"x"}}, body); !errors.Is(err, forge.ErrSignature) {
			t.Errorf("without a secret: %v", err)
		}
	}
	for _, bad := range []string{"whsec_", "whsec_AAAA", "AAAA", "whsec_!!"} {
		if _, err := gitlab.NewReceiver(gitlab.Secret{Signing: bad}); err == nil {
			t.Errorf("the key %q is taken", bad)
		}
	}
}

// A change that waits for its pipeline is told when that has ended, whichever kind of pipeline it is.
func TestEndedPipelinesStir(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(*fake.Settings){
		"of a branch": func(*fake.Settings) {}, "of a merge request": func(s *fake.Settings) { s.Merged = true },
		"of its merged result": func(s *fake.Settings) { s.Merged, s.Results = true, true },
	} {
		w := newWorld(t, fake.Options{})
		w.project.Set(func(s *fake.Settings) { s.MustSucceed, s.Jobs = true, []string{"test"}; set(s) })
		b := &inbox{receiver: receiver(t, gitlab.Secret{Token: "x"}), seen: map[string]bool{}}
		to := httptest.NewServer(b)
		defer to.Close()
		n := w.opened("topic")
		w.server.Settle()
		w.project.AddHook(fake.Hook{URL: to.URL, Token: "x"})
		ci := w.project.Pipelines()[0].ID
		w.project.Report(ci, "test", "running")
		w.server.Settle()
		w.server.Deliver(t.Context())
		if len(b.events) != 0 {
			t.Errorf("%s, while it runs: %q", name, b.events)
		}
		w.project.Report(ci, "test", "success")
		w.server.Settle()
		w.server.Deliver(t.Context())
		b.events = slices.DeleteFunc(b.events, func(e string) bool { return strings.HasPrefix(e, "look ") })
		want := fmt.Sprintf("queue.Stirred{0 %s}", w.project.Look(n).SHA)
		if name != "of a branch" {
			want = fmt.Sprintf("queue.Stirred{%d }", n)
		}
		if !slices.Equal(b.events, []string{want}) {
			t.Errorf("%s: %q, want %s", name, b.events, want)
		}
	}
}

// TestWebhookFixtures has all webhooks that the SDK was tested with be received.
func TestWebhookFixtures(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/xanzy/go-gitlab").Output()
	files, _ := filepath.Glob(filepath.Join(strings.TrimSpace(string(out)), "testdata", "webhooks", "*.json"))
	if err != nil || len(files) < 10 {
		t.Fatalf("the SDK's fixtures: %v, %v", files, err)
	}
	kinds := map[string]string{"merge_request": fake.MergeHook, "group_merge_request": fake.MergeHook, "service_merge_request": fake.MergeHook, "note_merge_request": fake.NoteHook,
		"note_commit": fake.NoteHook, "note_issue": fake.NoteHook, "note_snippet": fake.NoteHook, "push": fake.PushHook, "pipeline": fake.PipelineHook, "job": fake.JobHook, "build": fake.JobHook, "tag_push": "Tag Push Hook"}
	want := map[string]string{
		"merge_request": "[queue.Labeled]", "note_merge_request": "[queue.Commented]", "push": "[queue.MainMoved]", "pipeline": "[queue.Stirred look]",
	}
	r := receiver(t, gitlab.Secret{Token: "x"})
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		kind := kinds[name]
		if kind == "" {
			kind = name
		}
		d, err := r.Receive(http.Header{"X-Gitlab-Event": {kind}, "X-Gitlab-Token": {"x"}}, body)
		if err != nil && !errors.Is(err, forge.ErrIgnored) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var got []string
		for _, e := range d.Events {
			got = append(got, fmt.Sprintf("%T", e.Body))
		}
		for range d.CI.Look {
			got = append(got, "look")
		}
		if w, ok := want[name]; ok && fmt.Sprint(got) != w {
			t.Errorf("%s: %v, want %s", name, got, w)
		}
	}
}

func FuzzReceive(f *testing.F) {
	f.Add(fake.NoteHook, []byte(`{"object_attributes":{"id":7,"note":"/land","noteable_type":"MergeRequest"},"merge_request":{"iid":1},"user":{"username":"a"},"project":{"path_with_namespace":"o/r"}}`))
	f.Add(fake.MergeHook, []byte(`{"object_attributes":{"iid":1,"action":"update","oldrev":"x","last_commit":{"id":"y"}},"changes":{"labels":{"previous":[],"current":[{"title":"x"}]}},"project":{"path_with_namespace":"o/r"}}`))
	r, err := gitlab.NewReceiver(gitlab.Secret{Token: "x"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, kind string, body []byte) {
		d, err := r.Receive(http.Header{"X-Gitlab-Event": {kind}, "X-Gitlab-Token": {"x"}}, body)
		if err != nil {
			if !errors.Is(err, forge.ErrIgnored) && !errors.Is(err, forge.ErrMalformed) {
				t.Error(err)
			}
			return
		}
		ids := map[string]bool{}
		for _, e := range d.Events {
			if e.ID == "" || ids[e.ID] || e.Body == nil {
				t.Errorf("%+v", d)
			}
			ids[e.ID] = true
			if c, ok := e.Body.(queue.Commented); ok && (c.Number <= 0 || c.Author == "") {
				t.Errorf("%+v", c)
			}
		}
	})
}

// brief writes an event without its time, and whether it was found later.
func brief(b queue.Body) string {
	switch x := b.(type) {
	case queue.Commented:
		return fmt.Sprintf("%T{%d %s %s %s %v %s}", b, x.Number, x.Comment, x.Author, x.Body, x.Bot, x.Head)
	case queue.HeadMoved:
		return fmt.Sprintf("%T{%d %s %s}", b, x.Number, x.Head, x.By)
	case queue.Labeled:
		return fmt.Sprintf("%T{%d %s %s %v %v %v}", b, x.Number, x.Label, x.Actor, x.On, x.Bot, x.Assigned)
	}
	return fmt.Sprintf("%T%v", b, b)
}
