package gitlab

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Hook is a webhook of a project.
type Hook struct {
	URL     string
	Token   string // sent as X-Gitlab-Token
	Signing string // "whsec_" and base64 of 32 bytes; empty: it is not signed
	Events  []string
	Name    string
	NoTLS   bool   // certificates are not checked
	Filter  string // the branches that it is told of
}

// hook is a webhook with its state and deliveries.
type hook struct {
	id int
	Hook
	failures  int
	until     time.Time // switched off until then
	permanent bool
	deliverd  []delivery
}

type delivery struct {
	id     int
	key    string
	kind   string
	body   []byte
	status int
	at     time.Time
}

// letter is one webhook on its way.
type letter struct {
	hook *hook
	key  string // Idempotency-Key: the same when it is sent again
	kind string
	body []byte
}

// The kinds of webhooks, by the name of their header.
const (
	PushHook     = "Push Hook"
	MergeHook    = "Merge Request Hook"
	NoteHook     = "Note Hook"
	PipelineHook = "Pipeline Hook"
	JobHook      = "Job Hook"
)

// After the fourth failure in a row a hook is off for a minute, and for twice as long
// after each further one; after the fortieth, it is off for good.
const (
	failuresToPause = 4
	failuresToStop  = 40
	firstPause      = time.Minute
	longestPause    = 24 * time.Hour
)

// AddHook adds a webhook for all events, and returns its number.
func (p *Project) AddHook(h Hook) int {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	return p.addHook(h).id
}

func (p *Project) addHook(h Hook) *hook {
	x := &hook{id: p.s.nextID(), Hook: h}
	p.hooks = append(p.hooks, x)
	return x
}

// alert returns the alert_status that GitLab shows for a hook.
func (h *hook) alert(now time.Time) string {
	switch {
	case h.permanent:
		return "disabled"
	case h.until.After(now):
		return "temporarily_disabled"
	}
	return "executable"
}

// HookStatus returns "executable", "temporarily_disabled" or "disabled".
func (p *Project) HookStatus(id int) string {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	return p.hook(id).alert(p.s.now())
}

func (p *Project) hook(id int) *hook {
	for _, h := range p.hooks {
		if h.id == id {
			return h
		}
	}
	return nil
}

// send queues a webhook for each hook of the project; a hook that is off loses it.
func (p *Project) send(kind string, payload obj) {
	body := must2(json.Marshal(payload))
	for _, h := range p.listening() {
		if h.alert(p.s.now()) != "executable" || len(h.Events) > 0 && !slices.Contains(h.Events, kind) {
			continue
		}
		if p.s.outage.losesHook() {
			continue
		}
		p.s.letters = append(p.s.letters, &letter{h, fmt.Sprintf("key-%d", p.s.nextID()), kind, body})
	}
}

// Letters lists the kinds of the webhooks that wait to be sent.
func (s *Server) Letters() (kinds []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.letters {
		kinds = append(kinds, l.kind)
	}
	return kinds
}

// LoseHooks loses all webhooks that wait to be sent.
func (s *Server) LoseHooks() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.letters = nil
}

// RepeatHooks makes each waiting webhook be sent twice, as after a crash.
func (s *Server) RepeatHooks() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.letters = append(s.letters, slices.Clone(s.letters)...)
}

// Deliver sends the waiting webhooks, each once, in an order that the seed chooses. It
// returns how many arrived.
func (s *Server) Deliver(ctx context.Context) (arrived int) {
	s.mu.Lock()
	letters := s.letters
	s.letters = nil
	s.rng.Shuffle(len(letters), func(i, j int) { letters[i], letters[j] = letters[j], letters[i] })
	s.mu.Unlock()
	for _, l := range letters {
		if s.sendOne(ctx, l) {
			arrived++
		}
	}
	return arrived
}

// sendOne sends a webhook once: failures are counted, and the webhook is not sent
// again.
func (s *Server) sendOne(ctx context.Context, l *letter) bool {
	s.mu.Lock()
	now := s.now()
	url, header := l.hook.URL, l.header(s.url, s.nextID(), now)
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	status := 0
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(l.body))
	if err == nil {
		req.Header = header
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<20))
			resp.Body.Close()
			status = resp.StatusCode
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	h := l.hook
	h.deliverd = append(h.deliverd, delivery{s.nextID(), l.key, l.kind, l.body, status, now})
	if status/100 == 2 || status/100 == 3 {
		h.failures, h.until, h.permanent = 0, time.Time{}, false
		return true
	}
	h.failures++
	if h.failures >= failuresToStop {
		h.permanent = true
	} else if h.failures >= failuresToPause {
		h.until = now.Add(min(firstPause<<min(h.failures-failuresToPause, 20), longestPause))
	}
	return false
}

func (l *letter) header(instance string, uuid int, now time.Time) http.Header {
	h := http.Header{"Content-Type": {"application/json"}, "X-Gitlab-Event": {l.kind}, "X-Gitlab-Instance": {instance},
		"X-Gitlab-Event-Uuid": {fmt.Sprintf("uuid-%d", uuid)}, "Idempotency-Key": {l.key}, "User-Agent": {"GitLab/19.0"}}
	if l.hook.Token != "" {
		h.Set("X-Gitlab-Token", l.hook.Token)
	}
	if l.hook.Signing != "" {
		Sign(h, l.hook.Signing, l.key, now, l.body)
	}
	return h
}

// Sign adds the headers of a signed webhook.
func Sign(h http.Header, signing, id string, at time.Time, body []byte) {
	key, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(signing, "whsec_"))
	stamp := strconv.FormatInt(at.Unix(), 10)
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.%s", id, stamp, body)
	h.Set("Webhook-Id", id)
	h.Set("Webhook-Timestamp", stamp)
	h.Set("Webhook-Signature", "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
}
