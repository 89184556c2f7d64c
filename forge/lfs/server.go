package lfs

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	batchSize   = 100 // contents in one request, as git-lfs asks for them
	batchAnswer = 16 << 20
	atOnce      = 4
	attempts    = 4 // of each request, while the server has trouble
	mediaType   = "application/vnd.git-lfs+json"
)

// ErrDenied means that a server has no such repository, or does not show it to us; many
// servers do not tell which.
var ErrDenied = errors.New("lfs: denied")

// Server is an LFS server, by the address to which /objects/batch is added.
type Server struct {
	URL    string
	Header http.Header // with our credentials, for the host of URL; may be nil
	Pause  time.Duration
}

// client follows redirects as far as Go does, and never from https to http. Go shows an
// Authorization to no other domain.
var client = &http.Client{CheckRedirect: func(r *http.Request, via []*http.Request) error {
	switch {
	case len(via) >= 10:
		return errors.New("too many redirects")
	case via[0].URL.Scheme == "https" && r.URL.Scheme != "https":
		return fmt.Errorf("it redirects to %.100s, which is not https", r.URL.Redacted())
	}
	return nil
}}

// object is one object in the answer to a batch.
type object struct {
	OID           string `json:"oid"`
	Size          int64  `json:"size"`
	Authenticated bool   `json:"authenticated"`
	Actions       struct {
		Download *struct {
			Href   string            `json:"href"`
			Header map[string]string `json:"header"`
		} `json:"download"`
	} `json:"actions"`
	Error *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

func (s Server) fetch(ctx context.Context, want []Pointer, put func(Pointer, io.Reader) error) error {
	for len(want) > 0 {
		n := min(batchSize, len(want))
		objects, err := s.batch(ctx, want[:n])
		if err != nil {
			return err
		}
		group, groupCtx := errgroup.WithContext(ctx)
		group.SetLimit(atOnce)
		for _, p := range want[:n] {
			group.Go(func() error { return s.download(groupCtx, p, objects[p.OID], put) })
		}
		if err := group.Wait(); err != nil {
			return err
		}
		want = want[n:]
	}
	return nil
}

// batch asks the server for the addresses of contents.
func (s Server) batch(ctx context.Context, want []Pointer) (map[string]object, error) {
	type asked struct {
		OID  string `json:"oid"`
		Size int64  `json:"size"`
	}
	question := struct {
		Operation string   `json:"operation"`
		Transfers []string `json:"transfers"`
		Objects   []asked  `json:"objects"`
		Hash      string   `json:"hash_algo"`
	}{Operation: "download", Transfers: []string{"basic"}, Hash: "sha256"}
	for _, p := range want {
		question.Objects = append(question.Objects, asked(p))
	}
	body, err := json.Marshal(question)
	if err != nil {
		return nil, err
	}
	var answer struct {
		Transfer string   `json:"transfer"`
		Objects  []object `json:"objects"`
	}
	header := http.Header{"Accept": {mediaType}, "Content-Type": {mediaType}}
	err = s.do(ctx, http.MethodPost, s.URL+"/objects/batch", s.ours(header), body, func(from io.Reader) error {
		text, err := io.ReadAll(io.LimitReader(from, batchAnswer))
		if err != nil {
			return err
		}
		if err := json.Unmarshal(text, &answer); err != nil {
			return fmt.Errorf("its answer cannot be read (%.100q)", text)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if answer.Transfer != "" && answer.Transfer != "basic" {
		return nil, fmt.Errorf("it wants to send by %.40q, and only basic is understood here", answer.Transfer)
	}
	found := map[string]object{}
	for _, o := range answer.Objects {
		found[o.OID] = o
	}
	return found, nil
}

// download fetches one content from the address that the server gives.
func (s Server) download(ctx context.Context, p Pointer, o object, put func(Pointer, io.Reader) error) error {
	if o.Error != nil {
		words := fmt.Sprintf("%.200s (%d)", o.Error.Message, o.Error.Code)
		if o.Error.Code == http.StatusNotFound || o.Error.Code == http.StatusGone {
			words += ": push it (git lfs push --all origin), or have the file name one that is there"
		}
		return &MissingError{Pointer: p, Words: words}
	}
	if o.Actions.Download == nil {
		return &MissingError{Pointer: p, Words: "the server does not say where it is"}
	}
	at, err := url.Parse(o.Actions.Download.Href)
	own, ownErr := url.Parse(s.URL)
	if err != nil || ownErr != nil || at.Host == "" || at.Scheme != "https" && at.Scheme != own.Scheme {
		return &MissingError{Pointer: p, Words: fmt.Sprintf("the server says that it is at %.80q, from where nothing is fetched", o.Actions.Download.Href)}
	}
	header := http.Header{}
	for name, value := range o.Actions.Download.Header {
		header.Set(name, value)
	}
	if !o.Authenticated && header.Get("Authorization") == "" && at.Scheme == own.Scheme && at.Host == own.Host {
		header = s.ours(header)
	}
	err = s.do(ctx, http.MethodGet, at.String(), header, nil, func(from io.Reader) error { return put(p, from) })
	if err != nil && !errors.As(err, new(*MissingError)) && ctx.Err() == nil {
		return &MissingError{Pointer: p, Words: err.Error()}
	}
	return err
}

// ours adds our credentials.
func (s Server) ours(header http.Header) http.Header {
	for name, values := range s.Header {
		header[http.CanonicalHeaderKey(name)] = values
	}
	return header
}

// trouble is a failure that may go away without our doing.
type trouble struct {
	err   error
	after time.Duration
}

func (t *trouble) Error() string { return t.err.Error() }
func (t *trouble) Unwrap() error { return t.err }

// do makes a request, repeats it up to attempts times while the server has trouble, and
// passes the answer to take.
func (s Server) do(ctx context.Context, method, at string, header http.Header, body []byte, take func(io.Reader) error) error {
	pause := s.Pause
	if pause == 0 {
		pause = time.Second
	}
	for attempt := 1; ; attempt++ {
		err := s.once(ctx, method, at, header, body, take)
		var t *trouble
		if ctx.Err() != nil || !errors.As(err, &t) || attempt == attempts {
			return err
		}
		timer := time.NewTimer(max(pause, min(t.after, time.Minute)))
		select {
		case <-timer.C:
			pause *= 3
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}

func (s Server) once(ctx context.Context, method, at string, header http.Header, body []byte, take func(io.Reader) error) error {
	r, err := http.NewRequestWithContext(ctx, method, at, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header = header.Clone()
	answer, err := client.Do(r)
	if err != nil {
		var failed *url.Error
		if errors.As(err, &failed) {
			err = failed.Err // without the address, which may hold a signature
		}
		if errors.As(err, new(*tls.CertificateVerificationError)) {
			return err
		}
		return &trouble{err: err}
	}
	defer answer.Body.Close()
	if answer.StatusCode == http.StatusOK {
		if err := take(answer.Body); err != nil {
			if errors.As(err, new(*MissingError)) {
				return err
			}
			return &trouble{err: err}
		}
		return nil
	}
	return failure(answer)
}

// failure returns the error for an answer other than 200. Its text includes the server's
// message.
func failure(answer *http.Response) error {
	text, _ := io.ReadAll(io.LimitReader(answer.Body, 4<<10))
	var said struct {
		Message string `json:"message"`
	}
	_ = json.Unmarshal(text, &said) // otherwise, there is no message
	err := fmt.Errorf("%s %.200s", answer.Status, said.Message)
	switch code := answer.StatusCode; {
	case code == http.StatusUnauthorized, code == http.StatusForbidden, code == http.StatusNotFound:
		return fmt.Errorf("%w: %s", ErrDenied, strings.TrimSpace(err.Error()))
	case code == http.StatusTooManyRequests, code >= 500 && code != http.StatusNotImplemented && code != 507 && code != 509:
		after, _ := strconv.Atoi(answer.Header.Get("Retry-After"))
		return &trouble{err: err, after: time.Duration(max(after, 0)) * time.Second}
	}
	return err
}
