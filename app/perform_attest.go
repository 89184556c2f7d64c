package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/workers"
)

// maxWorkflows bounds how many bytes of a tree's workflows are read.
const maxWorkflows = 4 << 20

// attest says which steps have passed on the head of a change, and which keys that
// proves. These are the keys that a build of the head would verify, by the head's own
// steps and the version in force. Keys that the commit of main also has are left out.
// An unreadable run proves nothing.
func (p *passes) attest(ctx context.Context, a *queue.Action, t queue.Attest) (queue.Body, error) {
	out := queue.Attested{Action: a.Key, Change: t.Change, Head: t.Head}
	doubt := func(why string) (queue.Body, error) {
		out.Doubts = append(out.Doubts, queue.HeadDoubt{Why: why})
		return out, nil
	}
	ci, can := p.Workers.(workers.Attester)
	if !can {
		return doubt("this server builds by no CI of the forge")
	}
	errs, err := p.fetch(ctx, []queue.Pick{{Head: t.Head, HeadRef: t.HeadRef}})
	if err != nil {
		return nil, err
	}
	if err := errs[t.Head]; err != nil {
		return nil, err
	}
	if err := p.hold(ctx, t.Main); err != nil {
		return nil, err
	}
	head, why, err := p.headOf(ctx, t)
	if err != nil {
		return nil, err
	}
	if why != "" {
		return doubt(why)
	}
	counting := slices.DeleteFunc(slices.Clone(head.steps.Steps), func(s config.Step) bool { return !s.CountsEarlier() })
	if len(counting) == 0 {
		return doubt("no step in the head's own configuration says earlier: count")
	}
	l := lookout{passes: p, task: t, head: head}
	if l.files, err = p.workflows(ctx, t.Head); err != nil {
		return nil, err
	}
	if l.main, err = p.workflows(ctx, t.Main); err != nil {
		return nil, err
	}
	if l.files == nil || l.main == nil {
		return doubt("its workflows are too large to be looked into")
	}
	got, err := ci.PassedOn(ctx, t.Head, counting, l.tree)
	switch {
	case errors.Is(err, forge.ErrForbidden):
		return doubt("the App may not see runs (actions: read)")
	case errors.Is(err, forge.ErrNotFound):
		return doubt("the forge does not know the commit")
	case err != nil:
		return nil, err
	}
	out.Steps, out.Doubts, out.Open = queue.NewStepSet(counting), got.Doubts, got.Open
	if len(got.Passed) > 0 && !l.asOnMain(l.files) {
		out.Doubts = append(out.Doubts, queue.HeadDoubt{Why: "the workflows there are not those of the branch: their passes count only where the change itself brings these workflows"})
	}
	for _, pass := range got.Passed {
		s, _ := out.Steps.Step(pass.Step)
		if pass.Keys, err = l.keys(ctx, pass); err != nil {
			return nil, err
		}
		switch {
		case len(pass.Keys) == 0:
		case !queue.ProvenOn(s, pass.Keys):
			out.Doubts = append(out.Doubts, queue.HeadDoubt{Step: s.Name, Why: "it does not say covers: tree"})
		default:
			out.Passed = append(out.Passed, pass)
		}
	}
	return out, nil
}

// lookout holds the facts that attest needs for one head.
type lookout struct {
	*passes
	task  queue.Attest
	head  judged
	files map[string][]byte // of its workflows
	main  map[string][]byte // of the workflows of the task's commit of main
}

func (l *lookout) asOnMain(files map[string][]byte) bool {
	return maps.EqualFunc(l.main, files, bytes.Equal)
}

