package github

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
)

// receiver reads webhooks that are signed with a secret.
type receiver struct {
	secret []byte
	now    func() time.Time
}

var _ forge.Receiver = receiver{}

// NewReceiver returns a receiver of GitHub's webhooks. Only SHA-256 signatures
// are accepted; with an empty secret, no webhook is accepted. The size of a body is
// the caller's to limit.
func NewReceiver(secret string) forge.Receiver { return NewReceiverAt(secret, time.Now) }

// NewReceiverAt is NewReceiver with a given clock.
func NewReceiverAt(secret string, now func() time.Time) forge.Receiver {
	return receiver{[]byte(secret), now}
}

// payload has the members that we use of GitHub's webhooks. It is read leniently:
// GitHub adds members all the time, and some of its own examples break its schemas.
type payload struct {
	Action     string  `json:"action"`
	Number     int     `json:"number"`
	Ref        string  `json:"ref"`
	Repository named   `json:"repository"`
	Sender     account `json:"sender"`
	Issue      struct {
		Number      int       `json:"number"`
		PullRequest *struct{} `json:"pull_request"`
	} `json:"issue"`
	Comment struct {
		ID   int64   `json:"id"`
		Body string  `json:"body"`
		User account `json:"user"`

		CreatedAt time.Time `json:"created_at"`
		UpdatedAt time.Time `json:"updated_at"`
	} `json:"comment"`
	Review struct {
		ID    int64   `json:"id"`
		Body  string  `json:"body"` // null where there is none
		User  account `json:"user"`
		State string  `json:"state"`

		SubmittedAt time.Time `json:"submitted_at"`
	} `json:"review"`
	PullRequest struct {
		Number int    `json:"number"`
		State  string `json:"state"`
		Merged bool   `json:"merged"`
		Draft  bool   `json:"draft"`
		Body   string `json:"body"`

		User   account `json:"user"`
		Labels []struct {
			Name string `json:"name"`
		} `json:"labels"`
		Base struct {
			Ref string `json:"ref"`
		} `json:"base"`

		UpdatedAt time.Time `json:"updated_at"`
		Head      struct {
			SHA string `json:"sha"`
		} `json:"head"`
	} `json:"pull_request"`
	Label struct {
		Name string `json:"name"`
	} `json:"label"`
	RequestedAction struct {
		Identifier string `json:"identifier"`
	} `json:"requested_action"`
	Changes struct {
		Base *struct{} `json:"base"`
		Body *struct {
			From string `json:"from"`
		} `json:"body"`
	} `json:"changes"`
	CheckRun   ran    `json:"check_run"`
	CheckSuite ran    `json:"check_suite"`
	SHA        string `json:"sha"`   // of a status
	State      string `json:"state"` // of a status
}

type account struct {
	Login string `json:"login"`
	Type  string `json:"type"`
}

// Receive checks the signature over the raw body, then reads it.
func (r receiver) Receive(h http.Header, body []byte) (forge.Delivery, error) {
	if !r.signed(h, body) {
		return forge.Delivery{}, forge.ErrSignature
	}
	d := forge.Delivery{ID: h.Get("X-GitHub-Delivery"), Kind: h.Get("X-GitHub-Event")}
	if d.ID == "" || d.Kind == "" {
		return d, fmt.Errorf("%w: X-GitHub-Delivery or X-GitHub-Event is missing", forge.ErrMalformed)
	}
	data, err := content(h, body)
	if err != nil {
		return d, fmt.Errorf("%w: %w", forge.ErrMalformed, err)
	}
	if ok, err := access(&d, data); ok {
		return d, err
	}
	var p payload
	if err := json.Unmarshal(data, &p); err != nil {
		return d, fmt.Errorf("%w: %w", forge.ErrMalformed, err)
	}
	d.Repository, d.RepositoryID = p.Repository.FullName, p.Repository.ID
	events, err := p.events(d.Kind, d.ID)
	if ciKind(d.Kind) {
		news, failed := ciNews(d.Kind, data)
		switch {
		case failed == nil:
			d.CI = news
			if errors.Is(err, forge.ErrIgnored) {
				return d, nil
			}
		case !errors.Is(failed, forge.ErrIgnored):
			return d, failed
		}
	}
	if err != nil {
		return d, err
	}
	if at := p.at(d.Kind); !at.IsZero() && r.now().Sub(at) > replayWindow {
		return d, fmt.Errorf("%w: it is of %s, which is too long ago", forge.ErrIgnored, at.Format(time.RFC3339))
	}
	if d.Repository == "" {
		return d, fmt.Errorf("%w: no repository", forge.ErrMalformed)
	}
	d.Events = events
	return d, nil
}

