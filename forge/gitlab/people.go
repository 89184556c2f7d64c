package gitlab

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/xanzy/go-gitlab"

	"github.com/submitqueue/submitqueue/forge"
)

// user finds the number of an account by its name; 0: there is none. A known number may be out
// of date: an account can be renamed, and anybody may take its former name. So its users go
// through byName, which compares the name in the answer.
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

// byName reads something about an account of this name: read is given its number, and returns
// the name that the account has in the answer, "" if it is not in the answer. If the number was
// remembered, and is of another account by now, it is looked up, and read is called again.
func (f *Forge) byName(ctx context.Context, name string, read func(number int) (string, error)) error {
	for {
		_, remembered := recall(f, f.users, strings.ToLower(name))
		number, err := f.user(ctx, name)
		if err != nil || number == 0 {
			return err
		}
		now, err := read(number)
		if err != nil || !remembered || strings.EqualFold(now, name) {
			return err
		}
		forget(f, f.users, strings.ToLower(name))
	}
}

// Permission reads the access level of an account in the project, also where it comes from
// a group.
func (f *Forge) Permission(ctx context.Context, user string) (forge.Permission, error) {
	doing := fmt.Sprintf("read what %.100q may do", user)
	id, err := f.project(ctx)
	if err != nil {
		return forge.PermissionNone, failure(ctx, doing, err)
	}
	out := forge.PermissionNone
	err = f.byName(ctx, user, func(number int) (string, error) {
		out = forge.PermissionNone
		m, _, err := f.client.ProjectMembers.GetInheritedProjectMember(id, number, gitlab.WithContext(ctx))
		if errors.Is(err, gitlab.ErrNotFound) {
			return "", nil
		}
		if err != nil {
			return "", err
		}
		if strings.EqualFold(m.Username, user) {
			out = permissionOf(m.AccessLevel, m.State)
		}
		return m.Username, nil
	})
	if err != nil {
		return forge.PermissionNone, failure(ctx, doing, err)
	}
	return out, nil
}

// permissionOf returns the permission of an access level; an account that is blocked, or awaits
// approval, has none.
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
	if team == "" {
		return false, nil
	}
	in := false
	err := f.byName(ctx, user, func(number int) (string, error) {
		in = false
		list, _, err := f.client.Groups.ListAllGroupMembers(team, &gitlab.ListGroupMembersOptions{UserIDs: &[]int{number}}, gitlab.WithContext(ctx))
		if errors.Is(err, gitlab.ErrNotFound) {
			return "", nil
		}
		if err != nil {
			return "", err
		}
		for _, m := range list {
			if m.ID == number {
				in = strings.EqualFold(m.Username, user) && (m.State == "" || m.State == "active")
				return m.Username, nil
			}
		}
		return "", nil
	})
	if err != nil {
		return false, failure(ctx, doing, err)
	}
	return in, nil
}
