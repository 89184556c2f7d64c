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

// Unrunnable returns the keys of a valid file that ask for things which no runner of
// this version offers, as errors with their places; nil: none. A server takes such a
// file: its steps wait for a runner.
func Unrunnable(file string, data []byte, c *Config) error {
	d := &document{findings: newFindings(file, string(data)), refused: map[string]bool{}}
	d.guarded(func() { d.root = parseYAML(d.findings, strings.TrimPrefix(string(data), "\ufeff")) })
	for i, s := range c.Steps {
		path := fmt.Sprintf("steps[%d]", i)
		if s.Image != "" {
			d.report(path+".image", "the runners of this version run no images: take it out, and install on the runner what step %s needs", s.Name)
		}
		if len(s.Tags) > 0 {
			d.report(path+".tags", "the runners of this version offer no tags (%s): take them out", strings.Join(s.Tags, ", "))
		}
	}
	return d.result()
}
