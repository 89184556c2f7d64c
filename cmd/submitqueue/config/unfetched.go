package config

import (
	"context"
	"path"
	"slices"

	"github.com/submitqueue/submitqueue/cmd/submitqueue/doctor"
	"github.com/submitqueue/submitqueue/queue/config"
)

// unfetched says, in a line each, which parts of a repository runners do not see.
func (t tree) unfetched(c *config.Config) string {
	lfs := slices.ContainsFunc(t.Files, func(file string) bool {
		return path.Base(file) == ".gitattributes" && doctor.KeepsLFS(t.Read(file))
	})
	text := ""
	for _, line := range doctor.Unfetched(c, t.Has(".gitmodules"), lfs) {
		text += "  " + line + "\n"
	}
	return text
}

// unfetchedAt is unfetched for the repository that a folder is in; "" where there is
// none.
func unfetchedAt(ctx context.Context, dir string, c *config.Config) string {
	_, t, err := readTree(ctx, dir)
	if err != nil {
		return ""
	}
	return t.unfetched(c)
}
