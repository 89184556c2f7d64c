package github

import (
	"cmp"
	"context"
	"fmt"

	"github.com/google/go-github/v60/github"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
)

type checkKey struct {
	name, external string
	head           queue.CommitID
}

// Check makes our check run of this name and external id on the commit show the
// given state and texts. A completed run may be given a new state. A new one
// (Check.New) is not searched for.
func (f *Forge) Check(ctx context.Context, c forge.Check) error {
	key := checkKey{c.Name, c.ExternalID, c.Head}
	defer f.lock(fmt.Sprint("check ", key))()
	doing, err := fmt.Sprintf("report check %q on %.12s", c.Name, c.Head), f.check(ctx, key, c)
	if unknownCommit(err) {
		return fmt.Errorf("github: %s: %w: %w", doing, forge.ErrNotFound, err)
	}
	return failure(ctx, doing, err)
}

func (f *Forge) check(ctx context.Context, key checkKey, c forge.Check) error {
	status, conclusion := "completed", github.String(string(c.State))
	if c.State == forge.CheckQueued || c.State == forge.CheckRunning {
		status, conclusion = string(c.State), nil
	}
	title := cmp.Or(c.Title, c.Name)
	output := &github.CheckRunOutput{
		Title: &title, Summary: github.String(truncate(cmp.Or(c.Summary, title), summaryLimit)),
	}
	var details *string
	if c.DetailsURL != "" {
		details = &c.DetailsURL
	}

	var actions []*github.CheckRunAction
	for _, b := range c.Buttons {
		actions = append(actions, &github.CheckRunAction{Label: b.Label, Description: b.Hint, Identifier: b.ID})
	}

	id, known := recall(f, f.checks, key)
	for {
		if !known && !c.New {
			var err error
			if id, err = f.findCheck(ctx, key); err != nil {
				return err
			}
		}
		if id == 0 {
			output.Annotations = annotationsOf(c)
			break
		}
		// An update adds annotations to those that are there.
		if _, there := recall(f, f.annotated, id); !there {
			output.Annotations = annotationsOf(c)
		}
		_, _, err := f.client.Checks.UpdateCheckRun(ctx, f.o.Owner, f.o.Name, id, github.UpdateCheckRunOptions{
			Name: c.Name, DetailsURL: details, ExternalID: &c.ExternalID,
			Status: &status, Conclusion: conclusion, Output: output, Actions: actions,
		})
		if !isNotFound(err) {
			if err == nil {
				remember(f, f.checks, key, id)
				f.noteAnnotated(id, len(output.Annotations))
			} else if len(output.Annotations) > 0 {
				forget(f, f.checks, key) // it may have the annotations: it is looked up before the next attempt
			}
			return err
		}
		forget(f, f.checks, key)
		if !known {
			break
		}
		known = false
	}
	made, _, err := f.client.Checks.CreateCheckRun(ctx, f.o.Owner, f.o.Name, github.CreateCheckRunOptions{
		Name: c.Name, HeadSHA: string(c.Head), DetailsURL: details, ExternalID: &c.ExternalID,
		Status: &status, Conclusion: conclusion, Output: output, Actions: actions,
	})
	if err != nil {
		return err
	}
	remember(f, f.checks, key, made.GetID())
	f.noteAnnotated(made.GetID(), len(output.Annotations))
	return nil
}

// noteAnnotated remembers that a check run has annotations.
func (f *Forge) noteAnnotated(id int64, n int) {
	if n > 0 {
		remember(f, f.annotated, id, true)
	}
}

func annotationsOf(c forge.Check) []*github.CheckRunAnnotation {
	var out []*github.CheckRunAnnotation
	for _, a := range c.Annotations[:min(len(c.Annotations), forge.MostAnnotations)] {
		x := &github.CheckRunAnnotation{Path: github.String(a.Path), StartLine: github.Int(a.Line), EndLine: github.Int(a.Line),
			AnnotationLevel: github.String("failure"), Title: github.String(truncate(a.Title, titleLimit)), Message: github.String(truncate(a.Message, detailLimit))}
		if a.Details != "" {
			x.RawDetails = github.String(truncate(a.Details, detailLimit))
		}
		out = append(out, x)
	}
	return out
}

// findCheck searches for our newest check run; 0 if there is none.
func (f *Forge) findCheck(ctx context.Context, key checkKey) (int64, error) {
	opts := &github.ListCheckRunsOptions{
		CheckName: &key.name, Filter: github.String("all"), AppID: &f.o.AppID,
		ListOptions: github.ListOptions{PerPage: 100},
	}
	for {
		list, resp, err := f.client.Checks.ListCheckRunsForRef(ctx, f.o.Owner, f.o.Name, string(key.head), opts)
		if err != nil {
			return 0, err
		}
		for _, run := range list.CheckRuns {
			if run.GetExternalID() == key.external {
				f.noteAnnotated(run.GetID(), run.GetOutput().GetAnnotationsCount())
				return run.GetID(), nil
			}
		}
		if opts.Page = resp.NextPage; opts.Page == 0 {
			return 0, nil
		}
	}
}
