package gitlab

import (
	"context"
	"net/http"
	"strconv"
	"strings"
)

// GuardFacts are the protection of a branch, or of the branches that a pattern
// matches.
type GuardFacts struct {
	Name   string     `json:"name"`
	Push   []WhoFacts `json:"push_access_levels"`
	Owners bool       `json:"code_owner_approval_required"`
}

// WhoFacts name the holders of a right to a protected branch: everybody from a level on, or
// one account, group or key.
type WhoFacts struct {
	Level int    `json:"access_level"` // 0: no one
	User  int    `json:"user_id"`
	Group int    `json:"group_id"`
	Key   int    `json:"deploy_key_id"`
	Says  string `json:"access_level_description"`
}

// Covers reports whether a branch is protected by this rule. A * matches any text, including
// slashes.
func (g GuardFacts) Covers(branch string) bool {
	parts := strings.Split(g.Name, "*")
	if len(parts) == 1 {
		return g.Name == branch
	}
	rest, ok := strings.CutPrefix(branch, parts[0])
	if !ok {
		return false
	}
	for _, part := range parts[1 : len(parts)-1] {
		_, after, found := strings.Cut(rest, part)
		if !found {
			return false
		}
		rest = after
	}
	return strings.HasSuffix(rest, parts[len(parts)-1])
}

// Lets reports whether an account with a level of access may push to the protected
// branches. The members of groups are not known here: a right of a group does not count.
func (g GuardFacts) Lets(account, level int) bool {
	for _, who := range g.Push {
		switch {
		case who.User != 0:
			if who.User == account {
				return true
			}
		case who.Group != 0, who.Key != 0, who.Level == 0:
		case level >= who.Level:
			return true
		}
	}
	return false
}

// Protect protects the branches of a pattern, so that only maintainers may push. Doing it
// again is no error.
func (f *Forge) Protect(ctx context.Context, project int, pattern string) error {
	body := map[string]any{"name": pattern, "push_access_level": 40, "merge_access_level": 0, "allow_force_push": true}
	err := f.ask(ctx, "protect the branches "+pattern, http.MethodPost, "projects/"+strconv.Itoa(project)+"/protected_branches", body, nil)
	if err != nil && says(err, "already exists") {
		return nil
	}
	return err
}
