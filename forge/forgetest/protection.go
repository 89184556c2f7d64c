package forgetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Protection is how a branch is protected. Unless AllowForce, forced pushes are
// refused; deleting a protected branch always is.
type Protection struct {
	// RequiredChecks are the check runs that must have succeeded on a commit
	// before it may be pushed.
	RequiredChecks []string
	// AllowPushers are the logins and App slugs that may push. Empty: everybody with
	// write permission may.
	AllowPushers []string
	// RequirePull refuses pushes that did not come from a merged pull request.
	RequirePull bool
	// Reviews are the rules for the reviews of pull requests.
	Reviews Reviews
	// LinearHistory refuses pushes that bring a merge commit.
	LinearHistory bool
	// RequireSigned refuses pushes that bring a commit without a signature. The fake
	// checks that a signature exists, and ignores its signer.
	RequireSigned bool
	// AllowForce allows forced pushes.
	AllowForce bool
	// Bypass are the logins and App slugs to which RequiredChecks, RequirePull and
	// Reviews do not apply.
	Bypass []string
	// Ruleset makes it a ruleset, which has other messages (GH013) and other endpoints
	// than classic protection.
	Ruleset bool
	// Concealed hides classic protection from GraphQL's refUpdateRule, as GitHub may
	// hide it from callers that may bypass it.
	Concealed bool
	// ExtraRules are further rule types that a ruleset lists, such as "merge_queue";
	// they are not enforced. Classic protection may have "merge_queue" as well; then
	// only GraphQL shows it.
	ExtraRules []string
}

// ProtectBranch protects a branch, and replaces its former protection.
func (r *Repository) ProtectBranch(branch string, p Protection) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	r.guards[branch] = p
	r.rulesetID = r.s.nextID()
	r.s.touch()
}

// UnprotectBranch takes all protection off a branch.
func (r *Repository) UnprotectBranch(branch string) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	delete(r.guards, branch)
	r.s.touch()
}

// refusal tells why a push of one ref is refused: words for the ref's line, and the
// lines above it for the pusher.
type refusal struct {
	reason string
	lines  []string
}

// judge returns why this identity may not make this move, or nil. The caller holds
// r.refs.
func (r *rules) judge(ctx context.Context, who identity, m refMove) *refusal {
	if !validRef(m.ref) {
		return &refusal{reason: "funny refname"}
	}
	if strings.HasPrefix(m.ref, "refs/pull/") || strings.HasPrefix(m.ref, "refs/forgetest/") {
		return &refusal{reason: "deny updating a hidden ref"}
	}
	if no := r.repo.store.screened(ctx, who, m); no != nil {
		return no
	}
	branch, isBranch := strings.CutPrefix(m.ref, "refs/heads/")
	r.repo.s.mu.Lock()
	guard, guarded := r.repo.guards[branch]
	r.repo.s.mu.Unlock()
	if !isBranch || !guarded {
		return nil
	}
	if m.new == zeroID {
		return guard.refuse(m.ref, "Cannot delete this branch")
	}
	if m.old != "" && !guard.AllowForce {
		if _, err := r.repo.store.git(ctx, nil, "merge-base", "--is-ancestor", m.old, m.new); err != nil {
			return guard.refuse(m.ref, "Cannot force-push to this branch")
		}
	}
	broken := r.unruly(ctx, guard, m)
	r.repo.s.mu.Lock()
	defer r.repo.s.mu.Unlock()
	name := r.repo.s.pusherName(who)
	if len(guard.AllowPushers) > 0 && !slices.Contains(guard.AllowPushers, name) {
		return guard.refuse(m.ref, "You're not authorized to push to this branch. Visit "+
			"https://docs.github.com/articles/about-protected-branches/ for more information.")
	}
	if slices.Contains(guard.Bypass, name) {
		return nil
	}
	if guard.RequirePull || guard.Reviews.any() {
		return guard.refuse(m.ref, "Changes must be made through a pull request.")
	}
	if broken != "" {
		return guard.refuse(m.ref, broken)
	}
	if line := r.unmetChecks(guard, m.new); line != "" {
		return guard.refuse(m.ref, line)
	}
	return nil
}

func (r *rules) unmetChecks(p Protection, head string) string {
	var missing, failing []string
	for _, name := range p.RequiredChecks {
		switch run := r.repo.CI.lastRun(head, name); {
		case run == nil:
			missing = append(missing, name)
		case run.Status != "completed":
			missing = append(missing, name)
		case !slices.Contains([]string{"success", "neutral", "skipped"}, run.Conclusion):
			failing = append(failing, name)
		}
	}
	total := len(p.RequiredChecks)
	switch {
	case len(failing) == 1:
		return fmt.Sprintf("Required status check %q is failing.", failing[0])
	case len(failing) > 1:
		return fmt.Sprintf("%d of %d required status checks are failing.", len(failing), total)
	case len(missing) == 1:
		return fmt.Sprintf("Required status check %q is expected.", missing[0])
	case len(missing) > 1:
		return fmt.Sprintf("%d of %d required status checks are expected.", len(missing), total)
	}
	return ""
}

// refuse puts a sentence into GitHub's words.
func (p Protection) refuse(ref, sentence string) *refusal {
	if p.Ruleset {
		return &refusal{
			reason: "push declined due to repository rule violations",
			lines: []string{
				"error: GH013: Repository rule violations found for " + ref + ".", "", "- " + sentence, "",
			},
		}
	}
	return &refusal{
		reason: "protected branch hook declined",
		lines:  []string{"error: GH006: Protected branch update failed for " + ref + ".", "error: " + sentence},
	}
}

// validRef checks the rules of git-check-ref-format that matter for the file
// system.
func validRef(ref string) bool {
	if !strings.HasPrefix(ref, "refs/") || strings.ContainsAny(ref, "\\ ~^:?*[\x00\x7f") || strings.HasSuffix(ref, "/") {
		return false
	}
	for part := range strings.SplitSeq(ref, "/") {
		if part == "" || strings.HasPrefix(part, ".") || strings.Contains(part, "..") || strings.HasSuffix(part, ".lock") {
			return false
		}
	}
	return true
}
