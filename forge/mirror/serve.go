package mirror

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/submitqueue/submitqueue/queue"
)

// ObjectsOf returns the folder of git objects that contains a commit with all that it needs,
// for a caller that reads it there with git (package upload). Nothing may be written there.
func (m *Mirror) ObjectsOf(ctx context.Context, commit queue.CommitID) (dir string, err error) {
	err = m.mending(ctx, func() error {
		if _, err := m.Objects.info(ctx, commit); err != nil {
			return err
		}
		return m.Objects.Flush(ctx)
	}, commit)
	if err != nil {
		return "", fmt.Errorf("serving %s: %w", commit, err)
	}
	return filepath.Join(m.repo.dir, "objects"), nil
}
