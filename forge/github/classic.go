package github

import (
	"context"
	"errors"
	"net/url"
	"time"

	"github.com/submitqueue/submitqueue/forge"
)

type keptDemand struct {
	demands
	hidden bool // classic protection exists and may not be read
	at     time.Time
}

// classicDemands reads the demands of classic protection that GraphQL does not tell, or
// hides (told is nil). Where they may not be read, that is a doubt. But where GraphQL
// tells that reviews are asked for, the rest is taken to be as strict as it can be. Where
// GraphQL tells that none are asked for, nothing more is asked of reviews, as far as can
// be seen.
//
// Classic protection is read again after some minutes; the answer of GraphQL is of
// now.
func (f *Forge) classicDemands(ctx context.Context, branch string, told *openRule) (demands, error) {
	kept, ok := recall(f, f.classics, branch)
	if !ok || time.Since(kept.at) >= protectedFor {
		var err error
		if kept, err = f.readClassic(ctx, branch); err != nil {
			return demands{}, err
		}
		remember(f, f.classics, branch, kept)
	}
	switch {
	case kept.hidden && told != nil:
		strict := told.Approvals > 0 || told.CodeOwners
		return demands{stale: strict, lastPush: strict}, nil
	case kept.hidden:
		return demands{doubts: []doubt{{"branch protection", becauseClassic}}}, nil
	}
	return kept.demands, nil
}

func (f *Forge) readClassic(ctx context.Context, branch string) (keptDemand, error) {
	out := keptDemand{at: time.Now()}
	var b struct {
		Protection struct {
			Enabled bool `json:"enabled"` // classic protection, not rulesets
		} `json:"protection"`
	}
	_, err := f.get(ctx, "branches/"+url.PathEscape(branch), &b)
	if err = failure(ctx, "read the branch "+branch, err); errors.Is(err, forge.ErrNotFound) {
		return out, nil
	}
	if err != nil || !b.Protection.Enabled {
		return out, err
	}
	var in struct {
		Checks *struct {
			Contexts []string `json:"contexts"`
			Checks   []struct {
				Context string `json:"context"`
				App     *int64 `json:"app_id"`
			} `json:"checks"`
		} `json:"required_status_checks"`
		Reviews struct {
			Count      int  `json:"required_approving_review_count"`
			CodeOwners bool `json:"require_code_owner_reviews"`
			LastPush   bool `json:"require_last_push_approval"`
			Stale      bool `json:"dismiss_stale_reviews"`
		} `json:"required_pull_request_reviews"`
		Resolved struct {
			Enabled bool `json:"enabled"`
		} `json:"required_conversation_resolution"`
	}
	_, err = f.get(ctx, "branches/"+url.PathEscape(branch)+"/protection", &in)
	switch err = failure(ctx, "read the protection of "+branch, err); {
	case errors.Is(err, forge.ErrForbidden):
		out.hidden = true
		return out, nil
	case errors.Is(err, forge.ErrNotFound): // taken off meanwhile
		return out, nil
	case err != nil:
		return out, err
	}
	v := in.Reviews
	out.demands = demands{approvals: v.Count, codeOwners: v.CodeOwners, lastPush: v.LastPush, stale: v.Stale, resolved: in.Resolved.Enabled}
	if in.Checks == nil {
		return out, nil
	}
	for _, c := range in.Checks.Checks {
		want := demandedCheck{name: c.Context}
		if c.App != nil {
			want.app = *c.App
		}
		out.check(want)
	}
	if len(in.Checks.Checks) == 0 { // servers before checks had Apps
		for _, name := range in.Checks.Contexts {
			out.check(demandedCheck{name: name})
		}
	}
	return out, nil
}
