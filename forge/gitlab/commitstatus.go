package gitlab

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/xanzy/go-gitlab"

	"github.com/submitqueue/submitqueue/forge"
)

// StatusRef is the ref of the pipeline that contains our commit statuses. No branch has
// this name, so no branch has that pipeline. A status is a job of the newest pipeline
// of its ref, and would keep a branch's pipeline running, or turn it red.
const StatusRef = "submitqueue/status"

// textLimit is how many bytes the texts of a commit status may have.
const textLimit = 255

// states are GitLab's states for ours; GitLab has no neutral one.
var states = map[forge.CheckState]gitlab.BuildStateValue{
	forge.CheckQueued: gitlab.Pending, forge.CheckRunning: gitlab.Running, forge.CheckPassed: gitlab.Success,
	forge.CheckFailed: gitlab.Failed, forge.CheckNeutral: gitlab.Skipped, forge.CheckCancelled: gitlab.Canceled,
}

// Check posts our commit status. Its summary, annotations and buttons have no place there.
func (f *Forge) Check(ctx context.Context, c forge.Check) error {
	doing := fmt.Sprintf("report status %q on %.12s", c.Name, c.Head)
	defer f.lock(fmt.Sprint("status ", c.Name, c.Head))()
	id, err := f.project(ctx)
	if err != nil {
		return failure(ctx, doing, err)
	}
	o := &gitlab.SetCommitStatusOptions{State: states[c.State], Name: &c.Name, Ref: gitlab.Ptr(StatusRef), Description: gitlab.Ptr(bytesOf(oneLine(cmp.Or(c.Title, c.Name)), textLimit))}
	if c.DetailsURL != "" && len(c.DetailsURL) <= textLimit {
		o.TargetURL = &c.DetailsURL
	}
	_, _, err = f.client.Commits.SetCommitStatus(id, string(c.Head), o, gitlab.WithContext(ctx))
	if status(err) == http.StatusBadRequest && says(err, "cannot transition status") {
		return nil // it is in that state, or in a later one
	}
	if status(err) == http.StatusConflict {
		return &forge.Transient{Err: fmt.Errorf("gitlab: %s: %w", doing, err)}
	}
	return failure(ctx, doing, err)
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// bytesOf cuts a text to so many bytes, between two characters.
func bytesOf(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	const more = "…"
	s = s[:limit-len(more)]
	for len(s) > 0 && !utf8.ValidString(s[len(s)-min(len(s), utf8.UTFMax):]) && !utf8.RuneStart(s[len(s)-1]) {
		s = s[:len(s)-1]
	}
	return strings.ToValidUTF8(s, "") + more
}
