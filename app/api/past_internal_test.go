package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/labstack/echo/v4"

	"github.com/submitqueue/submitqueue/queue"
)

// strangePlace is a source with one queue, whose store has never said the place that is asked for.
type strangePlace struct{ Source }

func (strangePlace) Queues() []string { return []string{"q"} }

func (strangePlace) Brief(string) (Brief, bool) { return Brief{}, true }

func (strangePlace) Rows(context.Context, string, string, int) ([]queue.Row, string, error) {
	return nil, "", fmt.Errorf("cursor: %w", queue.ErrPlace)
}

func (strangePlace) Keep(context.Context, string, []queue.Row) error { return nil }

// A reader that asks for rows behind a place of its own is told so: that the archive is away would
// have it ask for ever.
func TestPlaceThatNobodyHasSaid(t *testing.T) {
	s := &Handlers{o: Options{Source: strangePlace{}}}
	err := s.rows(echo.New().NewContext(httptest.NewRequest(http.MethodGet, "/api/rows?place=zzz", nil), httptest.NewRecorder()))
	if p := (&Problem{}); !errors.As(err, &p) || p.Status != http.StatusBadRequest {
		t.Errorf("%v", err)
	}
}
