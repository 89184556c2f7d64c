package app

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"strings"
	"sync"

	"github.com/submitqueue/submitqueue/app/texts"
	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation"
)

// CheckName is the name of the check run on each pull request's head.
const CheckName = "submitqueue"

// TryCheckName is the name of the check run of a try.
const TryCheckName = CheckName + "/try"

// publisher tells people what the state says.
type publisher struct {
	*site
	pace *pacer

	mu       sync.Mutex
	said     map[int]forge.Publication // last, by pull request
	finished map[queue.ChangeID]bool   // landed, and their pull requests are as they should be; true: closed though their branch was moved (Verdict.Closed)
}

// forget drops the pull requests and changes that the state has dropped.
func (p *publisher) forget(s *queue.State) {
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.DeleteFunc(p.said, func(n int, _ forge.Publication) bool { return s.Pulls[n] == nil })
	maps.DeleteFunc(p.finished, func(id queue.ChangeID, _ bool) bool { return s.Changes[id] == nil })
}

// publish makes the comment and the check of a pull request say what the state
// says at this moment.
func (p *publisher) publish(ctx context.Context, a *queue.Action, t queue.Publish) (queue.Body, error) {
	var v queue.View
	var ok bool
	var gist string
	var edited queue.Instant
	o := p.Texts
	o.Now = queue.At(p.Now())
	if err := p.facts(func(c *speculation.Core) {
		v, ok = c.PullView(t.Number)
		gist, _ = gistOf(c, t.Number)
		if pull := c.State().Pulls[t.Number]; pull != nil {
			edited = pull.Edited
		}
		o.Broken = c.State().Main.Broken
		if m := c.State().Main.Config; m != nil {
			o.Method, _ = m.Queue.MethodFor("")
			o.Checkbox = m.Queue.Checkbox != config.CheckboxOff
		}
	}); err != nil {
		return nil, err
	}
	var err error
	if o.Default, err = p.elseDefault(ctx, v.Change); err != nil {
		return nil, err
	}
	done := queue.Done{Action: a.Key, Shown: t.Want}
	if !ok {
		return done, nil
	}
	say := forge.Publication{Number: t.Number, Marker: texts.Marker(p.Queue), Comment: texts.Comment(v, o)}
	if v.Change.ID != "" && v.Change.Would == nil {
		state, title, summary := texts.Check(v, o)
		name := CheckName
		if v.Change.On != "" {
			name = TryCheckName // a try that has passed is no permission to merge
		}
		say.Check = forge.Check{Name: name, Head: v.Change.Head, ExternalID: string(v.Change.ID),
			State: forge.CheckState(state), Title: title, Summary: summary, DetailsURL: p.detailsURL(v.Change.ID),
			Annotations: annotations(v.Change), Buttons: buttons(v.Change), New: p.pace.isFresh(v.Change.ID)}
		say.Ended, say.Merged = v.Change.Phase.Final() && v.Change.On == "", v.Change.Phase == queue.Landed // a change that was tried may still land
	}
	say.Edited = edited
	if v.Change.ID == "" && v.Notice.Code != "" {
		say.Refused = v.Answered
	}
	err = p.say(p.pace.urgently(ctx, say, gist), say, gist)
	if err == nil {
		done.Said = p.saidOn(t.Number)
		err = p.finish(ctx, v.Change)
	}
	return gone(done, p.orAway(ctx, err))
}

// say publishes the parts that have not been said yet; gist is the gist of what they say.
func (p *publisher) say(ctx context.Context, now forge.Publication, gist string) error {
	p.mu.Lock()
	last := p.said[now.Number]
	p.mu.Unlock()
	isNew := now.Check.New
	now.Check.New = false
	if reflect.DeepEqual(last, now) {
		return nil
	}
	if f := p.Forge.Capabilities().Publisher; f != nil {
		if err := f.Publish(ctx, now); err != nil {
			return err
		}
	} else {
		if (last.Comment != now.Comment || last.Edited != now.Edited) && p.pace.worthTelling(now.Number, gist) {
			if err := p.Forge.Comment(ctx, now.Number, now.Marker, now.Comment); err != nil {
				return err
			}
			last.Comment, last.Edited = now.Comment, now.Edited
			p.note(now.Number, last)
			p.pace.retell(now.Number, gist, true)
		}
		if !reflect.DeepEqual(last.Check, now.Check) && now.Check.Name != "" {
			check := now.Check
			check.New = isNew
			p.pace.notFresh(queue.ChangeID(check.ExternalID)) // once tried, it may be there
			if err := p.Forge.Check(ctx, check); err != nil {
				return err
			}
		}
		now.Comment, now.Edited = last.Comment, last.Edited
	}
	p.note(now.Number, now)
	p.pace.retell(now.Number, gist, false)
	return nil
}

// saidOn is the present content of a pull request's comment.
func (p *publisher) saidOn(number int) queue.Said {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.said[number].Comment == "" {
		return queue.Said{}
	}
	said, _ := queue.SaidIn(p.said[number].Comment)
	return said
}

func (p *publisher) note(number int, said forge.Publication) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.said[number] = said
}

func (p *publisher) detailsURL(id queue.ChangeID) string {
	if p.Texts.BaseURL == "" {
		return ""
	}
	return fmt.Sprintf("%s/change?queue=%s&id=%s", strings.TrimSuffix(p.Texts.BaseURL, "/"), url.QueryEscape(p.Queue), id)
}
