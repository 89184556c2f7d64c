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
	approvals    int
	codeOwners   bool
	lastPush     bool
	stale        bool // reviews of an older head do not count
	unattributed bool // commits of no known account take one approval more
	resolved     bool
	checks       []demandedCheck
	teams        []demandedTeam

	doubts    []doubt // rules that cannot be judged
	undecided []doubt // the same, but not where GitHub tells its decision on reviews, which may know of these rules

	unknown bool // classic protection has not been read yet
}

// reviews reports whether there are any demands on reviews.
func (d demands) reviews() bool {
	return d.approvals > 0 || d.codeOwners || d.lastPush || d.unattributed || len(d.teams) > 0
}

// demandedTeam is a team that must approve changes of some files (required_reviewers,
// in beta).
type demandedTeam struct {
	team     int64
	patterns []string
	minimum  int
}

type demandedCheck struct {
	name string
	app  int64 // the App that must have reported it; 0 or less: any
}

// keptDemands is how long the demands of a branch are not read again.
const keptDemands = 5 * time.Second

type readDemands struct {
	demands
	at time.Time
}

// demands returns the demands of the branch's rulesets. Of classic protection, it
// adds only whether it was known to ask for resolved conversations.
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
			rule
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
			why, err := f.unjudged(ctx, r.rule)
			if err != nil {
				return out, err
			}
			if why != "" {
				out.doubts = append(out.doubts, doubt{r.Type, why})
			}
		}
		page = resp.NextPage
	}
	if ok { // the last known demand of classic protection says whether to read conversations now
		out.resolved = out.resolved || known.resolved
	}
	return out, nil
}

// add takes in a rule of a ruleset. Rules of other types ask nothing of pull requests.
func (d *demands) add(kind string, parameters json.RawMessage) error {
	switch kind {
	case "pull_request":
		var p struct {
			Approvals    int  `json:"required_approving_review_count"`
			CodeOwners   bool `json:"require_code_owner_review"`
			LastPush     bool `json:"require_last_push_approval"`
			Stale        bool `json:"dismiss_stale_reviews_on_push"`
			Unattributed bool `json:"require_extra_approval_for_unattributed_changes"`
			Resolved     bool `json:"required_review_thread_resolution"`
			Reviewers    []struct {
				Patterns []string `json:"file_patterns"`
				Minimum  int      `json:"minimum_approvals"`
				Reviewer struct {
					ID   int64  `json:"id"`
					Type string `json:"type"`
				} `json:"reviewer"`
			} `json:"required_reviewers"`
		}
		var all map[string]json.RawMessage
		if err := errors.Join(json.Unmarshal(parameters, &p), json.Unmarshal(parameters, &all)); err != nil {
			return err
		}
		d.approvals = max(d.approvals, p.Approvals)
		d.codeOwners = d.codeOwners || p.CodeOwners
		d.lastPush = d.lastPush || p.LastPush
		d.stale = d.stale || p.Stale
		d.unattributed = d.unattributed || p.Unattributed
		d.resolved = d.resolved || p.Resolved
		for _, r := range p.Reviewers {
			switch {
			case r.Minimum <= 0: // asked, and not waited for
			case r.Reviewer.Type == "Team":
				d.teams = append(d.teams, demandedTeam{r.Reviewer.ID, r.Patterns, r.Minimum})
			default:
				d.doubts = append(d.doubts, doubt{"required_reviewers", becauseNewer})
			}
		}
		for name, value := range all {
			if !slices.Contains(pullParameters, name) && !slices.Contains([]string{"false", "0", "null", "[]", "{}", `""`}, string(value)) {
				d.undecided = append(d.undecided, doubt{name, becauseNewer})
			}
		}
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

// PullParameters returns the known parameters of the rule pull_request. An unknown
// parameter is taken to ask for something that cannot be judged, where GitHub's
// decision on reviews, which may know of it, is missing.
func PullParameters() []string { return slices.Clone(pullParameters) }

var pullParameters = []string{"allowed_merge_methods", "dismiss_stale_reviews_on_push", "dismissal_restriction", "require_code_owner_review",
	"require_extra_approval_for_unattributed_changes", "require_last_push_approval", "required_approving_review_count",
	"required_review_thread_resolution", "required_reviewers"}

func (d *demands) check(c demandedCheck) {
	if !slices.Contains(d.checks, c) {
		d.checks = append(d.checks, c)
	}
}

// with returns the demands with those of classic protection that everybody may read.
func (d demands) with(reply *unmetAnswer) demands {
	d.unknown = false
	var classic demands
	if rule := reply.rule(); rule != nil {
		classic = demands{approvals: rule.Approvals, codeOwners: rule.CodeOwners, resolved: rule.Resolved}
		for _, name := range rule.Checks {
			classic.check(demandedCheck{name: name})
		}
	}
	return d.and(classic)
}

// and returns the demands of both.
func (d demands) and(e demands) demands {
	d.approvals = max(d.approvals, e.approvals)
	d.codeOwners, d.lastPush, d.stale = d.codeOwners || e.codeOwners, d.lastPush || e.lastPush, d.stale || e.stale
	d.resolved = d.resolved || e.resolved
	d.checks, d.doubts = slices.Clone(d.checks), append(slices.Clone(d.doubts), e.doubts...)
	for _, c := range e.checks {
		d.check(c)
	}
	return d
}

// noteDemands keeps the demands for the requests that come at the same time, and
// whether classic protection, which is read separately, asks for resolved
// conversations.
func (f *Forge) noteDemands(branch string, d demands, resolved bool) {
	d.resolved = d.resolved || resolved
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
