package app

import (
	"context"
	"net/url"
	"strings"

	"github.com/submitqueue/submitqueue/app/texts"
	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation"
)

// MainCheckName is the name of the check run on commits of the target branch.
const MainCheckName = CheckName + "/main"

// tell makes the check of a commit of the target branch say what the state says.
func (p *site) tell(ctx context.Context, a *queue.Action, t queue.Tell) (queue.Body, error) {
	var v queue.QueueView
	if err := p.facts(func(c *speculation.Core) { v = c.Queue(p.Queue) }); err != nil {
		return nil, err
	}
	done := queue.Done{Action: a.Key, Shown: t.Want}
	if v.Main.Tip != t.Commit || t.Red != (len(v.Red) > 0) {
		return done, nil // the next Tell shows the present state
	}
	o := p.Texts
	o.Now = queue.At(p.Now())
	state, title, summary := texts.MainCheck(v, o)
	check := forge.Check{Name: MainCheckName, Head: t.Commit, ExternalID: "main", State: forge.CheckState(state), Title: title, Summary: summary}
	if o.BaseURL != "" {
		check.DetailsURL = strings.TrimSuffix(o.BaseURL, "/") + "/queue?queue=" + url.QueryEscape(p.Queue)
	}
	return gone(done, p.orAway(ctx, p.Forge.Check(ctx, check)))
}