func (r receiver) signed(h http.Header, body []byte) bool {
	mac, right, err := r.Verify(h)
	if err != nil {
		return false
	}
	_, _ = mac.Write(body) // a hash takes all
	return right() == nil
}

// Verify implements forge.Receiver.
func (r receiver) Verify(h http.Header) (io.Writer, func() error, error) {
	given, ok := strings.CutPrefix(h.Get("X-Hub-Signature-256"), "sha256=")
	sum, err := hex.DecodeString(given)
	if !ok || err != nil || len(sum) != sha256.Size || len(r.secret) == 0 {
		return nil, nil, forge.ErrSignature
	}
	mac := hmac.New(sha256.New, r.secret)
	return mac, func() error {
		if !hmac.Equal(sum, mac.Sum(nil)) {
			return forge.ErrSignature
		}
		return nil
	}, nil
}

// content takes the JSON out of the body, which may be a form.
func content(h http.Header, body []byte) ([]byte, error) {
	kind, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil {
		return nil, err
	}
	switch kind {
	case "application/json":
		return body, nil
	case "application/x-www-form-urlencoded":
		form, err := url.ParseQuery(string(body))
		if err != nil {
			return nil, err
		}
		return []byte(form.Get("payload")), nil
	}
	return nil, errors.New("content type " + strconv.Quote(kind))
}

// event reads one event, or returns ErrIgnored or ErrMalformed.
func (p *payload) event(kind, delivery string) (queue.Event, error) {
	event := queue.Event{ID: "github/delivery/" + delivery}
	number := p.PullRequest.Number
	switch kind {
	case "issue_comment":
		if p.Action == "edited" {
			return event, p.edited(&event)
		}
		if p.Action != "created" || p.Issue.PullRequest == nil || p.Comment.User.silent(p.Comment.Body) {
			return event, forge.ErrIgnored
		}
		number = p.Issue.Number
		if p.Comment.ID == 0 || p.Comment.User.Login == "" {
			return event, fmt.Errorf("%w: a comment without id or author", forge.ErrMalformed)
		}
		event = commentEvent(number, "", p.Comment.ID, p.Comment.User, p.Comment.Body, p.Comment.CreatedAt)
	case "pull_request_review_comment":
		if p.Action != "created" || !hasCommand(p.Comment.Body) {
			return event, forge.ErrIgnored
		}
		if p.Comment.ID == 0 || p.Comment.User.Login == "" {
			return event, fmt.Errorf("%w: a comment without id or author", forge.ErrMalformed)
		}
		event = commentEvent(number, inlinePrefix, p.Comment.ID, p.Comment.User, p.Comment.Body, p.Comment.CreatedAt)
	case "pull_request_review":
		if p.Action != "submitted" || !hasCommand(p.Review.Body) {
			return event, forge.ErrIgnored
		}
		if p.Review.ID == 0 || p.Review.User.Login == "" {
			return event, fmt.Errorf("%w: a review without id or author", forge.ErrMalformed)
		}
		event = commentEvent(number, reviewPrefix, p.Review.ID, p.Review.User, p.Review.Body, p.Review.SubmittedAt)
	case "check_suite":
		if err := p.again(&event); err != nil {
			return event, err
		}
		return event, nil
	case "check_run":
		if err := p.pressed(&event); err != nil {
			return event, err
		}
		return event, nil
	case "pull_request":
		if err := p.pullEvent(&event, delivery); err != nil {
			return event, err
		}
	case "push":
		branch, ok := strings.CutPrefix(p.Ref, "refs/heads/")
		if !ok {
			return event, forge.ErrIgnored
		}
		event.Body = queue.MainMoved{Branch: branch}
		return event, nil
	default:
		return event, forge.ErrIgnored
	}
	if number <= 0 {
		return event, fmt.Errorf("%w: no pull request's number", forge.ErrMalformed)
	}
	return event, nil
}

