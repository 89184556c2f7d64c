package app

import (
	"context"
	"fmt"
	"io/fs"

	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// Remote is implemented by a Checkouter with commits that runners on other machines can get.
type Remote interface {
	// FS returns the files of a commit.
	FS(ctx context.Context, commit queue.CommitID) (fs.FS, error)
	// ObjectsOf returns the folder of git's objects that has a commit.
	ObjectsOf(ctx context.Context, commit queue.CommitID) (dir string, err error)
	// Outside returns what a checkout of a commit holds beside it.
	Outside(ctx context.Context, commit queue.CommitID, want config.Checkout) (*mirror.Outside, error)
}

// FS returns the files of a live build's commit.
func (s *Share) FS(ctx context.Context, commit queue.CommitID) (fs.FS, error) {
	from, err := s.remote(commit)
	if err != nil {
		return nil, err
	}
	return from.FS(ctx, commit)
}

// ObjectsOf returns the folder of git's objects that has a live build's commit.
func (s *Share) ObjectsOf(ctx context.Context, commit queue.CommitID) (dir string, err error) {
	from, err := s.remote(commit)
	if err != nil {
		return "", err
	}
	return from.ObjectsOf(ctx, commit)
}

// Outside returns what a checkout of a live build's commit holds beside it.
func (s *Share) Outside(ctx context.Context, commit queue.CommitID, want config.Checkout) (*mirror.Outside, error) {
	from, err := s.remote(commit)
	if err != nil {
		return nil, err
	}
	return from.Outside(ctx, commit, want)
}

func (s *Share) remote(commit queue.CommitID) (Remote, error) {
	from, err := s.has(commit)
	if err != nil {
		return nil, err
	}
	r, ok := from.(Remote)
	if !ok {
		return nil, fmt.Errorf("commit %s cannot be given to runners on other machines", commit)
	}
	return r, nil
}
