package github

import (
	"context"
	"fmt"
	"strings"
)

// InTeam asks for the membership of a user, which needs the organization's
// permission members: read.
func (f *Forge) InTeam(ctx context.Context, team, user string) (bool, error) {
	org, slug, _ := strings.Cut(team, "/")
	if !login.MatchString(org) || !login.MatchString(slug) || !login.MatchString(user) {
		return false, nil // nobody has such a name
	}
	m, _, err := f.client.Teams.GetTeamMembershipBySlug(ctx, org, slug, user)
	if isNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, failure(ctx, fmt.Sprintf("read who is in the team %s", team), err)
	}
	return m.GetState() == "active", nil
}
