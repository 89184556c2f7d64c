package app_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/forge/forgetest/contract"
	"github.com/submitqueue/submitqueue/workers"
)

// TestWebhookExamplesAreTaken sends a whole server all that GitHub has been
// recorded to send, as if it were of its own repository: each is taken and
// counted, and the queue goes on working.
func TestWebhookExamplesAreTaken(t *testing.T) {
	all := contract.Examples(t)
	h := newHub(t, hubOptions{workers: workers.NewInstant(4)})
	h.proven()
	var before, after int
	count := func(to *int) {
		res := must(http.Get("http://" + h.server.Addr() + "/metrics"))
		defer res.Body.Close()
		for line := range strings.Lines(string(must(io.ReadAll(res.Body)))) {
			if rest, ok := strings.CutPrefix(line, "submitqueue_webhooks_total{"); ok {
				var n float64
				_, value, _ := strings.Cut(rest, "} ")
				fmt.Sscan(value, &n)
				*to += int(n)
			}
		}
	}
	h.seen()
	count(&before)
	for i, e := range all {
		body := bytes.ReplaceAll(e.Payload, []byte(`"Codertocat/Hello-World"`), []byte(`"acme/shop"`))
		if status, answer := h.deliver(e.Event, fmt.Sprint("example-", i), hubSecret, body); status/100 != 2 {
			t.Errorf("%s: %d %s", e.Name, status, answer)
		}
	}
	count(&after)
	if after-before != len(all) {
		t.Errorf("%d of %d are counted", after-before, len(all))
	}
	h.seen()
	h.landed(h.land("topic", map[string]string{"a": "a\n"}))
}
