package config

import (
	"slices"
	"strings"
)

// Who says which people may do something, as words with a blank between them: a
// role, which stands for everybody with it or a higher one, @org/team, and
// users. One of them is enough. In the file it is a role, or a list of such
// words. It is a string so that a state of a version that knew roles only still
// loads.
type Who string

// MarshalYAML writes the role, or the list, as it stands in the file.
func (w Who) MarshalYAML() (any, error) {
	if words := strings.Fields(string(w)); len(words) > 1 || RoleLevel(string(w)) == 0 {
		return words, nil
	}
	return string(w), nil
}

// UnmarshalYAML reads a role, or a list of roles, teams and users.
func (w *Who) UnmarshalYAML(decode func(any) error) error {
	if decode((*string)(w)) == nil {
		return nil
	}
	var words []string
	err := decode(&words)
	*w = Who(strings.Join(words, " "))
	return err
}

// RoleLevel orders the roles that a user may have on a repository; it is 0 for
// a word that is no role.
func RoleLevel(name string) int {
	return slices.Index([]string{"read", "triage", "write", "maintain", "admin"}, name) + 1
}

// Teams returns the teams of the list as "org/team".
func (w Who) Teams() []string {
	var out []string
	for _, word := range strings.Fields(string(w)) {
		if name, at := strings.CutPrefix(word, "@"); at && strings.Contains(name, "/") {
			out = append(out, name)
		}
	}
	return out
}

// Role returns the least role of the list, "" where it has none.
func (w Who) Role() string {
	least := ""
	for _, word := range strings.Fields(string(w)) {
		if n := RoleLevel(word); n > 0 && (least == "" || n < RoleLevel(least)) {
			least = word
		}
	}
	return least
}

// Allows reports whether somebody is in the list: by the role, by name, or by
// one of the teams that they are known to be in.
func (w Who) Allows(role, user string, teams []string) bool {
	for _, word := range strings.Fields(string(w)) {
		name := strings.TrimPrefix(word, "@")
		switch {
		case RoleLevel(word) > 0:
			if RoleLevel(role) >= RoleLevel(word) {
				return true
			}
		case strings.Contains(name, "/"):
			if slices.ContainsFunc(teams, func(t string) bool { return strings.EqualFold(t, name) }) {
				return true
			}
		case user != "" && strings.EqualFold(name, user):
			return true
		}
	}
	return false
}

// HearsBot reports whether the commands of an App are followed.
func (p Permissions) HearsBot(login string) bool {
	return slices.ContainsFunc(p.Bots, func(b string) bool { return strings.EqualFold(botName(b), botName(login)) })
}

func botName(login string) string { return strings.TrimSuffix(login, "[bot]") }
