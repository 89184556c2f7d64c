package gitlab

import (
	"context"
	"errors"
	"net/url"
	"strconv"

	"github.com/xanzy/go-gitlab"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue/config"
)

// GroupProject is a project of a group.
type GroupProject struct {
	ID     int
	Path   string
	Branch string // its default one; "": it is empty
	Queued bool   // that branch has a queue's configuration
}

// Projects lists the projects of the group and of the groups in it, without archived
// projects, and without projects that other groups share. ErrNotFound: there is no such
// group, or the account may not see it.
func (f *Forge) Projects(ctx context.Context) ([]GroupProject, error) {
	var out []GroupProject
	at := "groups/" + gitlab.PathEscape(f.o.Group) + "/projects"
	for page := 1; page <= mostPages; page++ {
		list, err := readOne[[]ProjectFacts](ctx, f, "list the projects of the group", at, url.Values{"include_subgroups": {"true"}, "with_shared": {"false"},
			"archived": {"false"}, "per_page": {strconv.Itoa(hundred)}, "page": {strconv.Itoa(page)}})
		if err != nil {
			return nil, err
		}
		for _, p := range list {
			one := GroupProject{ID: p.ID, Path: p.Path, Branch: p.DefaultBranch}
			if p.DefaultBranch != "" {
				s := Survey{Branch: p.DefaultBranch, Repo: p}
				switch _, err := f.file(ctx, &s, config.Path); {
				case err == nil:
					one.Queued = true
				case !errors.Is(err, forge.ErrNotFound) && !errors.Is(err, forge.ErrForbidden):
					return nil, err
				}
			}
			out = append(out, one)
		}
		if len(list) < hundred {
			break
		}
	}
	return out, nil
}
