package config

import (
	"fmt"
	"strings"
)

// meant are words that people write for a role, and which would be taken as users.
var meant = map[string]string{
	"writer": "write", "writers": "write", "maintainer": "maintain", "maintainers": "maintain",
	"admins": "admin", "administrator": "admin", "administrators": "admin", "owner": "admin", "owners": "admin",
}

// checkWho reports words of permissions that look like a role and are none.
func checkWho(d *document, c *Config) {
	p := c.Permissions
	for _, x := range []struct {
		key string
		who Who
	}{{"land", p.Land}, {"cancel", p.Cancel}, {"retry", p.Retry}, {"try", p.Try}, {"delegate", p.Delegate}, {"now", p.Now}, {"queue", p.Queue}} {
		d.who("permissions."+x.key, x.who)
	}
	for i, l := range c.Queue.Lanes {
		d.who(fmt.Sprintf("queue.lanes[%d].least", i), l.Least)
	}
}

func (d *document) who(path string, who Who) {
	words := strings.Fields(string(who))
	for i, word := range words {
		at := path
		if element := fmt.Sprintf("%s[%d]", path, i); d.written(element) {
			at = element
		}
		low := strings.ToLower(word)
		role := meant[low]
		if RoleLevel(low) > 0 && low != word {
			role = low
		}
		if role != "" {
			d.report(at, "%s would be a user of that name: the role is %s, and a user is written @%s", word, role, word)
		}
	}
}
