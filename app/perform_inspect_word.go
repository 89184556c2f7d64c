package app

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/app/texts"
	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation"
)

// prospect works out how a pull request would land by the method that a command
// asks for: what its commits would say, and what it stands on. The head is in the
// mirror.
func (p *inspection) prospect(ctx context.Context) error {
	var asked queue.Command
	var method config.Method
	allowed, unmade := false, false
	var below []queue.CommitID
	if err := p.facts(func(c *speculation.Core) {
		if r := c.State().Requests[p.Request]; r != nil {
			asked = r.Command
			method, allowed, unmade = c.Prospect(r, p.pr.Head)
		}
		for _, n := range p.out.Stack.Below {
			if low := c.State().Pulls[n]; low != nil && low.Head != "" {
				below = append(below, low.Head)
			}
		}
	}); err != nil {
		return err
	}
	verbs := []queue.Verb{queue.CommandLand, queue.CommandRetry, queue.CommandNow, queue.CommandTry, queue.CommandExplain}
	if p.now.config == nil || p.now.tip == "" || !unmade && !slices.Contains(verbs, asked.Verb) {
		return nil
	}
	rules := p.now.config.Queue
	template, worded := rules.Messages.Of(method, cmp.Or(p.Texts.Words.Mark, "#"))
	others := slices.ContainsFunc(rules.Allowed(), func(m config.Method) bool { return !m.Keeps() })
	if !allowed || !worded && !others {
		return nil
	}
	own, err := p.own(ctx, below, others)
	if err == nil && worded {
		p.word(own, template, method)
	}
	return err
}

// own returns the commits of the pull request that neither main nor the heads below it
// have. Where other methods than merges are possible, it notes the latest of these
// commits that has landed in another commit.
func (p *inspection) own(ctx context.Context, below []queue.CommitID, others bool) ([]mirror.OwnCommit, error) {
	held, err := p.Mirror.Objects.Held(ctx, below)
	if err != nil {
		return nil, err
	}
	own, err := p.Mirror.History.Own(ctx, p.now.tip, p.pr.Head, held...)
	if err != nil && !errors.Is(err, mirror.ErrTooMany) {
		return nil, err
	}
	if !others || len(held) > 0 {
		return own, nil
	}
	if p.out.Below, err = p.below(ctx, own, p.now.tip); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(own, func(c mirror.OwnCommit) bool { return c.Commit == p.out.Below }) {
		if own, err = p.Mirror.History.Own(ctx, p.now.tip, p.pr.Head, p.out.Below); err != nil && !errors.Is(err, mirror.ErrTooMany) {
			return nil, err
		}
	}
	return own, nil
}

// word puts the messages of the commits that would land into the answer.
func (p *inspection) word(own []mirror.OwnCommit, template config.Message, method config.Method) {
	pr, out := p.pr, &p.out
	words := config.Worded{Title: pr.Title, Author: pr.Author, Body: pr.Body, Branch: pr.Source, URL: pr.URL, Number: pr.Number, Head: string(pr.Head)}
	// The queue's own trailers are the last of the message, so that those at the end of the
	// description would count for nothing where they stand.
	described := mirror.OwnCommit{Message: "\n\n" + words.Description()}
	author, credits := creditsOf(append(slices.Clone(own), described), pr.Author)
	words.CoAuthors = credits
	for _, c := range own {
		if len(c.Parents) < 2 {
			words.Commits = append(words.Commits, texts.ClipLine(c.Subject(), 200))
		}
	}
	out.Wording.Text = template.Render(words)
	if method == config.MethodSquash {
		out.Wording.Author = author
		if !strings.Contains(template.Body, "{co_authors}") {
			out.Wording.Credits = strings.Join(credits, "\n")
			out.Wording.Text = uncredited(out.Wording.Text, credits)
		}
	}
}

// uncredited takes off the last paragraph of a message if it says only what credits say, which
// follow it.
func uncredited(text string, credits []string) string {
	at := strings.LastIndex(text, "\n\n")
	if at < 0 {
		return text
	}
	for line := range strings.SplitSeq(text[at+len("\n\n"):], "\n") {
		if !slices.ContainsFunc(credits, func(c string) bool { return strings.EqualFold(c, strings.TrimSpace(line)) }) {
			return text
		}
	}
	return strings.TrimRight(text[:at], "\n")
}

// below returns the latest of a pull request's own commits that has its content on main in
// another commit, because it was the head of a change that landed by squash or rebase. It
// is "" where there is none. own are the pull request's commits, the oldest first.
func (p *inspection) below(ctx context.Context, own []mirror.OwnCommit, tip queue.CommitID) (queue.CommitID, error) {
	if len(own) < 2 {
		return "", nil // a pull request on top of another one has the other's commits, too
	}
	line, err := p.Mirror.History.LandedHeads(ctx, tip, own[:len(own)-1])
	if err != nil {
		return "", err
	}
	landed := map[queue.CommitID]mirror.LineCommit{}
	for _, l := range line {
		if _, seen := landed[l.Head]; !seen {
			landed[l.Head] = l
		}
	}
	for _, c := range slices.Backward(own[:len(own)-1]) {
		l, named := landed[c.Commit]
		if !named {
			continue
		}
		known := false
		if err := p.facts(func(core *speculation.Core) {
			ch := core.State().Changes[l.Change]
			known = ch != nil && ch.Head == l.Head && ch.Phase == queue.Landed && ch.Verdict != nil && ch.Verdict.Commit == l.Commit
		}); err != nil {
			return "", err
		}
		if !known { // trailers prove nothing; the content does
			made, err := p.Mirror.Merges.MergeWave(ctx, []mirror.Pick{{Parent: l.Parent, Head: l.Head, Squash: true, Message: "below\n"}})
			if err != nil {
				return "", err
			}
			known = made[0].Clean() && made[0].Tree == l.Tree
		}
		if known {
			return c.Commit, nil
		}
	}
	return "", nil
}
