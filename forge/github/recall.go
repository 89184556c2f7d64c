package github

import (
	"context"
	"fmt"

	"github.com/google/go-github/v60/github"

	"github.com/submitqueue/submitqueue/queue"
)

// WasHead implements forge.Recaller. GitHub does not tell when a head was pushed. It makes
// check suites on a commit when that is pushed, so the date of one shows that the commit was
// there by then. A check run of ours that has not ended shows the same if it began when the queue
// should have heard of the command: the queue has heard of it before, and would have heard of a
// push since. One that began later is about somebody else's command for a head that was perhaps
// pushed in between, and shows nothing of this one.
func (f *Forge) WasHead(ctx context.Context, number int, head queue.CommitID, at queue.Instant) (bool, error) {
	doing := fmt.Sprintf("read since when pull request %d has its head", number)
	suites := &github.ListCheckSuiteOptions{ListOptions: github.ListOptions{PerPage: 100}}
	for {
		list, resp, err := f.client.Checks.ListCheckSuitesForRef(ctx, f.o.Owner, f.o.Name, string(head), suites)
		if err != nil {
			return false, failure(ctx, doing, err)
		}
		for _, s := range list.CheckSuites {
			if made := instantOf(s.GetCreatedAt().Time); made != 0 && made <= at {
				return true, nil
			}
		}
		if suites.Page = resp.NextPage; suites.Page == 0 {
			break
		}
	}
	list, _, err := f.client.Checks.ListCheckRunsForRef(ctx, f.o.Owner, f.o.Name, string(head),
		&github.ListCheckRunsOptions{AppID: &f.o.AppID, ListOptions: github.ListOptions{PerPage: 100}})
	if err != nil {
		return false, failure(ctx, doing, err)
	}
	for _, run := range list.CheckRuns {
		if began := instantOf(run.GetStartedAt().Time); run.GetStatus() != "completed" && began != 0 && began <= at.Add(queue.ClocksDiffer) {
			return true, nil
		}
	}
	return false, nil
}
