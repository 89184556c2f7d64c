package conform

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
)

const marker = "<!-- submitqueue:conform -->"

// hostile are texts that people and programs write into titles, descriptions, names and
// logs: an adapter must neither change nor obey them.
var hostile = []string{
	"<script>alert(1)</script> --> <!-- submitqueue:conform -->",
	"`rm -rf /` $(touch x) ; | & ' \" \\ %s %00",
	"@everyone /land #1 [a](javascript:b)",
	"ünïcödé 漢字 \u202e reversed 🚢",
}

// branches are names that git accepts, but that a shell, a URL or an option parser
// would misread.
var branches = []string{"-feature;x", "a$(touch${IFS}x)", "ünï/漢字", "a#b%20c&d+e", "refs/heads/x", strings.Repeat("l", 150)}

func pullRequest(t *testing.T, h Host) {
	n, head := h.opened("topic")
	pr := h.pull(t, n)
	if pr.Number != n || pr.Source != "topic" || pr.Base != h.Base || pr.Head != head || pr.Author != h.Author ||
		!pr.Open || pr.Merged || pr.Draft || pr.Fork || pr.HeadRef == "" || pr.Title == "" {
		t.Errorf("opened with head %s by %s: %+v", head, h.Author, pr)
	}
	next := h.People.Push("topic")
	for _, f := range []forge.Forge{h.Forge, h.Again()} {
		if pr, err := f.PullRequest(t.Context(), n); err != nil || pr.Head != next || !pr.Open {
			t.Errorf("pushed to: %+v, %v; want head %s", pr, err, next)
		}
	}
	other, last := h.opened("other")
	h.People.Close(other)
	if pr := h.pull(t, other); pr.Open || pr.Merged || pr.Head != last {
		t.Errorf("closed at %s: %+v", last, pr)
	}
	h.People.Delete("other")
	if pr := h.pull(t, other); pr.Open || pr.Number != other {
		t.Errorf("closed, and without its branch: %+v", pr)
	}
	for _, number := range []int{nowhere, 0, -1} {
		_, err := h.Forge.PullRequest(t.Context(), number)
		mustBe(t, fmt.Sprint("pull request ", number), err, forge.ErrNotFound)
	}
}

func hostilePullRequests(t *testing.T, h Host) {
	for i, branch := range branches {
		text := hostile[i%len(hostile)]
		head := h.People.Push(branch)
		n := h.People.Open(branch, h.Base, text, text+"\n"+marker)
		pr := h.pull(t, n)
		if pr.Source != branch || pr.Head != head || !pr.Open {
			t.Errorf("branch %q at %s: %+v", branch, head, pr)
		}
		if h.Titled && (pr.Title != text || pr.Body != text+"\n"+marker) {
			t.Errorf("title %q is read as %q, its body as %q", text, pr.Title, pr.Body)
		}
	}
}

func approvals(t *testing.T, h Host) {
	n, _ := h.opened("topic")
	if !h.People.Approve(n) {
		return
	}
	if pr := h.pull(t, n); len(pr.ApprovedBy) != 1 {
		t.Errorf("approved: %v", pr.ApprovedBy)
	}
	h.People.Push("topic")
	if pr := h.pull(t, n); len(pr.ApprovedBy) != 0 {
		t.Errorf("the new head was approved by nobody, and by %v, it is said", pr.ApprovedBy)
	}
}

func permission(t *testing.T, h Host) {
	for user, want := range map[string]forge.Permission{"nobody-knows-me": h.Stranger, "../../../user": h.Stranger, "a b?c#d": h.Stranger, hostile[1]: h.Stranger} {
		if p, err := h.Forge.Permission(t.Context(), user); err != nil || p != want {
			t.Errorf("user %q has permission %v, %v; want %v", user, p, err, want)
		}
	}
	if p, err := h.Forge.Permission(t.Context(), h.Author); err != nil || p < forge.PermissionWrite {
		t.Errorf("%s has permission %v, %v", h.Author, p, err)
	}
}

func comment(t *testing.T, h Host) {
	n, _ := h.opened("topic")
	say := func(f forge.Forge, body string) {
		t.Helper()
		for range 2 {
			mustNot(t, "commenting", f.Comment(t.Context(), n, marker, marker+"\n"+body))
		}
		if got := h.Seen.Comments(n); len(got) != 1 || got[0] != marker+"\n"+body {
			t.Errorf("people see %q, want once %q", got, body)
		}
	}
	say(h.Forge, "first")
	say(h.Forge, "second")
	say(h.Again(), "after a restart")
	for _, text := range hostile {
		say(h.Forge, text)
	}
	say(h.Forge, strings.Repeat("long ", 12_000))
	mustBe(t, "a comment on no pull request", h.Forge.Comment(t.Context(), nowhere, marker, marker), forge.ErrNotFound)
}

func checkRun(t *testing.T, h Host) {
	_, head := h.opened("topic")
	say := func(f forge.Forge, state forge.CheckState, title string) {
		t.Helper()
		for range 2 {
			mustNot(t, "checking", f.Check(t.Context(), forge.Check{Name: "conform", Head: head, ExternalID: "x", State: state, Title: title, Summary: title}))
		}
		if got := h.Seen.Checks(head, "conform"); !slices.Equal(got, []forge.CheckState{state}) {
			t.Errorf("people see %q, want once %s", got, state)
		}
	}
	say(h.Forge, forge.CheckQueued, "waits")
	say(h.Forge, forge.CheckRunning, hostile[0])
	say(h.Again(), forge.CheckRunning, hostile[1])
	say(h.Again(), forge.CheckFailed, hostile[2])
	// On a commit without a pull request, the check is shown, or there is no place to show
	// it.
	if err := h.Forge.Check(t.Context(), forge.Check{Name: "conform", Head: unknown, ExternalID: "y", State: forge.CheckPassed, Title: "t"}); err != nil {
		mustBe(t, "a check of an unknown commit", err, forge.ErrNotFound)
	}
}

