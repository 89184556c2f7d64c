package server

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/workers"
	"github.com/submitqueue/submitqueue/workers/forgeci"
)

// builders returns the controller of a queue's builds: the runners, and beside them the
// forge's own CI where there is one.
func (q Queue) builders(runners workers.Controller, refs mirror.OwnRefs) (workers.Controller, *forgeci.Controller, error) {
	if q.CI == nil {
		return runners, nil, nil
	}
	o := *q.CI
	_, branch, _ := strings.Cut(q.Key(), "@") // the first branch: builds with it may be under way
	o.Refs, o.Branch = refs, branch
	ci, err := forgeci.New(o)
	if err != nil {
		return nil, nil, fmt.Errorf("CI of %s: %w", q.Key(), err)
	}
	return workers.NewSplit(runners, ci), ci, nil
}

// close ends the parts that only this queue has. The queue has stopped.
func (q *served) close() error {
	if q.ci != nil {
		wait, cancel := context.WithTimeout(context.Background(), 15*time.Second)
		defer cancel()
		if err := q.workers.Close(wait); err != nil {
			_ = q.mirror.Close()
			return err
		}
	}
	return q.mirror.Close()
}

// tellCI hands the CI news of a webhook to the queues that they are for.
func (set *queueSet) tellCI(names []string, news forge.CINews) {
	set.mu.Lock()
	var told []*forgeci.Controller
	for _, q := range set.queues {
		if q.ci != nil && slices.Contains(names, q.Key()) {
			told = append(told, q.ci)
		}
	}
	set.mu.Unlock()
	for _, ci := range told {
		ci.News(news)
	}
}
