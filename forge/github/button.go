package github

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
)

// ourCheckID matches the external id of our check runs: the id of the change, which
// begins with the pull request's number.
var ourCheckID = regexp.MustCompile(`^([1-9][0-9]{0,9})\.[0-9a-f]{8}$`)

// pressed reads that somebody has pressed a button of a check run of ours, or
// has asked for it to run again, as the command that it stands for. GitHub tells
// an App only of its own check runs. It does not send the pull requests of forks
// with it, so the number is that of the change.
func (p *payload) pressed(event *queue.Event) error {
	body := map[string]string{forge.ButtonCancel: "/land cancel", forge.ButtonRetry: "/land retry"}[p.RequestedAction.Identifier]
	if p.Action == "rerequested" {
		body = "/land retry"
	} else if p.Action != "requested_action" {
		return forge.ErrIgnored
	}
	found := ourCheckID.FindStringSubmatch(p.CheckRun.ExternalID)
	if found == nil || body == "" {
		return forge.ErrIgnored
	}
	if p.Sender.Login == "" || p.CheckRun.HeadSHA == "" {
		return fmt.Errorf("%w: a button without who pressed it, or without a commit", forge.ErrMalformed)
	}
	number, err := strconv.Atoi(found[1])
	if err != nil {
		return forge.ErrIgnored
	}
	event.Body = queue.Commented{Number: number, Author: p.Sender.Login, Body: body, Bot: p.Sender.bot(), Head: queue.CommitID(p.CheckRun.HeadSHA)}
	return nil
}

// edited reads that somebody has edited a comment of a queue, for example by ticking its
// box. We are the author of such a comment, so an edit of ours is by its author.
func (p *payload) edited(event *queue.Event) error {
	by := p.Comment.User
	if p.Issue.PullRequest == nil || p.Changes.Body == nil || !by.bot() || strings.EqualFold(by.Login, p.Sender.Login) {
		return forge.ErrIgnored
	}
	before, command := queue.Toggled(p.Changes.Body.From, p.Comment.Body)
	if before.Marker == "" {
		return forge.ErrIgnored
	}
	if p.Sender.Login == "" || p.Issue.Number <= 0 {
		return fmt.Errorf("%w: an edit without who made it, or without a pull request's number", forge.ErrMalformed)
	}
	event.Body = queue.Edited{Number: p.Issue.Number, Author: p.Sender.Login, Bot: p.Sender.bot(), Before: before, Command: command, Made: instantOf(p.Comment.UpdatedAt)}
	return nil
}

// again reads that somebody has asked for all check runs on a commit to run
// again. GitHub sends it to each App that has check runs there; where it does not
// name the pull request, the webhook is ignored.
func (p *payload) again(event *queue.Event) error {
	s := p.CheckSuite
	if p.Action != "rerequested" || len(s.PullRequests) == 0 || s.PullRequests[0].Number <= 0 {
		return forge.ErrIgnored
	}
	if p.Sender.Login == "" || s.HeadSHA == "" {
		return fmt.Errorf("%w: a request without who made it, or without a commit", forge.ErrMalformed)
	}
	event.Body = queue.Commented{Number: s.PullRequests[0].Number, Author: p.Sender.Login, Body: "/land retry", Bot: p.Sender.bot(), Head: queue.CommitID(s.HeadSHA)}
	return nil
}
