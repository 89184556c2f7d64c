package server

import (
	"context"

	"github.com/submitqueue/submitqueue/queue/history"
	"github.com/submitqueue/submitqueue/speculation"
)

// openHistory opens the folder of histories, where one is wanted.
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

// observer sees each committed turn of a queue. The file gets what the store has; a row
// that a crash between the two has kept from it is in the store alone.
func (s *Stack) observer(key string) func(speculation.Turn) {
	if s.history == nil {
		return s.o.Observer
	}
	return func(t speculation.Turn) {
		if err := s.history.Append(key, s.o.Now(), t.Rows); err != nil {
			s.o.Log.Error("rows of a history cannot be written to its file; the store has them", "queue", key, "rows", len(t.Rows), "error", err)
		}
		if s.o.Observer != nil {
			s.o.Observer(t)
		}
	}
}
