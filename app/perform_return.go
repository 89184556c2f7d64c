package app

import (
	"context"
	"fmt"
	"sort"
	"strings"

	"github.com/submitqueue/submitqueue/app/texts"
	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
)

// returnHeads puts branches back that are still where a push has moved them, and gives
// pull requests the bases that they had before.
func (p *pusher) returnHeads(ctx context.Context, a *queue.Action, t queue.ReturnHeads) (queue.Body, error) {
	outcomes, err := p.pushHeads(ctx, t.Heads, true, func() bool { return true })
	if err == nil {
		err = p.restore(ctx, t.Based)
	}
	if err != nil {
		return nil, err
	}
	out := queue.HeadsReturned{Action: a.Key}
	for i, o := range outcomes {
		h := t.Heads[i]
		if queue.RefusalOf(o.Refused) == queue.RefusalStrange && a.Attempt < strangeTries {
			return nil, &forge.Transient{Err: fmt.Errorf("putting %s back: it was refused in words that are no known rule: %s", h.Branch, o.Refused)}
		}
		if o.Refused != "" {
			out.Left = append(out.Left, h.Change)
			p.Log.Warn("the branch of a "+p.Texts.Words.Noun()+" was moved for a landing that has not come about, and could not be put back",
				"queue", p.Called(), "pull", h.Number, "branch", texts.OneLine(h.Branch, 100), "was", h.From, "reason", o.Refused)
			continue
		}
		p.stopRuns(ctx, h.Branch, h.To)
	}
	return out, nil
}

// stopRuns cancels the runs that the forge's CI has begun because we moved a branch to a
// commit: the commit was proven, or is no longer wanted. Errors are ignored, because
// nothing depends on it.
func (p *site) stopRuns(ctx context.Context, branch string, commit queue.CommitID) {
	ci := p.Forge.Capabilities().CI
	if ci == nil || !p.workflowsIn(ctx, commit) {
		return
	}
	runs, err := ci.CIRunsOf(ctx, commit)
	for _, run := range runs {
		if !run.Done && run.Branch == branch && run.Commit == commit && err == nil {
			err = ci.CancelRun(ctx, run.ID)
		}
	}
	if err != nil {
		p.Log.Info("runs on the moved branch of a "+p.Texts.Words.Noun()+" could not be cancelled", "queue", p.Called(), "branch", texts.OneLine(branch, 100), "error", err)
	}
}

// workflowFolder is the folder of a tree that holds the workflows of the forge's CI.
const workflowFolder = ".github/workflows/"

// workflowsIn reports whether a commit's tree holds workflows. A tree that cannot
// be read is taken to do so.
func (p *site) workflowsIn(ctx context.Context, commit queue.CommitID) bool {
	tree, err := p.Mirror.Objects.Tree(ctx, commit)
	if err != nil {
		return true
	}
	files, err := tree.Files(ctx)
	if err != nil {
		return true
	}
	at := sort.Search(len(files), func(i int) bool { return files[i].Path >= workflowFolder })
	return at < len(files) && strings.HasPrefix(files[at].Path, workflowFolder)
}
