package github

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/bradleyfalzon/ghinstallation/v2"
	"github.com/google/go-github/v60/github"

	"github.com/submitqueue/submitqueue/forge"
)

// unsaid is how long to wait after a refusal for too many requests that names no
// time, as GitHub's documentation asks.
const unsaid = time.Minute

// appError marks a failure of a request that the App made as itself: there, 404
// is not about the thing asked for, but about us.
type appError struct{ error }

func (e appError) Unwrap() error { return e.error }

func asApp(err error) error { return appError{err} }

// failure turns an error of go-github into the errors of the port. The error says
// what was being done and, where people can help, what to do.
func failure(ctx context.Context, doing string, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return fmt.Errorf("github: %s: %w", doing, ctx.Err())
	}
	var transient *forge.Transient
	if errors.As(err, &transient) {
		return &forge.Transient{Err: fmt.Errorf("github: %s: %w", doing, transient.Err), After: transient.After}
	}
	if errors.Is(err, forge.ErrAway) || errors.Is(err, forge.ErrForbidden) || errors.Is(err, forge.ErrNotFound) {
		return fmt.Errorf("github: %s: %w", doing, err)
	}
	wait := func(after time.Duration) error {
		return &forge.Transient{Err: fmt.Errorf("github: %s: %w", doing, err), After: min(max(after, 0), longestPause)}
	}
	var (
		primary   *github.RateLimitError
		secondary *github.AbuseRateLimitError
		response  *github.ErrorResponse
		token     *ghinstallation.HTTPError
		network   net.Error
		request   *url.Error
		syntax    *json.SyntaxError
	)
	switch {
	case errors.As(err, &primary):
		return wait(time.Until(primary.Rate.Reset.Time))
	case errors.As(err, &secondary):
		if secondary.RetryAfter != nil {
			return wait(*secondary.RetryAfter)
		}
		return wait(unsaid)
	case errors.As(err, &response) && response.Response != nil:
		return byStatus(doing, response.Response, response.Message, err)
	case errors.As(err, &token) && token.Response != nil:
		return byStatus(doing, token.Response, "", err)
	case errors.As(err, &network), errors.As(err, &request):
		return wait(0)
	case errors.Is(err, io.ErrUnexpectedEOF), errors.As(err, &syntax): // the answer was cut off, or it is the page of a proxy in between
		return wait(0)
	}
	return fmt.Errorf("github: %s: %w", doing, err)
}

// unaddressed removes the address from an error of net/http, because the address
// itself is a credential; the host stays.
func unaddressed(err error) error {
	e := (*url.Error)(nil)
	if !errors.As(err, &e) {
		return err
	}
	host := "(address not shown)"
	if u, err := url.Parse(e.URL); err == nil {
		host = u.Host
	}
	return &url.Error{Op: e.Op, URL: host, Err: e.Err}
}

func byStatus(doing string, resp *http.Response, message string, err error) error {
	limited := resp.Header.Get("Retry-After") != "" || resp.Header.Get("X-RateLimit-Remaining") == "0" ||
		strings.Contains(message, "secondary rate limit")
	switch code := resp.StatusCode; {
	case code == http.StatusTooManyRequests, code == http.StatusForbidden && limited:
		return &forge.Transient{Err: fmt.Errorf("github: %s: %w", doing, err), After: after(resp.Header, unsaid)}
	case code >= 500, code == http.StatusRequestTimeout:
		return &forge.Transient{Err: fmt.Errorf("github: %s: %w", doing, err), After: after(resp.Header, 0)}
	case isApp(err) && (code == http.StatusUnauthorized || code == http.StatusNotFound && message == noIntegration):
		return fmt.Errorf("github: %s: %w: %w: %s", doing, forge.ErrAway, forge.ErrForbidden, unknownApp(code))
	case code == http.StatusUnauthorized, code == http.StatusForbidden, isApp(err) && code == http.StatusNotFound:
		return fmt.Errorf("github: %s: %w: %w; %s", doing, forge.ErrForbidden, err, advice(resp))
	case code == http.StatusNotFound, code == http.StatusGone:
		return fmt.Errorf("github: %s: %w: %w", doing, forge.ErrNotFound, err)
	}
	return fmt.Errorf("github: %s: %w", doing, err)
}

func isApp(err error) bool {
	var a appError
	return errors.As(err, &a)
}

// noIntegration is GitHub's answer to the credentials of a deleted App.
const noIntegration = "Integration not found"

// unknownApp says why GitHub does not know the App by its credentials, and what to
// do. Nothing is wrong with the request: it waits.
func unknownApp(code int) string {
	if code == http.StatusNotFound {
		return "the App was deleted at GitHub; make a new one, install it, and start the server with its credentials"
	}
	return "GitHub does not take the App's credentials; check the App's id, that its private key was not revoked, and this machine's clock, and start the server with the right ones"
}

// advice says what a person can do about a refusal.
func advice(resp *http.Response) string {
	if resp.StatusCode != http.StatusForbidden {
		return "check the App's id, its private key, this machine's clock, and that the App is installed on the repository"
	}
	if need := resp.Header.Get("X-Accepted-GitHub-Permissions"); need != "" {
		return "give the App the permission " + need + " and accept it on the installation"
	}
	return "check the App's permissions, and that they were accepted on the installation"
}

// after reads how long to wait from the headers of a refusal: longestPause at most,
// so that one absurd answer silences nobody for good.
func after(h http.Header, otherwise time.Duration) time.Duration {
	if text := h.Get("Retry-After"); text != "" {
		if n, err := strconv.Atoi(text); err == nil {
			return time.Duration(min(max(n, 0), int(longestPause/time.Second))) * time.Second
		}
		if at, err := http.ParseTime(text); err == nil {
			return min(max(time.Until(at), 0), longestPause)
		}
	}
	if h.Get("X-RateLimit-Remaining") == "0" {
		if n, err := strconv.ParseInt(h.Get("X-RateLimit-Reset"), 10, 64); err == nil {
			return min(max(time.Until(time.Unix(n, 0)), 0), longestPause)
		}
	}
	return otherwise
}
