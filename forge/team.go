package forge

import "context"

// Teams is a Forge that knows teams. Without it, no team has a member.
type Teams interface {
	// InTeam reports whether a user is an active member of a team, named
	// "org/team". A team that does not exist has no members. Errors as in Forge.
	InTeam(ctx context.Context, team, user string) (bool, error)
}
