package gitlab

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/xanzy/go-gitlab"

	"github.com/submitqueue/submitqueue/forge"
)

// approvals are the approvals of a merge request. Since version 17, GitLab tells
// when each was given, and it never tells for which head; go-gitlab does not read
// the time.
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

// approved lists the approvers of this very head: their approvals came after GitLab had
// stored its diff. An approval of unknown time does not count.
func (f *Forge) approved(ctx context.Context, id int, mr *gitlab.MergeRequest, a approvals) ([]string, error) {
	if len(a.By) == 0 {
		return nil, nil
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

// approvalsSettle is how long after a push GitLab may still show approvals of the former
// head that it is about to remove; a merge status with another reason hides this.
const approvalsSettle = 15 * time.Second

// syncing returns a *Transient if required approvals are older than the stored head, and
// the head was stored just now.
func (f *Forge) syncing(ctx context.Context, id int, mr *gitlab.MergeRequest, a approvals) error {
	if a.Required == 0 || len(a.By) == 0 {
		return nil
	}
	stored, err := f.storedAt(ctx, id, mr)
	if err != nil || stored.IsZero() {
		return err
	}
	left := min(approvalsSettle-f.pace.now().Sub(stored), approvalsSettle) // GitLab tells its clock to the second
	for _, x := range a.By {
		if left > 0 && (x.At == nil || x.At.Before(stored)) {
			return &forge.Transient{Err: errors.New("its approvals are older than its head, and GitLab may be about to take them away"), After: left}
		}
	}
	return nil
}

// headKey names a head of a merge request.
type headKey struct {
	number int
	head   string
}

// storedAt returns when GitLab stored the diff of the head; zero: the merge request has
// another head by now.
func (f *Forge) storedAt(ctx context.Context, id int, mr *gitlab.MergeRequest) (at time.Time, err error) {
	key := headKey{mr.IID, mr.SHA}
	if at, known := recall(f, f.stored, key); known {
		return at, nil
	}
	defer func() {
		if err == nil && !at.IsZero() {
			remember(f, f.stored, key, at)
		}
	}()
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
