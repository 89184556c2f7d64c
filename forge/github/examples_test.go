package github_test

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/forgetest"
	"github.com/submitqueue/submitqueue/forge/forgetest/contract"
	"github.com/submitqueue/submitqueue/forge/github"
)

var stamps = regexp.MustCompile(`_at":\s*"(20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ)"`)

// newest is the newest time in a payload at which something happened: about when it
// was delivered.
func newest(payload []byte) (at time.Time) {
	for _, s := range stamps.FindAllSubmatch(payload, -1) {
		if x, err := time.Parse(time.RFC3339, string(s[1])); err == nil && x.After(at) {
			at = x
		}
	}
	return at
}

// TestWebhookExamples has all that GitHub has ever been recorded to send be
// received: nothing of it is malformed, and what we do not use is ignored.
func TestWebhookExamples(t *testing.T) {
	const secret = "the secret of the webhook"
	now := time.Time{}
	r := github.NewReceiverAt(secret, func() time.Time { return now })
	type count struct{ used, ignored int }
	counts := map[string]*count{}
	all := contract.Examples(t)
	for i, e := range all {
		if counts[e.Event] == nil {
			counts[e.Event] = &count{}
		}
		guid := fmt.Sprint("guid-", i)
		now = newest(e.Payload)
		d, err := r.Receive(forgetest.WebhookHeader(e.Event, guid, secret, e.Payload), e.Payload)
		switch {
		case errors.Is(err, forge.ErrIgnored):
			if counts[e.Event].ignored++; strings.Contains(err.Error(), "too long ago") {
				t.Errorf("%s, delivered at once, is taken for a replay: %v", e.Name, err)
			}
		case err != nil:
			t.Errorf("%s: %v", e.Name, err)
		case d.ID != guid || d.Kind != e.Event || d.Repository == "" && d.Account == "" && len(d.Repositories) == 0,
			len(d.Events) == 0 && d.CI.None(), len(d.Events) > 0 && (d.Events[0].ID == "" || d.Events[0].Body == nil):
			t.Errorf("%s: %+v", e.Name, d)
		default:
			counts[e.Event].used++
		}
		half := e.Payload[:len(e.Payload)/2]
		if _, err := r.Receive(forgetest.WebhookHeader(e.Event, guid, secret, half), half); !errors.Is(err, forge.ErrMalformed) {
			t.Errorf("half of %s: %v", e.Name, err)
		}
		if _, err := r.Receive(forgetest.WebhookHeader(e.Event, guid, "another secret", e.Payload), e.Payload); !errors.Is(err, forge.ErrSignature) {
			t.Errorf("%s with a wrong signature: %v", e.Name, err)
		}
	}
	var table strings.Builder
	ignored := []string{}
	for _, event := range slices.Sorted(maps.Keys(counts)) {
		if c := counts[event]; c.used > 0 {
			fmt.Fprintf(&table, "%-24s %3d used %3d ignored\n", event, c.used, c.ignored)
		} else {
			ignored = append(ignored, fmt.Sprintf("%s %d", event, c.ignored))
		}
	}
	t.Logf("%d examples of %d events\n%sonly ignored: %s", len(all), len(counts), table.String(), strings.Join(ignored, ", "))
	for _, event := range []string{"pull_request", "push"} {
		if c := counts[event]; c == nil || c.used == 0 {
			t.Errorf("no example of %s was used", event)
		}
	}
}
