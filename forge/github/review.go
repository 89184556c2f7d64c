package github

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
)

// decided says whether GitHub tells its decision on the reviews for the branch on which
// the pull request is to land. GitHub decides for the branch that the pull request asks
// for. The decision is null where no reviews are asked for, and was seen to be null
// where they are (runatlantis/atlantis#6373).
func decided(r forge.Requirements, reply *unmetAnswer) bool {
	return r.Base == r.Branch && reply.Repository.Pull.Decision != ""
}

// reviewed is the result of the reviews of a pull request.
type reviewed struct {
	against []string // reviewers that ask for changes
	by      []string // approvers, without the author of the pull request
	onHead  []string // approvers of this head
}

// reviewedBy counts reviews; with head, only approvals of this head.
func reviewedBy(r forge.Requirements, list []opinion, head bool) (out reviewed) {
	for _, v := range list {
		who := v.Author.Login
		switch {
		case v.State == "CHANGES_REQUESTED":
			out.against = append(out.against, who)
		case v.State != "APPROVED" || who == "" || strings.EqualFold(who, strings.TrimSuffix(r.Author, "[bot]")):
		case v.Commit.OID == string(r.Head):
			out.onHead = append(out.onHead, who)
			out.by = append(out.by, who)
		case !head:
			out.by = append(out.by, who)
		}
	}
	slices.Sort(out.against)
	return out
}

// unmetReviews follows GitHub's decision where there is one for the branch that the
// pull request lands on, and counts by the rules of that branch where there is none.
// It is not known whether the decision covers required_reviewers (beta), so they are
// counted in any case.
func (f *Forge) unmetReviews(ctx context.Context, r forge.Requirements, d demands, reply *unmetAnswer) (out []queue.Requirement, err error) {
	if !d.reviews() && !decided(r, reply) {
		for _, x := range d.undecided {
			out = append(out, unjudgeable(x))
		}
		return out, nil
	}
	v := reviewedBy(r, reply.Repository.Pull.Reviews.Nodes, d.stale && !decided(r, reply))
	if decided(r, reply) {
		out = decidedReviews(d, reply.Repository.Pull.Decision, v)
	} else if out, err = f.countedReviews(ctx, r, d, reply, v); err != nil {
		return nil, err
	}
	teams, err := f.unmetTeams(ctx, r, d, v)
	return append(out, teams...), err
}

func count(have, want int) queue.Requirement {
	return queue.Requirement{Kind: queue.RequireReviews, Names: []string{strconv.Itoa(have), strconv.Itoa(want)}}
}

func decidedReviews(d demands, decision string, v reviewed) (out []queue.Requirement) {
	want := max(d.approvals, 1)
	switch decision {
	case "CHANGES_REQUESTED":
		out = append(out, queue.Requirement{Kind: queue.RequireNoChanges, Names: v.against})
		if len(v.by) < d.approvals {
			out = append(out, count(len(v.by), want))
		}
	case "REVIEW_REQUIRED":
		switch {
		case len(v.by) < d.approvals:
			out = append(out, count(len(v.by), want))
		case d.codeOwners:
			out = append(out, queue.Requirement{Kind: queue.RequireCodeOwners})
		case d.lastPush:
			out = append(out, queue.Requirement{Kind: queue.RequireLastPush})
		case d.unattributed:
			out = append(out, queue.Requirement{Kind: queue.RequireAttributed})
		case len(v.by) < want:
			out = append(out, count(len(v.by), want))
		default: // by a rule that is not shown
			out = append(out, queue.Requirement{Kind: queue.RequireReviews})
		}
	}
	return out
}