// tree implements workers.HeadTree. A merge is looked at only where its workflows are the
// same as the head's and main's. Then the workflows that have run are the same, whichever
// commit of main the merge was made on, and their declarations hold.
func (l *lookout) tree(ctx context.Context, merge queue.CommitID) (files map[string][]byte, why string, err error) {
	if merge == "" {
		return l.files, "", nil
	}
	ref, is := strings.CutSuffix(l.task.HeadRef, "/head")
	if !is {
		return nil, "the forge keeps no merges of what is open", nil
	}
	remote, err := l.Forge.Remote(ctx)
	if err != nil {
		return nil, "", err
	}
	err = l.Mirror.Remotes.FetchHead(ctx, remote, ref+"/merge", merge)
	if errors.Is(err, mirror.ErrHeadMoved) || errors.Is(err, forge.ErrNotFound) {
		return nil, fmt.Sprintf("the merge %.12s that was tested is not there any more: the branch has moved since, or the head", merge), nil
	}
	if err != nil {
		return nil, "", err
	}
	on, err := l.Mirror.History.IsAncestor(ctx, l.task.Head, merge)
	if err != nil {
		return nil, "", err
	}
	if !on {
		return nil, fmt.Sprintf("%.12s, which was tested, is no merge of the head", merge), nil
	}
	if files, err = l.workflows(ctx, merge); err != nil {
		return nil, "", err
	}
	if files == nil || !l.asOnMain(files) || !l.asOnMain(l.files) {
		return nil, "a run of the merge counts only where head, merge and branch have the same workflows", nil
	}
	return files, "", nil
}

// keys returns the keys that the commit of a pass has by its step and main does not have.
func (l *lookout) keys(ctx context.Context, pass queue.HeadPass) ([]queue.Key, error) {
	at := l.head
	if pass.On != "" {
		var why string
		var err error
		on := l.task
		on.Head = pass.On
		if at, why, err = l.headOf(ctx, on); err != nil || why != "" {
			return nil, err
		}
	}
	if _, same := at.steps.Step(pass.Step); !same {
		return nil, nil // the merge has another step of that name
	}
	all, err := l.keysBeyond(ctx, l.task, at)
	return all[pass.Step], err
}

// headOf judges the head of a task as the commit of a build is judged; why says why
// that judgement cannot be used, or is "".
func (p *passes) headOf(ctx context.Context, t queue.Attest) (j judged, why string, err error) {
	now, err := p.inForce()
	if err != nil {
		return j, "", err
	}
	now.by = t.Analyzer
	tr, err := p.Mirror.Objects.Tree(ctx, t.Head)
	if err != nil {
		return j, "", err
	}
	if r, err := p.judge.rules(ctx, tr, t.Head, now); err != nil {
		return j, "", err
	} else if !r.own {
		return j, "its own configuration cannot be used", nil
	}
	if j, err = p.judge.shared(ctx, t.Head, now, ""); err != nil {
		return j, "", err
	}
	switch {
	case j.snapshot.Provisional:
		why = "what its targets are can be told only for now"
	case t.Analyzer != "" && j.version() != t.Analyzer:
		why = "its configuration has another analyzer than the target branch's"
	}
	return j, why, nil
}

// keysBeyond returns the keys of the head that the task's commit of main does not have,
// by step.
func (p *passes) keysBeyond(ctx context.Context, t queue.Attest, head judged) (map[queue.Digest][]queue.Key, error) {
	main, err := p.whole(ctx, t.Main, t.Analyzer)
	if err != nil {
		return nil, err
	}
	out := map[queue.Digest][]queue.Key{}
	for _, k := range conflict.Keys(main.snapshot, head.snapshot, main.steps.Steps, head.steps.Steps) {
		out[k.Step] = append(out[k.Step], k)
	}
	return out, nil
}

// workflows reads the files that the workflows of a commit are made of. Each hash of
// the commit covers them (package conflict, barrier). nil: they are too large.
func (p *passes) workflows(ctx context.Context, commit queue.CommitID) (map[string][]byte, error) {
	t, err := p.Mirror.Objects.Tree(ctx, commit)
	if err != nil {
		return nil, err
	}
	files, err := t.Files(ctx)
	if err != nil {
		return nil, err
	}
	out, size := map[string][]byte{}, 0
	for _, f := range files {
		if !strings.HasPrefix(f.Path, workflowFolder) && !strings.HasPrefix(f.Path, ".github/actions/") {
			continue
		}
		data, err := t.Blob(ctx, f.OID)
		if err != nil {
			return nil, err
		}
		if size += len(data); size > maxWorkflows {
			return nil, nil
		}
		out[f.Path] = data
	}
	return out, nil
}
