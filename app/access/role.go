package access

import "fmt"

// Role is what a token lets its bearer do. Each role includes the ones before it.
type Role string

// The roles.
const (
	Read  Role = "read"  // pages, logs, metrics and the API
	Land  Role = "land"  // to land and to cancel
	Admin Role = "admin" // commands about the whole queue: to pause, to resume, to have passes forgotten
)

var levels = map[Role]int{Read: 1, Land: 2, Admin: 3}

// ParseRole returns the role of a name.
func ParseRole(name string) (Role, error) {
	if levels[Role(name)] == 0 {
		return "", fmt.Errorf("there is no role %q: there are read, land and admin", name)
	}
	return Role(name), nil
}

// May reports whether the role may do what another one may. The zero role may do nothing.
func (r Role) May(what Role) bool { return levels[what] > 0 && levels[r] >= levels[what] }
