package forgetest

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"
)

// Delivery is one attempt to deliver a webhook.
type Delivery struct {
	ID         int64
	GUID       string // the same for each attempt
	Event      string
	Action     string
	Redelivery bool
	StatusCode int    // 0: no answer
	Status     string // GitHub's word: "OK", or what went wrong
	Payload    []byte

	repo int64
	at   time.Time
	took time.Duration
}

type hooks struct {
	url, secret string
	wake        chan struct{}
	queue       []*Delivery // to be sent, in order
	busy        bool        // one is being sent
	held        bool
	drop        int
	double      int
	log         []*Delivery // sent or lost, oldest first
}

// SetWebhook sets the address and the secret of webhooks from now on.
func (s *Server) SetWebhook(url, secret string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hooks.url, s.hooks.secret = url, secret
}

// Ping sends the event that GitHub sends when a webhook is set up.
func (s *Server) Ping() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queueHook("ping", obj{"zen": "Keep it logically awesome.", "hook_id": 1, "hook": obj{
		"type": "App", "id": 1, "name": "web", "active": true, "events": []string{"*"}, "app_id": appID,
		"config": obj{"content_type": "json", "insecure_ssl": "0", "url": s.hooks.url}, "created_at": founded, "updated_at": founded,
	}}, 0)
}

// HoldWebhooks keeps webhooks back until ReleaseWebhooks.
func (s *Server) HoldWebhooks() { s.setHeld(true) }

// ReleaseWebhooks sends the webhooks that were held back, in their order.
func (s *Server) ReleaseWebhooks() { s.setHeld(false) }

func (s *Server) setHeld(held bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hooks.held = held
	s.hooks.poke()
}

// ShuffleWebhooks puts the webhooks that are held back into another order.
func (s *Server) ShuffleWebhooks(r *rand.Rand) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.hooks.queue
	r.Shuffle(len(q), func(i, j int) { q[i], q[j] = q[j], q[i] })
}

// DropWebhooks loses the next n webhooks: they appear in the log as failed and are
// sent only on request.
func (s *Server) DropWebhooks(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hooks.drop = n
}

// DuplicateWebhooks sends each of the next n webhooks twice.
func (s *Server) DuplicateWebhooks(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hooks.double = n
}

// Deliveries lists the attempts to deliver webhooks, oldest first.
func (s *Server) Deliveries() []Delivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []Delivery
	for _, d := range s.hooks.log {
		list = append(list, *d)
	}
	return list
}

// WaitDelivered returns when every webhook that is not held back was sent.
func (s *Server) WaitDelivered(ctx context.Context) error {
	return s.wait(ctx, func() bool {
		return !s.hooks.busy && (s.hooks.held || len(s.hooks.queue) == 0)
	})
}

// emit queues a webhook about the repository. The caller holds s.mu.
func (r *shapes) emit(u *user, event string, body obj) {
	if r.repo.s.hooks.url == "" {
		return
	}
	in := r.repo.installation()
	if in == nil || !in.suspended.IsZero() {
		return
	}
	body["repository"], body["sender"] = r.json(), u.json()
	body["installation"] = obj{"id": in.id, "node_id": "MDIz"}
	r.repo.s.queueHook(event, body, r.repo.id)
}

func (s *Server) queueHook(event string, body obj, repo int64) {
	if s.hooks.url == "" || s.App.deleted {
		return
	}
	payload, err := json.Marshal(body)
	if err != nil {
		panic("forgetest: " + err.Error())
	}
	action, _ := body["action"].(string)
	id := s.nextID()
	d := &Delivery{
		ID: id, GUID: fmt.Sprintf("%08x-0000-4000-8000-%012x", id, id),
		Event: event, Action: action, Payload: payload, repo: repo,
	}
	if s.hooks.drop > 0 || s.outage.losesHook() {
		s.hooks.drop = max(0, s.hooks.drop-1)
		d.Status, d.at = "lost", s.now()
		s.hooks.log = append(s.hooks.log, d)
		return
	}
	s.hooks.queue = append(s.hooks.queue, d)
	if s.hooks.double > 0 {
		s.hooks.double--
		s.again(d)
	}
	s.hooks.poke()
}

// again queues one more attempt of a delivery.
func (s *Server) again(d *Delivery) {
	s.hooks.queue = append(s.hooks.queue, &Delivery{
		ID: s.nextID(), GUID: d.GUID, Event: d.Event, Action: d.Action, Payload: d.Payload,
		Redelivery: true, repo: d.repo,
	})
	s.hooks.poke()
}

func (h *hooks) poke() {
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// deliver sends webhooks one after another until ctx ends.
func (s *Server) deliver(ctx context.Context) {
	for {
		s.mu.Lock()
		var d *Delivery
		if len(s.hooks.queue) > 0 && !s.hooks.held {
			d, s.hooks.queue = s.hooks.queue[0], s.hooks.queue[1:]
			s.hooks.busy = true
		}
		url, secret := s.hooks.url, s.hooks.secret
		s.mu.Unlock()
		if d == nil {
			select {
			case <-s.hooks.wake:
				continue
			case <-ctx.Done():
				return
			}
		}
		if s.opts.Judge != nil && !d.Redelivery {
			s.opts.Judge.Webhook(d.Event, d.Action, d.Payload)
		}
		start := time.Now()
		code, status := send(ctx, d, url, secret)
		s.mu.Lock()
		d.StatusCode, d.Status, d.at, d.took = code, status, s.now(), time.Since(start)
		s.hooks.log = append(s.hooks.log, d)
		s.hooks.busy = false
		s.touch()
		s.mu.Unlock()
	}
}

func send(ctx context.Context, d *Delivery, url, secret string) (code int, status string) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second) // GitHub's patience
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(d.Payload))
	if err != nil {
		return 0, err.Error()
	}
	req.Header = WebhookHeader(d.Event, d.GUID, secret, d.Payload)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "failed to connect to host"
	}
	resp.Body.Close()
	if resp.StatusCode/100 == 2 {
		return resp.StatusCode, "OK"
	}
	return resp.StatusCode, "Invalid HTTP Response: " + resp.Status
}

// WebhookHeader makes the headers that GitHub sends with a webhook, signed with
// secret unless that is empty.
func WebhookHeader(event, guid, secret string, body []byte) http.Header {
	h := http.Header{}
	h.Set("Content-Type", "application/json")
	h.Set("User-Agent", "GitHub-Hookshot/forgetest")
	h.Set("X-GitHub-Event", event)
	h.Set("X-GitHub-Delivery", guid)
	h.Set("X-GitHub-Hook-ID", "1")
	h.Set("X-GitHub-Hook-Installation-Target-Type", "integration")
	h.Set("X-GitHub-Hook-Installation-Target-ID", fmt.Sprint(appID))
	if secret != "" {
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write(body)
		h.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	}
	return h
}