// countedReviews counts as GitHub's documentation says, and strictly where the
// documentation is not clear.
func (f *Forge) countedReviews(ctx context.Context, r forge.Requirements, d demands, reply *unmetAnswer, v reviewed) (out []queue.Requirement, err error) {
	if len(v.against) > 0 {
		out = append(out, queue.Requirement{Kind: queue.RequireNoChanges, Names: v.against})
	}
	if len(v.by) < d.approvals {
		out = append(out, count(len(v.by), d.approvals))
	}
	if d.lastPush && len(v.by) >= d.approvals {
		approved, err := f.lastPushApproved(ctx, r, reply, v)
		if err != nil {
			return nil, err
		}
		if !approved {
			out = append(out, queue.Requirement{Kind: queue.RequireLastPush})
		}
	}
	if d.unattributed && len(v.by) == d.approvals && !attributed(reply) {
		out = append(out, queue.Requirement{Kind: queue.RequireAttributed})
	}
	if d.codeOwners {
		owners, err := f.unmetOwners(ctx, r, v)
		if err != nil {
			return nil, err
		}
		out = append(out, owners...)
	}
	for _, x := range d.undecided {
		out = append(out, unjudgeable(x))
	}
	return out, nil
}

// attributed says whether each commit is known to have an account as its author.
func attributed(reply *unmetAnswer) bool {
	made := reply.Repository.Pull.Made
	for _, n := range made.Nodes {
		if n.Commit.Author.User == nil {
			return false
		}
	}
	return made.Total == len(made.Nodes)
}

// lastPushApproved says whether somebody other than the pusher of the head has
// approved it. GitHub tells the pusher for branches of this repository; for a fork,
// two approvals are needed, since one of the two approvers did not push. The author
// and the committer of the commit do not count either.
func (f *Forge) lastPushApproved(ctx context.Context, r forge.Requirements, reply *unmetAnswer, v reviewed) (bool, error) {
	p, others := reply.Repository.Pull, slices.Clone(v.onHead)
	without := func(who string) {
		who = strings.TrimSuffix(who, "[bot]")
		others = slices.DeleteFunc(others, func(o string) bool { return strings.EqualFold(strings.TrimSuffix(o, "[bot]"), who) })
	}
	for _, n := range p.Made.Nodes[max(len(p.Made.Nodes)-1, 0):] {
		for _, s := range []signer{n.Commit.Author, n.Commit.Committer} {
			if s.User != nil {
				without(s.User.Login)
			}
		}
	}
	if len(others) != 1 || p.Fork {
		return len(others) > 1, nil
	}
	who, err := f.pusher(ctx, p.Source, string(r.Head))
	if err != nil || who == "" {
		return false, err
	}
	without(who)
	return len(others) > 0, nil
}

// unmetTeams returns the missing approvals of teams that must approve files of a
// pull request.
func (f *Forge) unmetTeams(ctx context.Context, r forge.Requirements, d demands, v reviewed) (out []queue.Requirement, err error) {
	if len(d.teams) == 0 {
		return nil, nil
	}
	files, doubtful, err := f.changed(ctx, r.Number)
	if err != nil {
		return nil, err
	}
	if doubtful {
		return []queue.Requirement{unjudgeable(doubt{"required_reviewers", becauseFiles})}, nil
	}
	for _, t := range d.teams {
		var paths []string
		for _, name := range files {
			if matchesAny(t.patterns, name) {
				paths = append(paths, name)
			}
		}
		if len(paths) == 0 {
			continue
		}
		have := 0
		for _, who := range v.by {
			in, err := f.inTeam(ctx, fmt.Sprintf("teams/%d/memberships/%s", t.team, who))
			if isForbidden(err) {
				return append(out, unjudgeable(doubt{"required_reviewers", becauseMembers})), nil
			}
			if err != nil {
				return nil, err
			}
			if in {
				have++
			}
		}
		if have < t.minimum {
			out = append(out, queue.Requirement{Kind: queue.RequireTeam, Names: append([]string{strconv.Itoa(have), strconv.Itoa(t.minimum)}, paths[:min(len(paths), 5)]...)})
		}
	}
	return out, nil
}

func unjudgeable(d doubt) queue.Requirement {
	return queue.Requirement{Kind: queue.RequireJudged, Names: []string{d.rule, d.why}}
}
