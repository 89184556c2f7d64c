package workers

import (
	"context"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// Attester is implemented by a Controller that can tell what was run on a commit for
// somebody else than the queue.
type Attester interface {
	// PassedOn says which steps have passed on a commit in runs of that very commit that
	// show what a build would. files are those of the commit's tree, by path, that its
	// workflows are made of. It asks the forge; errors are the forge's. When something
	// ends that is Open, queue.HeadChecked comes among the events.
	PassedOn(ctx context.Context, commit queue.CommitID, steps []config.Step, files map[string][]byte) (HeadResults, error)
}

// HeadResults is what was run on a commit. Passed have no keys: which the commit has, whoever
// can read it knows.
type HeadResults struct {
	Passed []queue.HeadPass
	Doubts []queue.HeadDoubt
	Open   bool // something runs there still
}

var _ Attester = (*Split)(nil)

// PassedOn implements Attester: runners run nothing for others.
func (s *Split) PassedOn(ctx context.Context, commit queue.CommitID, steps []config.Step, files map[string][]byte) (HeadResults, error) {
	if a, can := s.sides[onForge].(Attester); can {
		return a.PassedOn(ctx, commit, steps, files)
	}
	return HeadResults{}, nil
}
