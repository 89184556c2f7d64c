package github

import (
	"errors"
	"fmt"
	"strings"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
)

// ourCheck is the name of the queue's own check run: its results are no news.
const ourCheck = "submitqueue"

// ran is the part of webhooks about checks that we use.
type ran struct {
	Name       string `json:"name"`
	HeadSHA    string `json:"head_sha"`
	ExternalID string `json:"external_id"` // of a check run

	PullRequests []struct { // of a check suite
		Number int `json:"number"`
	} `json:"pull_requests"`
	App struct {
		Slug string `json:"slug"`
	} `json:"app"`
}

// events reads all queue events of a webhook; ErrIgnored: there are none.
func (p *payload) events(kind, delivery string) ([]queue.Event, error) {
	var out []queue.Event
	event, err := p.event(kind, delivery)
	if err == nil {
		out = append(out, event)
	} else if !errors.Is(err, forge.ErrIgnored) {
		return nil, err
	}
	if offer, ok := p.offers(kind); ok {
		out, err = append(out, queue.Event{ID: "github/offer/" + delivery, Body: offer}), nil
	}
	stirred, ignored := p.stirs(kind)
	switch {
	case ignored == nil && stirred.Number <= 0 && stirred.Head == "":
		return nil, fmt.Errorf("%w: neither a pull request's number nor a commit", forge.ErrMalformed)
	case ignored == nil:
		return append(out, queue.Event{ID: "github/stir/" + delivery, Body: stirred}), nil
	}
	return out, err
}

// offers reads the state of an open pull request from an event that may have changed it.
func (p *payload) offers(kind string) (queue.Offered, bool) {
	pr := &p.PullRequest
	if kind != "pull_request" || pr.State != "open" || pr.Number <= 0 || pr.Head.SHA == "" || pr.Base.Ref == "" || pr.User.Login == "" {
		return queue.Offered{}, false
	}
	switch p.Action {
	case "opened", "reopened", "synchronize", "labeled", "unlabeled", "ready_for_review", "converted_to_draft":
	case "edited":
		if p.Changes.Base == nil {
			return queue.Offered{}, false
		}
	default:
		return queue.Offered{}, false
	}
	out := queue.Offered{Number: pr.Number, Head: queue.CommitID(pr.Head.SHA), Base: pr.Base.Ref, Author: pr.User.Login, Draft: pr.Draft, At: instantOf(pr.UpdatedAt)}
	for _, l := range pr.Labels {
		out.Labels = append(out.Labels, l.Name)
	}
	return out, true
}

// stirs reads an event that counts only because it may change which requirements a
// pull request lacks; the other members of these events are not read.
func (p *payload) stirs(kind string) (queue.Stirred, error) {
	switch kind {
	case "check_run":
		if p.Action != "completed" || p.CheckRun.Name == ourCheck {
			return queue.Stirred{}, forge.ErrIgnored
		}
		return queue.Stirred{Head: queue.CommitID(p.CheckRun.HeadSHA)}, nil
	case "check_suite":
		if p.Action != "completed" || p.CheckSuite.App.Slug == ourCheck {
			return queue.Stirred{}, forge.ErrIgnored
		}
		return queue.Stirred{Head: queue.CommitID(p.CheckSuite.HeadSHA)}, nil
	case "status":
		if p.State == "pending" {
			return queue.Stirred{}, forge.ErrIgnored
		}
		return queue.Stirred{Head: queue.CommitID(p.SHA)}, nil
	case "pull_request_review":
		verdict := strings.EqualFold(p.Review.State, "approved") || strings.EqualFold(p.Review.State, "changes_requested")
		if p.Action == "dismissed" || verdict && (p.Action == "submitted" || p.Action == "edited") {
			return queue.Stirred{Number: p.PullRequest.Number}, nil
		}
	case "pull_request_review_thread":
		if p.Action == "resolved" || p.Action == "unresolved" {
			return queue.Stirred{Number: p.PullRequest.Number}, nil
		}
	}
	return queue.Stirred{}, forge.ErrIgnored
}
