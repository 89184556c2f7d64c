package workers

import (
	"context"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// Attester is implemented by a Controller that can tell which runs a commit has had for
// somebody other than the queue.
type Attester interface {
	// PassedOn says which steps have passed on a head in runs that show what a build of the
	// very commit would: of the head itself, or of a merge of it that tree knows. It asks the
	// forge; errors are the forge's, and tree's. When a run that is Open ends,
	// queue.HeadChecked comes among the events.
	PassedOn(ctx context.Context, head queue.CommitID, steps []config.Step, tree HeadTree) (HeadResults, error)
}

// HeadTree returns the files, by path, that the workflows of a head are made of, or those of a
// commit that is said to be a merge of the head; merge "" is the head itself. why says for
// people why no run there counts.
type HeadTree func(ctx context.Context, merge queue.CommitID) (files map[string][]byte, why string, err error)

// HeadResults are the runs on a commit. Passed have no keys: a reader of the commit knows its
// keys.
type HeadResults struct {
	Passed []queue.HeadPass
	Doubts []queue.HeadDoubt
	Open   bool // a run there has not ended, or none has begun yet
}

var _ Attester = (*Split)(nil)

// PassedOn implements Attester: runners run nothing for others.
func (s *Split) PassedOn(ctx context.Context, head queue.CommitID, steps []config.Step, tree HeadTree) (HeadResults, error) {
	if a, can := s.sides[onForge].(Attester); can {
		return a.PassedOn(ctx, head, steps, tree)
	}
	return HeadResults{}, nil
}