func (p *payload) pullEvent(event *queue.Event, delivery string) error {
	number := p.PullRequest.Number
	switch p.Action {
	case "synchronize":
		if p.PullRequest.Head.SHA == "" {
			return fmt.Errorf("%w: no head", forge.ErrMalformed)
		}
		event.Body = queue.HeadMoved{Number: number, Head: queue.CommitID(p.PullRequest.Head.SHA), By: p.Sender.Login, Made: instantOf(p.PullRequest.UpdatedAt)}
	case "closed":
		event.Body = queue.Closed{Number: number, Merged: p.PullRequest.Merged}
	case "labeled", "unlabeled":
		if p.Label.Name == "" {
			return fmt.Errorf("%w: no label", forge.ErrMalformed)
		}
		event.ID = "github/label/" + delivery
		event.Body = queue.Labeled{
			Number: number, Label: p.Label.Name, Actor: p.Sender.Login, On: p.Action == "labeled", Bot: p.Sender.bot(), Made: instantOf(p.PullRequest.UpdatedAt),
		}
	case "edited":
		switch {
		case p.Changes.Base != nil:
			event.Body = queue.Retargeted{Number: number}
		case p.Changes.Body != nil && !sameDepends(p.Changes.Body.From, p.PullRequest.Body):
			event.Body = queue.Stirred{Number: number}
		default:
			return forge.ErrIgnored
		}
	case "converted_to_draft", "ready_for_review", "reopened", "stacked":
		event.Body = queue.Retargeted{Number: number}
	default:
		return forge.ErrIgnored
	}
	return nil
}

// sameDepends reports whether two descriptions name the same pull requests to land after.
func sameDepends(a, b string) bool {
	before, some := queue.Depends(a)
	now, more := queue.Depends(b)
	return slices.Equal(before, now) && some == more
}

// commentEvent returns the same event in whichever way we learn of a comment. The
// prefix tells comments, reviews and comments in reviews apart, which are numbered
// separately.
func commentEvent(number int, prefix string, id int64, author account, body string, made time.Time) queue.Event {
	comment := prefix + strconv.FormatInt(id, 10)
	return queue.Event{
		ID:   "github/comment/" + comment,
		Body: queue.Commented{Number: number, Comment: comment, Author: author.Login, Body: body, Bot: author.bot(), Made: instantOf(made)},
	}
}

// late is an event of a comment that was found by Missed.
func late(e queue.Event) queue.Event {
	b := e.Body.(queue.Commented)
	b.Late = true
	e.Body = b
	return e
}

func (a account) bot() bool { return a.Type == "Bot" }

// silent reports whether a comment of the account cannot matter: that of an App
// without a command.
func (a account) silent(body string) bool { return a.bot() && !hasCommand(body) }

// hasCommand says whether a text may contain commands: whether a line of it
// starts with a slash.
func hasCommand(body string) bool {
	for line := range strings.Lines(body) {
		if strings.HasPrefix(strings.TrimLeft(line, " \t"), "/") {
			return true
		}
	}
	return false
}

// replayWindow is how old a webhook may be, by the times in its signed body: three
// days, for which GitHub keeps a webhook to deliver it again when we ask, and some
// hours. The inbox remembers the deliveries that it has seen for longer than that,
// so a delivery that somebody else sends again does nothing.
const replayWindow = 80 * time.Hour

// at returns when the event of the payload happened, by the date of that very event;
// zero where it has none. A review has the date when it was submitted, not when it was
// dismissed or edited. A resolved conversation has no date, and its pull request may be
// old. Both events only make us look at a pull request once more.
func (p *payload) at(kind string) time.Time {
	switch {
	case kind == "pull_request":
		return p.PullRequest.UpdatedAt
	case kind == "pull_request_review" && p.Action == "submitted":
		return p.Review.SubmittedAt
	case kind == "issue_comment" && p.Action == "edited":
		return p.Comment.UpdatedAt
	case kind == "issue_comment", kind == "pull_request_review_comment":
		return p.Comment.CreatedAt
	}
	return time.Time{}
}
