package github

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

// Judging says how a rule of a ruleset is judged.
type Judging string

const (
	// RuleJudged is a rule that pull requests are checked against before they land, or
	// that Protection judges.
	RuleJudged Judging = "judged"
	// RuleHarmless is a rule that asks nothing of a change that is reviewed and tested,
	// or a rule that its owner lets the App's commits bypass.
	RuleHarmless Judging = "harmless"
	// RuleRefused is a rule that asks something of the change itself which cannot be
	// read here. Where the App may not bypass it, GitHub judges our push and refuses
	// it. Where the App may bypass it, or it is not known whether it may, the change
	// waits (Unmet).
	RuleRefused Judging = "refused"
)

// RuleType is a type of the rules that rulesets hold.
type RuleType struct {
	Type    string // GitHub's
	Judging Judging
	Why     string // a sentence without its end
}

// RuleTypes returns a row for each type of rule in GitHub's REST description, and for
// each other type that was seen, by type. A type without a row is RuleRefused.
func RuleTypes() []RuleType { return slices.Clone(ruleTypes) }

var ruleTypes = []RuleType{
	{"branch_name_pattern", RuleHarmless, "the queue's branch has its name, and builds' branches that have no good one are refused when they are pushed"},
	{"code_quality", RuleRefused, "results of code quality must be there for a commit, of which nothing is read here"},
	{"code_scanning", RuleRefused, "results of code scanning must be there for a commit, of which nothing is read here"},
	{"commit_author_email_pattern", RuleHarmless, "it asks for a form of commits: the commits go through if the App may bypass it, and otherwise GitHub judges the push"},
	{"commit_message_pattern", RuleHarmless, "it asks for a form of commits: the commits go through if the App may bypass it, and otherwise GitHub judges the push"},
	{"committer_email_pattern", RuleHarmless, "it asks for a form of commits: the commits go through if the App may bypass it, and otherwise GitHub judges the push"},
	{"copilot_code_review", RuleHarmless, "it asks for a review, and waits for none"},
	{"creation", RuleHarmless, "the queue's branch is there; where it binds builds' branches, their push is refused"},
	{"deletion", RuleHarmless, "the queue does not delete its branch"},
	{"file_extension_restriction", RuleHarmless, "GitHub judges every push by it, the head's first"},
	{"file_path_restriction", RuleHarmless, "GitHub judges every push by it, the head's first"},
	{"license_compliance_scanning", RuleRefused, "the licenses of new dependencies must be allowed, of which nothing is read here"},
	{"max_file_path_length", RuleHarmless, "GitHub judges every push by it, the head's first"},
	{"max_file_size", RuleHarmless, "GitHub judges every push by it, the head's first"},
	{"merge_queue", RuleJudged, "Protection says that it refuses pushes, and doctor that two queues do not share a branch"},
	{"non_fast_forward", RuleHarmless, "the queue does not force its branch"},
	{"pull_request", RuleJudged, "reviews are counted as it asks, and Protection says where it refuses pushes"},
	{"required_deployments", RuleRefused, "deployments must have succeeded, of which nothing is read here"},
	{"required_linear_history", RuleHarmless, "it asks for a form of commits: the commits go through if the App may bypass it, and otherwise GitHub judges the push"},
	{"required_signatures", RuleHarmless, "it asks for a form of commits: the commits go through if the App may bypass it, and otherwise GitHub judges the push"},
	{"required_status_checks", RuleJudged, "the checks of the pull request's head must have passed, and builds report those of what is pushed"},
	{"tag_name_pattern", RuleHarmless, "the queue makes no tags"},
	{"update", RuleJudged, "Protection says where it refuses pushes"},
	{"workflows", RuleRefused, "workflows of the organization must have passed, and nothing says here by which names"},
}

// JudgingOf returns how a rule of this type is judged; RuleRefused for an unknown type.
func JudgingOf(kind string) Judging {
	i, ok := slices.BinarySearchFunc(ruleTypes, kind, func(t RuleType, k string) int { return strings.Compare(t.Type, k) })
	if !ok {
		return RuleRefused
	}
	return ruleTypes[i].Judging
}

// The reasons why a rule cannot be judged.
const (
	becauseBypass  = queue.UnjudgedBypass
	becauseUnknown = queue.UnjudgedBypassUnknown
	becauseClassic = queue.UnjudgedPermission + "administration: read"
	becauseMembers = queue.UnjudgedPermission + "members: read"
	becauseOwners  = queue.UnjudgedOwners
	becauseLine    = queue.UnjudgedOwnersLine
	becauseFiles   = queue.UnjudgedFiles
	becauseNewer   = queue.UnjudgedNewer
)

type keptBypass struct {
	bypass
	at time.Time
}

// unjudged returns why a rule of a ruleset may let a change land that nobody has
// judged by it; "" where GitHub judges the push, or the rule is not RuleRefused.
func (f *Forge) unjudged(ctx context.Context, r rule) (string, error) {
	if JudgingOf(r.Type) != RuleRefused {
		return "", nil
	}
	kept, ok := recall(f, f.bypasses, r.Ruleset.String())
	if !ok || time.Since(kept.at) >= protectedFor {
		may, err := f.mayBypass(ctx, r.Ruleset)
		if err != nil {
			return "", err
		}
		kept = keptBypass{may, time.Now()}
		remember(f, f.bypasses, r.Ruleset.String(), kept)
	}
	return map[bypass]string{bypassYes: becauseBypass, bypassUnknown: becauseUnknown}[kept.bypass], nil
}

// doubt is a rule that cannot be judged, and why.
type doubt struct{ rule, why string }
