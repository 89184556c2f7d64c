package gitlab

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/xanzy/go-gitlab"
)

// approvals are those of a merge request. GitLab notes when each was given since its
// version 17, and never of which head; go-gitlab does not know the time.
type approvals struct {
	Required int `json:"approvals_required"`
	Left     int `json:"approvals_left"`
	By       []struct {
		User gitlab.BasicUser `json:"user"`
		At   *time.Time       `json:"approved_at"`
	} `json:"approved_by"`
}

func (f *Forge) approvals(ctx context.Context, id, number int) (out approvals, err error) {
	req, err := f.client.NewRequest(http.MethodGet, fmt.Sprintf("projects/%d/merge_requests/%d/approvals", id, number), nil, []gitlab.RequestOptionFunc{gitlab.WithContext(ctx)})
	if err == nil {
		_, err = f.client.Do(req, &out)
	}
	return out, err
}

// approved lists who has approved this very head: after GitLab has stored its diff. An
// approval whose time is not told counts for nothing.
func (f *Forge) approved(ctx context.Context, id int, mr *gitlab.MergeRequest) ([]string, error) {
	a, err := f.approvals(ctx, id, mr.IID)
	if err != nil || len(a.By) == 0 {
		return nil, err
	}
	stored, err := f.storedAt(ctx, id, mr)
	if err != nil || stored.IsZero() {
		return nil, err
	}
	var said map[int]time.Time // when somebody last approved, by system notes
	var names []string
	for _, x := range a.By {
		at := x.At
		if at == nil {
			if said == nil {
				if said, err = f.saidApproved(ctx, id, mr.IID); err != nil {
					return nil, err
				}
			}
			t := said[x.User.ID]
			at = &t
		}
		if at.After(stored) {
			names = append(names, x.User.Username)
		}
	}
	return names, nil
}

// storedAt is when GitLab stored the diff of the head; zero: it has another one by now.
func (f *Forge) storedAt(ctx context.Context, id int, mr *gitlab.MergeRequest) (at time.Time, err error) {
	o := &gitlab.GetMergeRequestDiffVersionsOptions{}
	newest := 0
	err = all(func(page gitlab.ListOptions) ([]*gitlab.MergeRequestDiffVersion, *gitlab.Response, error) {
		*o = gitlab.GetMergeRequestDiffVersionsOptions(page)
		return f.client.MergeRequests.GetMergeRequestDiffVersions(id, mr.IID, o, gitlab.WithContext(ctx))
	}, func(v *gitlab.MergeRequestDiffVersion) bool {
		if v.ID > newest {
			newest, at = v.ID, time.Time{}
			if v.HeadCommitSHA == mr.SHA && v.CreatedAt != nil {
				at = *v.CreatedAt
			}
		}
		return true
	})
	return at, err
}

// saidApproved reads from the system notes when each account approved last.
func (f *Forge) saidApproved(ctx context.Context, id, number int) (map[int]time.Time, error) {
	out := map[int]time.Time{}
	err := f.eachNote(ctx, id, number, func(n *gitlab.Note) bool {
		if n.System && strings.HasPrefix(n.Body, "approved this merge request") && n.CreatedAt != nil && n.CreatedAt.After(out[n.Author.ID]) {
			out[n.Author.ID] = *n.CreatedAt
		}
		return true
	})
	return out, err
}
