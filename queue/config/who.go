package config

import (
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// Who says who may do something, as words with a blank between them: a role,
// which stands for whoever has it or more, @org/team, and users. One of them is
// enough. In the file it is a role, or a list of such words. It is a string so
// that a state of a version that knew roles only still loads.
type Who string

// MarshalYAML writes the role, or the list, as it stands in the file.
func (w Who) MarshalYAML() (any, error) {
	if words := strings.Fields(string(w)); len(words) > 1 || RoleLevel(string(w)) == 0 {
		return words, nil
	}
	return string(w), nil
}

// RoleLevel orders the roles that a user may have on a repository; what is no
// role is none.
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

const (
	UserPattern = `^@?[a-zA-Z0-9][a-zA-Z0-9_-]*(\[bot\])?$`
	teamPattern = `^@[a-zA-Z0-9][a-zA-Z0-9_-]*/[a-zA-Z0-9._-]+$`
)

// who reads a role, or a list of roles, teams and users.
func (r *reader) who(path string, n ast.Node, v reflect.Value, rule fieldRule) {
	seq, list := n.(*ast.SequenceNode)
	if !list {
		if s, ok := textOf(n); ok && (regexp.MustCompile(teamPattern).MatchString(s) || strings.HasPrefix(s, "@")) {
			r.refuse(path, n, "must be a role (%s) or a list: write [%s]", strings.Join(rule.enum, ", "), quoted(s))
			return
		}
		if s, ok := r.text(path, n, rule); ok {
			v.SetString(s)
		}
		return
	}
	if len(seq.Values) == 0 {
		r.refuse(path, n, "is an empty list: it needs at least one role, team or user")
		return
	}
	if len(seq.Values) > maxWho {
		r.refuse(path, n, "has %d entries, and at most %d are allowed", len(seq.Values), maxWho)
		return
	}
	var words []string
	for i, entry := range seq.Values {
		sub := fmt.Sprintf("%s[%d]", path, i)
		s, ok := r.text(sub, entry, fieldRule{minLength: 1, maxLength: math.MaxInt})
		switch {
		case !ok:
		case RoleLevel(s) > 0 && !contains(rule.enum, s), s == "none":
			r.refuse(sub, entry, "is the role %s, and the least that can be asked for is %s", quoted(s), rule.enum[0])
		case !regexp.MustCompile(UserPattern).MatchString(s) && !regexp.MustCompile(teamPattern).MatchString(s):
			r.refuse(sub, entry, "must be a role (%s), a team such as \"@org/team\", or a user, found %s", strings.Join(rule.enum, ", "), quoted(s))
		default:
			words = append(words, s)
		}
	}
	v.SetString(strings.Join(words, " "))
}

// maxWho bounds who one permission names.
const maxWho = 100
