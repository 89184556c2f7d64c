package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/submitqueue/submitqueue/queue"
)

// Pasts is a Source that has event archives.
type Pasts interface {
	// Rows returns rows of a queue after a place: see queue.Past.
	Rows(ctx context.Context, name, place string, max int) (rows []queue.Row, next string, err error)
	// Keep adds rows to a queue: see queue.Past.
	Keep(ctx context.Context, name string, rows []queue.Row) error
}

// Rows are a page of a queue's event archive, as they were stored.
type Rows struct {
	Queue string      `json:"queue"`
	Rows  []queue.Row `json:"rows"`
	Next  string      `json:"next"` // the place after them; where there are no more rows, the place that was asked for
}

// RowsCommand adds rows to a queue's event archive.
type RowsCommand struct {
	Queue string      `json:"queue,omitempty"`
	Rows  []queue.Row `json:"rows"`
}

// RowsKept says how many rows were added.
type RowsKept struct {
	Queue string `json:"queue"`
	Kept  int    `json:"kept"`
}

// Bounds of the rows of one answer and of one command. A row of a large repository names
// hundreds of targets, so their bytes are bounded, too.
const (
	RowsMost    = 200
	RowsBytes   = 8 << 20 // of an answer as JSON, but for one row that is larger
	rowsBody    = 16 << 20
	mostAtPlace = 64 // bytes
)

func (s *Handlers) rows(c echo.Context) error {
	q, past, err := s.pastOf(c.QueryParam("queue"))
	if err != nil {
		return err
	}
	most, place := RowsMost, c.QueryParam("place")
	if text := c.QueryParam("max"); text != "" {
		if most, err = strconv.Atoi(text); err != nil || most < 1 || most > RowsMost {
			return &Problem{http.StatusBadRequest, "max is a number from 1 to " + strconv.Itoa(RowsMost) + "."}
		}
	}
	if len(place) > mostAtPlace {
		return badPlace()
	}
	var rows []queue.Row
	var next string
	for {
		rows, next, err = past.Rows(c.Request().Context(), q.Name, place, most)
		if errors.Is(err, queue.ErrPlace) {
			return badPlace()
		}
		if err != nil {
			return s.pastAway(q.Name, err)
		}
		if len(rows) < 2 || most < 2 || sizeOf(rows) <= RowsBytes {
			break
		}
		most = min(most, len(rows)) / 2 // a client reads no answer of any size; the rest is behind next
	}
	if rows == nil {
		rows = []queue.Row{}
	}
	return answer(c, Rows{Queue: q.Name, Rows: rows, Next: next})
}

// sizeOf returns how many bytes rows take as JSON.
func sizeOf(rows []queue.Row) (n int) {
	for _, r := range rows {
		data, _ := json.Marshal(r) // an answer that cannot be made says so itself
		n += len(data)
	}
	return n
}

func badPlace() error {
	return &Problem{http.StatusBadRequest, "place is the `next` of an answer before, or is left out."}
}

// keepRows takes rows that another server, or this one at an earlier time, has exported.
// It drops fields that it does not know, as every reader of a history does.
func (s *Handlers) keepRows(c echo.Context) error {
	var cmd RowsCommand
	err := json.NewDecoder(http.MaxBytesReader(c.Response(), c.Request().Body, rowsBody)).Decode(&cmd)
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return &Problem{http.StatusRequestEntityTooLarge, fmt.Sprintf("The body is larger than %d MiB: send fewer rows at a time.", rowsBody>>20)}
	case err != nil:
		return &Problem{http.StatusBadRequest, "The body is not the JSON of rows: " + err.Error() + "."}
	}
	for i, r := range cmd.Rows {
		if err := r.Check(); err != nil || r.Kind() == "" {
			return &Problem{http.StatusBadRequest, fmt.Sprintf("Row %d is none that this server knows: %v.", i+1, err)}
		}
	}
	q, past, err := s.pastOf(cmd.Queue)
	if err != nil {
		return err
	}
	if err := past.Keep(c.Request().Context(), q.Name, cmd.Rows); err != nil {
		return s.pastAway(q.Name, err)
	}
	return answer(c, RowsKept{Queue: q.Name, Kept: len(cmd.Rows)})
}

func (s *Handlers) pastOf(name string) (Brief, Pasts, error) {
	q, err := s.name(name)
	if err != nil {
		return q, nil, err
	}
	past, ok := s.o.Source.(Pasts)
	if !ok {
		return q, nil, &Problem{http.StatusNotFound, "This server keeps no event archive."}
	}
	return q, past, nil
}

func (s *Handlers) pastAway(name string, err error) error {
	if errors.Is(err, ErrNotOwned) {
		return &Problem{http.StatusServiceUnavailable, "Another server owns this queue now, or none does yet. Ask that one, or try again in a moment."}
	}
	s.o.Log.Warn("the event archive cannot be reached", "queue", name, "error", err)
	return &Problem{http.StatusServiceUnavailable, "The event archive cannot be reached now. Try again in a moment; /readyz says what is wrong."}
}
