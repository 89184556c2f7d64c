package gitlab

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
)

// payload has the members that we use of GitLab's webhooks. It is read leniently: GitLab
// adds members all the time.
type payload struct {
	Kind    string `json:"object_kind"`
	Ref     string `json:"ref"`
	Project struct {
		ID   int64  `json:"id"`
		Path string `json:"path_with_namespace"`
	} `json:"project"`
	User struct {
		Name string `json:"username"`
	} `json:"user"`
	Attributes struct {
		ID         int    `json:"id"`
		IID        int    `json:"iid"`
		Action     string `json:"action"`
		Note       string `json:"note"`
		Of         string `json:"noteable_type"`
		System     bool   `json:"system"`
		OldRev     string `json:"oldrev"`
		CreatedAt  string `json:"created_at"`
		UpdatedAt  string `json:"updated_at"`
		Ref        string `json:"ref"`
		Tag        bool   `json:"tag"`
		SHA        string `json:"sha"`
		Source     any    `json:"source"` // a pipeline has a word here, a merge request its project
		Status     string `json:"status"`
		URL        string `json:"url"`
		LastCommit struct {
			ID string `json:"id"`
		} `json:"last_commit"`
	} `json:"object_attributes"`
	MergeRequest struct {
		IID int `json:"iid"`
	} `json:"merge_request"`
	JobStatus string `json:"build_status"` // of a job's own webhook
	Builds    []struct {
		ID         int64  `json:"id"`
		Name       string `json:"name"`
		Status     string `json:"status"`
		MayFail    bool   `json:"allow_failure"`
		Reason     string `json:"failure_reason"`
		FinishedAt string `json:"finished_at"`
	} `json:"builds"`
	Labels    []title  `json:"labels"`
	Assignees []person `json:"assignees"`
	Changes   struct {
		Assignees *struct {
			Previous []person `json:"previous"`
			Current  []person `json:"current"`
		} `json:"assignees"`
		Labels *struct {
			Previous []title `json:"previous"`
			Current  []title `json:"current"`
		} `json:"labels"`
		Draft       json.RawMessage `json:"draft"`
		Target      json.RawMessage `json:"target_branch"`
		Description *struct {
			Previous string `json:"previous"`
			Current  string `json:"current"`
		} `json:"description"`
	} `json:"changes"`
}

type title struct {
	Title string `json:"title"`
}

type person struct {
	Name string `json:"username"`
}

// named reports whether an account is among people.
func named(list []person, account string) bool {
	return account != "" && slices.ContainsFunc(list, func(p person) bool { return strings.EqualFold(p.Name, account) })
}

// events reads the events of a webhook, or returns ErrIgnored. A webhook of an unknown
// form is ignored, too: GitLab switches a hook off if four of its webhooks are refused.
func (p *payload) events(kind, delivery, account string) (events []queue.Event, news forge.CINews, err error) {
	switch kind {
	case "Note Hook":
		events, err = p.note()
	case "Merge Request Hook":
		events, err = p.mergeRequest("gitlab/delivery/"+delivery, account)
	case "Push Hook":
		branch, ok := strings.CutPrefix(p.Ref, "refs/heads/")
		if !ok {
			return nil, news, forge.ErrIgnored
		}
		events = []queue.Event{{ID: "gitlab/delivery/" + delivery, Body: queue.MainMoved{Branch: branch}}}
	case "Pipeline Hook", "Job Hook":
		ref := p.Attributes.Ref
		if kind == "Job Hook" {
			ref = p.Ref
		}
		if ref == "" || ref == StatusRef || p.Attributes.Tag {
			return nil, news, forge.ErrIgnored
		}
		news = p.pipeline(ref)
		if p.Kind == "pipeline" && over(p.Attributes.Status) {
			events = []queue.Event{{ID: "gitlab/stir/" + delivery, Body: p.ended()}}
		}
	default:
		err = forge.ErrIgnored
	}
	return events, news, err
}

// pipeline reads the state of a pipeline and its jobs from a webhook. That state may be
// older than what is known, so a pipeline or job that has ended is read again, too.
func (p *payload) pipeline(ref string) (news forge.CINews) {
	a := p.Attributes
	if over(a.Status) || a.Status == "manual" || over(p.JobStatus) || a.Status == "" && p.JobStatus == "" {
		news.Look = []string{ref}
	}
	if p.Kind != "pipeline" || a.SHA == "" || a.ID == 0 || a.Source == any("external") {
		return news
	}
	pull := a.Source == any("merge_request_event")
	news.Runs = []forge.CIRun{{ID: int64(a.ID), Suite: int64(a.ID), Commit: queue.CommitID(a.SHA), Branch: ref, Name: "pipeline", Own: true, Attempt: 1,
		Push: !pull, Pull: pull, Done: over(a.Status), Word: a.Status, URL: a.URL}}
	for _, b := range p.Builds {
		ended := stampOf(b.FinishedAt)
		news.Results = append(news.Results, inState(forge.CIResult{ID: b.ID, App: ciApp, Name: b.Name, Commit: queue.CommitID(a.SHA), Suite: int64(a.ID), Branch: ref, Bound: true,
			Ended: ended}, b.Status, b.MayFail, b.Reason))
	}
	return news
}

