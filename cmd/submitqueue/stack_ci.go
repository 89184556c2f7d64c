package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/workers"
	"github.com/submitqueue/submitqueue/workers/forgeci"
)

// controller returns what builds for a queue: the runners, and beside them the
// forge's own CI where there is one.
func (s *stack) controller(q stackQueue, runners workers.Controller, refs forge.OwnRefs) (workers.Controller, error) {
	if q.CI == nil {
		return runners, nil
	}
	o := *q.CI
	o.Refs, o.Branch = refs, q.Branch
	ci, err := forgeci.New(o)
	if err != nil {
		return nil, fmt.Errorf("CI of %s: %w", q.name(), err)
	}
	split := workers.NewSplit(runners, ci)
	s.closes = append(s.closes, func() error {
		wait, cancel := context.WithTimeout(context.Background(), 15*time.Second)
		defer cancel()
		return split.Close(wait)
	})
	name := strings.ToLower(q.Repository)
	s.ci[name] = append(s.ci[name], ci)
	return split, nil
}

// tellCI hands on what a webhook says of CI to the queues of a repository. The
// queues are made before the server answers, so the map is only read.
func (s *stack) tellCI(repository string, news forge.CINews) {
	for _, ci := range s.ci[repository] {
		ci.News(news)
	}
}
