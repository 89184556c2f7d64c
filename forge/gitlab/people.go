package gitlab

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/xanzy/go-gitlab"

	"github.com/submitqueue/submitqueue/forge"
)

// user finds the number of an account by its name; 0: there is none.
func (f *Forge) user(ctx context.Context, name string) (int, error) {
	key := strings.ToLower(name)
	if id, ok := recall(f, f.users, key); ok {
		return id, nil
	}
	list, _, err := f.client.Users.ListUsers(&gitlab.ListUsersOptions{Username: &name}, gitlab.WithContext(ctx))
	if err != nil {
		return 0, err
	}
	for _, u := range list {
		if strings.EqualFold(u.Username, name) {
			remember(f, f.users, key, u.ID)
			return u.ID, nil
		}
	}
	return 0, nil
}

// Permission reads the access level of an account in the project, also where it comes from
// a group.
func (f *Forge) Permission(ctx context.Context, user string) (forge.Permission, error) {
	doing := fmt.Sprintf("read what %.100q may do", user)
	number, err := f.user(ctx, user)
	if err != nil || number == 0 {
		return forge.PermissionNone, failure(ctx, doing, err)
	}
	id, err := f.project(ctx)
	if err != nil {
		return forge.PermissionNone, failure(ctx, doing, err)
	}
	m, _, err := f.client.ProjectMembers.GetInheritedProjectMember(id, number, gitlab.WithContext(ctx))
	if errors.Is(err, gitlab.ErrNotFound) {
		return forge.PermissionNone, nil
	}
	if err != nil {
		return forge.PermissionNone, failure(ctx, doing, err)
	}
	return permissionOf(m.AccessLevel, m.State), nil
}

// permissionOf returns the permission of an access level; somebody who is blocked, or
// awaits approval, has none.
func permissionOf(level gitlab.AccessLevelValue, state string) forge.Permission {
	switch {
	case state != "" && state != "active":
		return forge.PermissionNone
	case level >= gitlab.OwnerPermissions:
		return forge.PermissionAdmin
	case level >= gitlab.MaintainerPermissions:
		return forge.PermissionMaintain
	case level >= gitlab.DeveloperPermissions:
		return forge.PermissionWrite
	case level >= gitlab.ReporterPermissions:
		return forge.PermissionTriage
	case level >= gitlab.GuestPermissions:
		return forge.PermissionRead
	}
	return forge.PermissionNone
}

// InTeam implements forge.Teams: a team is a group, with the members of the groups
// above it.
func (f *Forge) InTeam(ctx context.Context, team, user string) (bool, error) {
	doing := fmt.Sprintf("look whether %.100q is in group %.100q", user, team)
	number, err := f.user(ctx, user)
	if err != nil || number == 0 || team == "" {
		return false, failure(ctx, doing, err)
	}
	list, _, err := f.client.Groups.ListAllGroupMembers(team, &gitlab.ListGroupMembersOptions{UserIDs: &[]int{number}}, gitlab.WithContext(ctx))
	if errors.Is(err, gitlab.ErrNotFound) {
		return false, nil
	}
	for _, m := range list {
		if m.ID == number && (m.State == "" || m.State == "active") {
			return true, nil
		}
	}
	return false, failure(ctx, doing, err)
}
