package app

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/workers"
)

// maxWorkflows bounds what is read of a tree's workflows.
const maxWorkflows = 4 << 20

// attest says what has passed on the head of a change, and which keys that proves:
// those that a build of that commit would have been asked for, by its own steps and
// the version in force, as far as the commit of main has not the same. What cannot be
// read proves nothing.
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
	keys, err := p.keysBeyond(ctx, t, head)
	if err != nil {
		return nil, err
	}
	files, err := p.workflows(ctx, t.Head)
	if err != nil {
		return nil, err
	}
	if files == nil {
		return doubt("its workflows are too large to be looked into")
	}
	got, err := ci.PassedOn(ctx, t.Head, counting, files)
	switch {
	case errors.Is(err, forge.ErrForbidden):
		return doubt("the App may not see runs (actions: read)")
	case errors.Is(err, forge.ErrNotFound):
		return doubt("the forge does not know the commit")
	case err != nil:
		return nil, err
	}
	out.Steps, out.Doubts, out.Open = queue.NewStepSet(counting), got.Doubts, got.Open
	if now, err := p.workflows(ctx, t.Main); err != nil {
		return nil, err
	} else if len(got.Passed) > 0 && !maps.EqualFunc(now, files, bytes.Equal) {
		out.Doubts = append(out.Doubts, queue.HeadDoubt{Why: "the workflows there are not those of the branch: what they have passed counts only where the change itself brings them"})
	}
	for _, s := range counting {
		i := slices.IndexFunc(got.Passed, func(x queue.HeadPass) bool { return x.Step == s.Digest() })
		if i < 0 {
			continue
		}
		pass := got.Passed[i]
		switch pass.Keys = keys[pass.Step]; {
		case len(pass.Keys) == 0:
		case !queue.ProvenOn(s, pass.Keys):
			out.Doubts = append(out.Doubts, queue.HeadDoubt{Step: s.Name, Why: "it does not say covers: tree"})
		default:
			out.Passed = append(out.Passed, pass)
		}
	}
	return out, nil
}

// headOf judges the head of a task as the commit of a build is judged; why says what
// makes that no judgement to build on.
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

// keysBeyond returns the keys of the head that the task's commit of main has not, by
// step.
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

// workflows reads what the workflows of a commit are made of: files that are in each of
// its hashes (package conflict, barrier); nil: they are too large.
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
		if !strings.HasPrefix(f.Path, ".github/workflows/") && !strings.HasPrefix(f.Path, ".github/actions/") {
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
