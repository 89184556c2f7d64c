package gitlab

import (
	"context"

	"github.com/submitqueue/submitqueue/queue/config"
)

// Methods implements forge.Accustomed: the project's merge method and its squash option. If the
// project wants a linear or semi-linear history, the commits of a merge request are made anew on
// the branch, as GitLab's button "Rebase" does. A semi-linear history gets a merge commit as
// well.
func (f *Forge) Methods(ctx context.Context) ([]config.Method, error) {
	p, err := f.settings(ctx)
	if err != nil {
		return nil, failure(ctx, "read how merge requests are merged", err)
	}
	own := config.MethodMerge
	switch p.MergeMethod {
	case "rebase_merge":
		own = config.MethodSemiLinear
	case "ff":
		own = config.MethodRebase
	}
	switch p.SquashOption {
	case "always":
		return []config.Method{config.MethodSquash}, nil
	case "default_on":
		return []config.Method{config.MethodSquash, own}, nil
	case "never":
		return []config.Method{own}, nil
	}
	return []config.Method{own, config.MethodSquash}, nil
}
