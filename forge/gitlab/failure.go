package gitlab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/xanzy/go-gitlab"

	"github.com/submitqueue/submitqueue/forge"
)

// passing are words by which GitLab says that a request may go through later, whatever
// the status of its answer.
var passing = []string{
	"too many pipelines created", "too many times", "try again later", "reference not found",
	"another update", "in progress", "temporarily", "due to load", "read-only gitlab instance",
}

// movedAway are GitLab's words when it refuses a write to a former path of a
// project.
const movedAway = "non get methods are not allowed for moved projects"

// failure turns an error of go-gitlab into the errors of the port. The error says what
// was being done and, where people can help, what to do.
func failure(ctx context.Context, doing string, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return fmt.Errorf("gitlab: %s: %w", doing, ctx.Err())
	}
	var (
		transient *forge.Transient
		response  *gitlab.ErrorResponse
		network   net.Error
		request   *url.Error
		syntax    *json.SyntaxError
	)
	wait := func(after time.Duration) error {
		return &forge.Transient{Err: fmt.Errorf("gitlab: %s: %w", doing, err), After: min(max(after, 0), longestPause)}
	}
	switch {
	case errors.As(err, &transient):
		return &forge.Transient{Err: fmt.Errorf("gitlab: %s: %w", doing, transient.Err), After: transient.After}
	case errors.Is(err, gitlab.ErrNotFound):
		return fmt.Errorf("gitlab: %s: %w", doing, forge.ErrNotFound)
	case errors.As(err, &response) && response.Response != nil:
		h, code := response.Response.Header, response.Response.StatusCode
		switch {
		case code == http.StatusTooManyRequests:
			return wait(after(h, unsaid))
		case code >= 500, code == http.StatusRequestTimeout, says(err, passing...):
			return wait(after(h, 0))
		case code == http.StatusMethodNotAllowed && says(err, movedAway), code/100 == 3:
			return wait(0) // it is named by its number after the next look
		case code == http.StatusUnauthorized:
			return fmt.Errorf("gitlab: %s: %w: %w; check that the token is right, has the scope api, and has not expired", doing, forge.ErrForbidden, err)
		case code == http.StatusForbidden:
			return fmt.Errorf("gitlab: %s: %w: %w; give the token's account the role of a maintainer in the project, and check that the project is not archived", doing, forge.ErrForbidden, err)
		}
	case errors.As(err, &network), errors.As(err, &request), errors.Is(err, io.ErrUnexpectedEOF), errors.As(err, &syntax):
		return wait(0)
	}
	return fmt.Errorf("gitlab: %s: %w", doing, err)
}

// says reports whether an answer has one of these words.
func says(err error, words ...string) bool {
	text := strings.ToLower(err.Error())
	for _, w := range words {
		if strings.Contains(text, w) {
			return true
		}
	}
	return false
}

// status returns the HTTP status of a refusal; 0: err is not a refusal.
func status(err error) int {
	response := (*gitlab.ErrorResponse)(nil)
	switch {
	case errors.Is(err, gitlab.ErrNotFound):
		return http.StatusNotFound
	case errors.As(err, &response) && response.Response != nil:
		return response.Response.StatusCode
	}
	return 0
}
