package gitlab

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/forge"
)

// Secret is the secret by which webhooks are verified.
type Secret struct {
	// Signing is the key of signed webhooks: "whsec_" and base64 of 32 bytes. With it,
	// webhooks without a signature are refused, whatever their token.
	Signing string
	// Token is the text that each webhook carries, for instances that do not sign.
	Token string
}

// replayWindow is how old a signed webhook may be: shorter than the time for which the
// inbox remembers the deliveries that it has seen.
const replayWindow = 80 * time.Hour

// keyPrefix is the beginning of a signing key.
const keyPrefix = "whsec_"

// receiver reads the webhooks of GitLab.
type receiver struct {
	key   []byte // nil: webhooks are not signed
	token [sha256.Size]byte
	open  bool // there is a token, and no key
	now   func() time.Time

	account string // assigning this account asks to land; "": none does
}

var _ forge.Receiver = receiver{}

// NewReceiver returns a receiver of GitLab's webhooks. With an empty secret, no webhook
// is accepted. The caller must limit the size of a body.
func NewReceiver(s Secret) (forge.Receiver, error) { return NewReceiverAt(s, "", time.Now) }

// NewReceiverOf is NewReceiver for a server that acts as an account: assigning a merge
// request to that account asks to land it.
func NewReceiverOf(s Secret, account string) (forge.Receiver, error) {
	return NewReceiverAt(s, account, time.Now)
}

// NewReceiverAt is NewReceiverOf with a given clock.
func NewReceiverAt(s Secret, account string, now func() time.Time) (forge.Receiver, error) {
	r := receiver{now: now, account: account}
	if s.Signing != "" {
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(s.Signing, keyPrefix))
		if err != nil || !strings.HasPrefix(s.Signing, keyPrefix) || len(key) < 24 {
			return nil, fmt.Errorf("gitlab: the signing key of the webhook is not %q and base64 of 32 bytes; copy it from the webhook's page again", keyPrefix)
		}
		r.key = key
	} else if s.Token != "" {
		r.token, r.open = sha256.Sum256([]byte(s.Token)), true
	}
	return r, nil
}

// Verify implements forge.Receiver.
func (r receiver) Verify(h http.Header) (io.Writer, func() error, error) {
	if r.key == nil {
		given := sha256.Sum256([]byte(h.Get("X-Gitlab-Token")))
		if !r.open || subtle.ConstantTimeCompare(given[:], r.token[:]) != 1 {
			return nil, nil, forge.ErrSignature
		}
		return io.Discard, func() error { return nil }, nil
	}
	id, at := h.Get("Webhook-Id"), h.Get("Webhook-Timestamp")
	seconds, err := strconv.ParseInt(at, 10, 64)
	if err != nil || id == "" {
		return nil, nil, forge.ErrSignature
	}
	if age := r.now().Sub(time.Unix(seconds, 0)); age > replayWindow || age < -replayWindow {
		return nil, nil, forge.ErrSignature
	}
	var given [][]byte
	for one := range strings.FieldsSeq(h.Get("Webhook-Signature")) { // of several keys, while one is exchanged
		version, text, _ := strings.Cut(one, ",")
		if sum, err := base64.StdEncoding.DecodeString(text); version == "v1" && err == nil && len(sum) == sha256.Size {
			given = append(given, sum)
		}
	}
	if len(given) == 0 {
		return nil, nil, forge.ErrSignature
	}
	mac := hmac.New(sha256.New, r.key)
	fmt.Fprintf(mac, "%s.%s.", id, at)
	return mac, func() error {
		want := mac.Sum(nil)
		for _, sum := range given {
			if hmac.Equal(sum, want) {
				return nil
			}
		}
		return forge.ErrSignature
	}, nil
}

// Receive implements forge.Receiver.
func (r receiver) Receive(h http.Header, body []byte) (forge.Delivery, error) {
	mac, right, err := r.Verify(h)
	if err != nil {
		return forge.Delivery{}, err
	}
	_, _ = mac.Write(body) // a hash takes all
	if err := right(); err != nil {
		return forge.Delivery{}, err
	}
	d := forge.Delivery{ID: r.delivery(h, body), Kind: h.Get("X-Gitlab-Event")}
	if d.Kind == "" {
		return d, fmt.Errorf("%w: X-Gitlab-Event is missing", forge.ErrMalformed)
	}
	var p payload
	if err := json.Unmarshal(body, &p); err != nil {
		return d, fmt.Errorf("%w: %w", forge.ErrMalformed, err)
	}
	d.Repository, d.RepositoryID = p.Project.Path, p.Project.ID
	d.Events, d.CI, err = p.events(d.Kind, d.ID, r.account)
	if err != nil {
		return d, err
	}
	if d.Repository == "" {
		return d, fmt.Errorf("%w: no project", forge.ErrIgnored) // job hooks of old versions; the pipeline's hook tells the same
	}
	return d, nil
}

// delivery returns an id that stays the same when a webhook is delivered again.
// X-Gitlab-Event-UUID does not stay the same. Unsigned headers are not trusted: with a
// key, the id is the signed one.
func (r receiver) delivery(h http.Header, body []byte) string {
	if r.key != nil {
		return h.Get("Webhook-Id")
	}
	if key := h.Get("Idempotency-Key"); key != "" {
		return key
	}
	sum := sha256.Sum256(body)
	return "body-" + hex.EncodeToString(sum[:])
}