func protection(t *testing.T, h Host) {
	p, err := h.Forge.Protection(t.Context(), h.Base)
	if err != nil || !p.MayPush {
		t.Errorf("the base, on which there are no rules: %+v, %v", p, err)
	}
	for _, branch := range append(branches, "not-there") {
		if _, err := h.Forge.Protection(t.Context(), branch); err != nil {
			mustBe(t, "the protection of a branch that is not there", err, forge.ErrNotFound)
		}
	}
}

func remote(t *testing.T, h Host) {
	n, head := h.opened("topic")
	pr := h.pull(t, n)
	for _, f := range []forge.Forge{h.Forge, h.Again()} {
		r, err := f.Remote(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if u, err := url.Parse(r.URL); err != nil || u.User != nil {
			t.Errorf("%q has credentials, which would be in logs", r.URL)
		}
		listed := git(t, r, "ls-remote", r.URL, pr.HeadRef)
		if !strings.Contains(listed, string(head)) {
			t.Errorf("git finds %q at %s, want %s", listed, pr.HeadRef, head)
		}
	}
}

// git runs git with a remote's credentials.
func git(t *testing.T, r forge.Remote, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "GIT_TERMINAL_PROMPT=0", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		fmt.Sprintf("GIT_CONFIG_COUNT=%d", len(r.Header)))
	for i, header := range r.Header {
		cmd.Env = append(cmd.Env, fmt.Sprintf("GIT_CONFIG_KEY_%d=http.extraHeader", i), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, header))
	}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, errs.String())
	}
	return out.String()
}

func missed(t *testing.T, h Host) {
	since := time.Now().Add(-time.Hour)
	n, head := h.opened("topic")
	gone, _ := h.opened("gone")
	h.People.Close(gone)
	h.People.Ask(n, queue.PlainLand)
	commands := func(f forge.Forge) (ids []string) {
		t.Helper()
		events, err := f.Missed(t.Context(), since, []int{n, gone})
		if err != nil {
			t.Fatal(err)
		}
		at, closed := queue.CommitID(""), false
		seen := map[string]bool{}
		for _, e := range events {
			if e.ID == "" || seen[e.ID] {
				t.Errorf("the id %q is given twice, or empty: an event is known by it", e.ID)
			}
			seen[e.ID] = true
			switch b := e.Body.(type) {
			case queue.Commented:
				if b.Number == n && b.Body == queue.PlainLand && b.Author == h.Author {
					ids = append(ids, e.ID)
				}
			case queue.HeadMoved:
				if b.Number == n {
					at = b.Head
				}
			case queue.Closed:
				closed = closed || b.Number == gone && !b.Merged
			}
		}
		if at != head || !closed {
			t.Errorf("of an open pull request at %s, head %q is told; of a closed one, that: %v", head, at, closed)
		}
		return ids
	}
	first := commands(h.Forge)
	if len(first) != 1 {
		t.Errorf("the command was given once, and comes as %q", first)
	}
	if again, after := commands(h.Forge), commands(h.Again()); !slices.Equal(again, first) || !slices.Equal(after, first) {
		t.Errorf("the same command comes under other ids: %q, %q, after a restart %q", first, again, after)
	}
	events, err := h.Forge.Missed(t.Context(), since, []int{nowhere, n})
	told := func(want func(queue.Body) bool) bool {
		return slices.ContainsFunc(events, func(e queue.Event) bool { return want(e.Body) })
	}
	if err != nil || !told(func(b queue.Body) bool { return b == queue.Closed{Number: nowhere} }) ||
		!told(func(b queue.Body) bool { return b == queue.HeadMoved{Number: n, Head: head} }) {
		t.Errorf("one pull request is gone, and is not told as closed, or the other is not told: %+v, %v", events, err)
	}
}

func transient(t *testing.T, h Host) {
	n, head := h.opened("topic")
	for _, v := range h.verbs(n, head) {
		f := h.Again() // it remembers no answer
		h.Break()
		err := v.do(t.Context(), f)
		if found := (*forge.Transient)(nil); !errors.As(err, &found) {
			t.Errorf("%s, of a host that fails: %v, which is not transient", v.name, err)
		}
		if err := v.do(t.Context(), f); err != nil {
			t.Errorf("%s, tried again: %v", v.name, err)
		}
	}
}

func away(t *testing.T, h Host) {
	n, head := h.opened("topic")
	h.Away(true)
	for _, v := range h.verbs(n, head) {
		if err := v.do(t.Context(), h.Again()); err == nil {
			t.Errorf("%s works without access", v.name)
		}
	}
	f := h.Again()
	if l := f.Capabilities().Locator; l != nil {
		_, err := l.Locate(t.Context(), 0)
		mustBe(t, "finding the repository without access", err, forge.ErrAway)
	}
	h.Away(false)
	if a := f.Capabilities().Access; a != nil {
		a.Reset() // as the service does when a webhook tells of it
	}
	for _, v := range h.verbs(n, head) {
		mustNot(t, v.name+", once there is access again", v.do(t.Context(), f))
	}
}
