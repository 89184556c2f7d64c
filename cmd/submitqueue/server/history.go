package server

import (
	"context"
	"errors"

	"github.com/submitqueue/submitqueue/queue/history"
	"github.com/submitqueue/submitqueue/speculation"
)

// openHistory opens the folder of histories, if one is configured.
func (s *Stack) openHistory(context.Context) (err error) {
	if s.o.History == "" {
		return nil
	}
	if s.history, err = history.OpenFolder(s.o.History, s.o.Past.Age); err != nil {
		return err
	}
	s.closes = append(s.closes, s.history.Close)
	return nil
}

// observer sees each committed turn of a queue. The file gets the rows that the store
// has. A crash between the two writes may keep a row from the file; it is then only in
// the store.
func (s *Stack) observer(key string) func(speculation.Turn) {
	if s.history == nil {
		return s.o.Observer
	}
	return func(t speculation.Turn) {
		switch err := s.history.Append(key, s.o.Now(), t.Rows); {
		case errors.Is(err, history.ErrOld):
			s.o.Log.Warn("files of a history that are too old stay", "queue", key, "error", err)
		case err != nil:
			s.o.Log.Error("rows of a history cannot be written to its file; the store has them", "queue", key, "rows", len(t.Rows), "error", err)
		}
		if s.o.Observer != nil {
			s.o.Observer(t)
		}
	}
}
