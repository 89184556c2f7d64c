package github

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/submitqueue/submitqueue/forge"
)

// demands are what a branch asks of pull requests, by rulesets and classic
// protection together.
type demands struct {
	approvals  int
	codeOwners bool
	lastPush   bool // told by rulesets only
	stale      bool // reviews of an older head do not count; told by rulesets only
	resolved   bool
	checks     []demandedCheck

	unknown bool // classic protection has not been read yet
}

// reviews reports whether there are any demands on reviews.
func (d demands) reviews() bool { return d.approvals > 0 || d.codeOwners || d.lastPush }

type demandedCheck struct {
	name string
	app  int64 // that must have reported it; 0 or less: any
}

// keptDemands is how long the demands of a branch are taken as they were read.
const keptDemands = 5 * time.Second

type readDemands struct {
	demands
	at time.Time
}

// demands returns what is asked by the branch's rulesets, and what is remembered
// of its classic protection.
func (f *Forge) demands(ctx context.Context, branch string) (demands, error) {
	f.mu.Lock()
	known, ok := f.demanded[branch]
	f.mu.Unlock()
	if ok && time.Since(known.at) < keptDemands {
		return known.demands, nil
	}
	out := demands{unknown: !ok}
	for page := 1; page != 0; {
		var list []struct {
			Type       string          `json:"type"`
			Parameters json.RawMessage `json:"parameters"`
		}
		resp, err := f.get(ctx, fmt.Sprintf("rules/branches/%s?per_page=100&page=%d", url.PathEscape(branch), page), &list)
		if err != nil {
			if err = failure(ctx, "read rules", err); errors.Is(err, forge.ErrNotFound) { // a server before rulesets
				break
			}
			return out, err
		}
		for _, r := range list {
			if err := out.add(r.Type, r.Parameters); err != nil {
				return out, fmt.Errorf("rule %s: %w", r.Type, err)
			}
		}
		page = resp.NextPage
	}
	if ok { // what classic protection asked for when it was last read says what to ask for now
		out.resolved = out.resolved || known.resolved
	}
	return out, nil
}

// add takes in a rule of a ruleset. Rules of other types ask nothing of pull requests.
func (d *demands) add(kind string, parameters json.RawMessage) error {
	switch kind {
	case "pull_request":
		var p struct {
			Approvals  int  `json:"required_approving_review_count"`
			CodeOwners bool `json:"require_code_owner_review"`
			LastPush   bool `json:"require_last_push_approval"`
			Stale      bool `json:"dismiss_stale_reviews_on_push"`
			Resolved   bool `json:"required_review_thread_resolution"`
		}
		if err := json.Unmarshal(parameters, &p); err != nil {
			return err
		}
		d.approvals = max(d.approvals, p.Approvals)
		d.codeOwners = d.codeOwners || p.CodeOwners
		d.lastPush = d.lastPush || p.LastPush
		d.stale = d.stale || p.Stale
		d.resolved = d.resolved || p.Resolved
	case "required_status_checks":
		var p struct {
			Checks []struct {
				Context string `json:"context"`
				App     int64  `json:"integration_id"`
			} `json:"required_status_checks"`
		}
		if err := json.Unmarshal(parameters, &p); err != nil {
			return err
		}
		for _, c := range p.Checks {
			d.check(demandedCheck{c.Context, c.App})
		}
	}
	return nil
}

func (d *demands) check(c demandedCheck) {
	if !slices.Contains(d.checks, c) {
		d.checks = append(d.checks, c)
	}
}

// with returns the demands with those of classic protection.
func (d demands) with(reply *unmetAnswer) demands {
	d.unknown = false
	d.checks = slices.Clone(d.checks)
	if ref := reply.Repository.Ref; ref != nil && ref.Rule != nil {
		d.approvals = max(d.approvals, ref.Rule.Approvals)
		d.codeOwners = d.codeOwners || ref.Rule.CodeOwners
		d.resolved = d.resolved || ref.Rule.Resolved
		for _, name := range ref.Rule.Checks {
			d.check(demandedCheck{name: name})
		}
	}
	return d
}

// noteDemands keeps what was read for the requests that come together with it.
func (f *Forge) noteDemands(branch string, d demands) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if was, ok := f.demanded[branch]; ok && time.Since(was.at) < keptDemands {
		return
	}
	if f.demanded == nil || len(f.demanded) > 100 {
		f.demanded = map[string]readDemands{}
	}
	f.demanded[branch] = readDemands{d, time.Now()}
}