// ended says that a pipeline has ended, and that a merge request may wait for it: the one
// that the pipeline was made for (where merged results are tested, the head is not the
// pipeline's commit), or those at the pipeline's commit.
func (p *payload) ended() queue.Stirred {
	if p.MergeRequest.IID > 0 {
		return queue.Stirred{Number: p.MergeRequest.IID}
	}
	return queue.Stirred{Head: queue.CommitID(p.Attributes.SHA)}
}

// note reads a note. An edit is ignored: it tells the author of the note, but not its
// editor.
func (p *payload) note() ([]queue.Event, error) {
	a := p.Attributes
	switch {
	case a.Of != "MergeRequest", a.System, a.Action != "" && a.Action != "create", isBot(p.User.Name) && !hasCommand(a.Note):
		return nil, forge.ErrIgnored
	case a.ID <= 0 || p.MergeRequest.IID <= 0 || p.User.Name == "":
		return nil, fmt.Errorf("%w: a note without id, author or merge request", forge.ErrIgnored)
	}
	return []queue.Event{noteEvent(p.MergeRequest.IID, a.ID, p.User.Name, a.Note, stampOf(a.CreatedAt))}, nil
}

// stampOf reads a time of a webhook; zero where it is none. Webhooks write it as Ruby does, in the
// zone of the instance's settings, and test webhooks as ISO 8601.
func stampOf(stamp string) time.Time {
	for _, layout := range []string{"2006-01-02 15:04:05 UTC", "2006-01-02 15:04:05 -0700", time.RFC3339} {
		if at, err := time.Parse(layout, stamp); err == nil {
			return at
		}
	}
	return time.Time{}
}

// instantOf is zero for no time.
func instantOf(at time.Time) queue.Instant {
	if at.IsZero() {
		return 0
	}
	return queue.At(at)
}

// mergeRequest reads the events of a merge request's webhook; there may be several.
func (p *payload) mergeRequest(id, account string) (events []queue.Event, err error) {
	a := p.Attributes
	if a.IID <= 0 {
		return nil, fmt.Errorf("%w: no merge request", forge.ErrIgnored)
	}
	add := func(body queue.Body) {
		events = append(events, queue.Event{ID: fmt.Sprintf("%s/%d", id, len(events)), Body: body})
	}
	label := func(on bool, list, other []title) {
		for _, l := range list {
			if l.Title != "" && !slices.Contains(other, l) {
				add(queue.Labeled{Number: a.IID, Label: l.Title, Actor: p.User.Name, On: on, Bot: isBot(p.User.Name)})
			}
		}
	}
	assigned := func(before, now []person) {
		if was, is := named(before, account), named(now, account); was != is && p.User.Name != account {
			add(queue.Labeled{Number: a.IID, Actor: p.User.Name, On: is, Assigned: true, Bot: isBot(p.User.Name)})
		}
	}
	switch a.Action {
	case "open":
		label(true, p.Labels, nil)
		assigned(nil, p.Assignees)
	case "close":
		add(queue.Closed{Number: a.IID})
	case "merge":
		add(queue.Closed{Number: a.IID, Merged: true})
	case "reopen":
		add(queue.Retargeted{Number: a.IID})
	case "approved", "approval", "unapproved", "unapproval":
		add(queue.Stirred{Number: a.IID})
	case "update":
		if a.OldRev != "" {
			if a.LastCommit.ID == "" {
				return nil, fmt.Errorf("%w: no head", forge.ErrIgnored)
			}
			add(queue.HeadMoved{Number: a.IID, Head: queue.CommitID(a.LastCommit.ID), By: p.User.Name, Made: instantOf(stampOf(a.UpdatedAt))})
		}
		if len(p.Changes.Draft) > 0 || len(p.Changes.Target) > 0 {
			add(queue.Retargeted{Number: a.IID})
		}
		if l := p.Changes.Labels; l != nil {
			label(false, l.Previous, l.Current)
			label(true, l.Current, l.Previous)
		}
		if l := p.Changes.Assignees; l != nil {
			assigned(l.Previous, l.Current)
		}
		if d := p.Changes.Description; d != nil && !sameDepends(d.Previous, d.Current) {
			add(queue.Stirred{Number: a.IID})
		}
	}
	if len(events) == 0 {
		return nil, forge.ErrIgnored
	}
	return events, nil
}

// sameDepends reports whether two descriptions name the same merge requests to land after.
func sameDepends(a, b string) bool {
	before, some := queue.Depends(a)
	now, more := queue.Depends(b)
	return slices.Equal(before, now) && some == more
}
