package github_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/forgetest"
	"github.com/submitqueue/submitqueue/forge/github"
)

// scripted is a GitHub that answers as a test says, and hands out tokens.
type scripted func(*http.Request) *http.Response

func (s scripted) RoundTrip(r *http.Request) (*http.Response, error) {
	var resp *http.Response
	switch {
	case s == nil:
		<-r.Context().Done()
	case strings.HasSuffix(r.URL.Path, "/installation"):
		resp = answer(200, `{"id":7}`)
	case strings.HasSuffix(r.URL.Path, "/access_tokens"):
		resp = answer(201, `{"token":"t0ken","expires_at":"2099-01-01T00:00:00Z"}`)
	default:
		resp = s(r)
	}
	if resp == nil {
		return nil, io.ErrUnexpectedEOF
	}
	resp.Request = r
	return resp, nil
}

func answer(status int, body string, header ...string) *http.Response {
	h := http.Header{}
	for i := 0; i < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return &http.Response{StatusCode: status, Status: fmt.Sprint(status), Header: h, Body: io.NopCloser(strings.NewReader(body))}
}

func newScripted(t *testing.T, s scripted) *github.Forge {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	f, err := github.New(github.Options{BaseURL: "https://api.github.test/", AppID: 1, Owner: "o", Name: "r", Shared: github.NewShared(s, 0),
		PrivateKey: pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// Our credentials go to no other host, whatever an answer says.
func TestRedirectsStayAtTheHost(t *testing.T) {
	for _, status := range []int{301, 302, 303, 307, 308} {
		var elsewhere []string
		f := newScripted(t, func(r *http.Request) *http.Response {
			if r.URL.Host != "api.github.test" {
				elsewhere = append(elsewhere, fmt.Sprint(r.URL, " ", r.Header.Get("Authorization")))
				return answer(200, `{"name":"logs"}`)
			}
			return answer(status, "", "Location", "https://evil.test"+r.URL.Path)
		})
		if _, err := f.Protection(t.Context(), "logs"); err == nil {
			t.Errorf("%d: an answer from elsewhere is taken", status)
		}
		if _, err := f.Capabilities().CI.CIRuns(t.Context(), "x"); err == nil {
			t.Errorf("%d: an answer from elsewhere is taken", status)
		}
		if len(elsewhere) > 0 {
			t.Errorf("%d: asked elsewhere: %q", status, elsewhere)
		}
	}
}

// The address of a log is a credential by itself, and so is the code that stands
// for an App: neither is told in an error.
func TestErrorsTellNoAddressesThatAreSecrets(t *testing.T) {
	f := newScripted(t, func(r *http.Request) *http.Response {
		if r.URL.Host != "api.github.test" {
			return nil
		}
		return answer(302, "", "Location", "https://logs.test/7?sig=s3cret")
	})
	_, err := f.Capabilities().CI.CILog(t.Context(), forge.CIResult{ID: 7, Bound: true})
	if err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("a log: %v", err)
	}
	_, err = github.Register(t.Context(), "https://api.github.test/", "s3cret", scripted(func(*http.Request) *http.Response { return nil }))
	if err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("an App: %v", err)
	}
}

// While GitHub does not answer, those who show the limits, or tell us that
// something is new, do not wait for it: pages, turns and webhooks would.
func TestNobodyWaitsForAnInstallationThatIsLookedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newScripted(t, nil)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			_, err := f.Permission(ctx, "ann")
			ended <- err
		}()
		synctest.Wait()
		began := time.Now()
		f.Limits()
		f.Refresh()
		f.Reset()
		if took := time.Since(began); took > 0 {
			t.Errorf("they waited %v", took)
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

// A repository that was given to another owner is found by its id, although another
// one has its name by now, which the App reaches as well.
func TestTakenNameIsNotTheRepository(t *testing.T) {
	w := newWorld(t, forgetest.Options{})
	w.server.App.Install("o")
	place, err := w.forge.Locate(w.ctx, 0)
	w.must(err)
	w.must(w.repo.Rename("o", "globex/r"))
	w.server.App.Install("globex")
	if _, err := w.server.AddRepository("o", "r", "main"); err != nil {
		t.Fatal(err)
	}
	f := w.newForge()
	if found, err := f.Locate(w.ctx, place.ID); err != nil || found.ID != place.ID || found.Name != "globex/r" {
		t.Errorf("%+v, %v", found, err)
	}
	if remote, err := f.Remote(w.ctx); err != nil || !strings.HasSuffix(remote.URL, "/globex/r.git") {
		t.Errorf("%s, %v", remote.URL, err)
	}
}

// An answer that is cut off, or is somebody else's page, is asked for again: GitHub
// has said nothing by it.
func TestAnswersThatCannotBeReadAreTransient(t *testing.T) {
	for _, body := range []string{`{"permission":"wr`, `<html>sorry</html>`} {
		f := newScripted(t, func(*http.Request) *http.Response { return answer(200, body) })
		var transient *forge.Transient
		if _, err := f.Permission(t.Context(), "ann"); !errors.As(err, &transient) {
			t.Errorf("%s: %v", body, err)
		}
	}
}
