package workers

import (
	"context"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// Attester is implemented by a Controller that can tell what was run on a commit for
// somebody else than the queue.
type Attester interface {
	// PassedOn says which steps have passed on a head in runs that show what a build of
	// the very commit would: of the head itself, or of a merge of it that tree knows. It
	// asks the forge; errors are the forge's, and tree's. When something ends that is
	// Open, queue.HeadChecked comes among the events.
	PassedOn(ctx context.Context, head queue.CommitID, steps []config.Step, tree HeadTree) (HeadResults, error)
}

// HeadTree returns those files, by path, that the workflows of a head are made of (""), or
// of a commit that is said to be a merge of it. why says for people why nothing counts
// that was run there.
type HeadTree func(ctx context.Context, merge queue.CommitID) (files map[string][]byte, why string, err error)

// HeadResults are the runs on a commit. Passed have no keys: a reader of the commit knows its
// keys.
type HeadResults struct {
	Passed []queue.HeadPass
	Doubts []queue.HeadDoubt
	Open   bool // something runs there still, or nothing has begun yet
}

var _ Attester = (*Split)(nil)

// PassedOn implements Attester: runners run nothing for others.
func (s *Split) PassedOn(ctx context.Context, head queue.CommitID, steps []config.Step, tree HeadTree) (HeadResults, error) {
	if a, can := s.sides[onForge].(Attester); can {
		return a.PassedOn(ctx, head, steps, tree)
	}
	return HeadResults{}, nil
}
