package notify

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/app/texts"
)

// failure is why a message did not arrive. Neither its words nor its cause hold a secret.
type failure struct {
	words   string
	cause   string        // for the operator only: it may name hosts
	refused bool          // the receiver has answered that it does not want it
	after   time.Duration // how long the receiver asks us to wait; 0: it does not say
}

// Error implements error, for the operator: with the cause.
func (f failure) Error() string {
	if f.cause == "" {
		return f.words
	}
	return f.words + ": " + f.cause
}

// wire sends requests. It follows no redirect, and uses a new connection for each
// request: a kept connection may have died, and then it would not be known what has
// arrived.
func wire() http.RoundTripper {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxResponseHeaderBytes, t.DisableKeepAlives = 64<<10, true
	return t
}

// send sends one message, once. It returns nil once the receiver has taken it.
func (n *Notifier) send(ctx context.Context, t Target, m Message) *failure {
	body, header, err := t.sink.encode(m, t.secret, n.Now())
	if err != nil {
		return &failure{words: "the message cannot be encoded", cause: t.clean(err), refused: true}
	}
	ctx, cancel := context.WithTimeout(ctx, n.limit)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, t.url.String(), bytes.NewReader(body))
	if err != nil {
		return &failure{words: "the request cannot be made", cause: t.clean(err), refused: true}
	}
	for key, values := range header {
		r.Header[key] = values
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "submitqueue")
	if u := t.url.User; u != nil {
		password, _ := u.Password()
		r.SetBasicAuth(u.Username(), password)
	}
	answer, err := n.wire.RoundTrip(r)
	switch {
	case err != nil && ctx.Err() != nil:
		return &failure{words: fmt.Sprintf("no answer within %v", n.limit)}
	case err != nil:
		return &failure{words: "the receiver cannot be reached", cause: t.clean(err)}
	}
	answer.Body.Close() // only its status counts, and its body may never end
	return judge(answer)
}

// judge says what an answer means.
func judge(answer *http.Response) *failure {
	code := answer.StatusCode
	if code/100 == 2 {
		return nil
	}
	f := &failure{words: strings.TrimSpace(fmt.Sprintf("the receiver answers %d %s", code, http.StatusText(code)))}
	switch {
	case code/100 == 3:
		f.words += ", and redirects are not followed"
		f.refused = true
	case code == http.StatusRequestTimeout, code == http.StatusTooEarly, code == http.StatusTooManyRequests, code/100 == 5:
		if s, err := strconv.Atoi(answer.Header.Get("Retry-After")); err == nil && s > 0 {
			f.after = time.Duration(min(s, int(mostPause/time.Second))) * time.Second
		}
	default:
		f.refused = true
	}
	return f
}

// clean returns an error's words without the secrets of the target.
func (t Target) clean(err error) string {
	text := err.Error()
	secrets := []string{t.url.String(), t.url.RequestURI(), t.url.EscapedPath(), t.url.Path, t.url.RawQuery, string(t.secret)}
	if u := t.url.User; u != nil {
		password, _ := u.Password()
		secrets = append(secrets, u.String(), u.Username(), password)
	}
	for _, s := range secrets {
		if len(s) > 3 {
			text = strings.ReplaceAll(text, s, "…")
		}
	}
	return texts.OneLine(text, 200)
}
