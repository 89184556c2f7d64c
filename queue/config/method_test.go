package config_test

import (
	"fmt"
	"testing"

	"github.com/submitqueue/submitqueue/queue/config"
)

// A repository's own settings count where the file says nothing of how changes land, and
// what was read is not changed.
func TestFollowing(t *testing.T) {
	const file = "version: 1\nsteps:\n  - {name: a, run: make}\n"
	for text, said := range map[string]bool{"": false, "queue: {head: leave}\n": false, "queue: {method: merge}\n": true, "queue: {methods: [squash]}\n": true} {
		c, got, err := config.ParseSaid("x", []byte(file+text))
		if err != nil || got.Landing != said {
			t.Errorf("%q: %v, %v", text, got, err)
			continue
		}
		before := fmt.Sprint(c.Queue.Allowed())
		f := c.Following([]config.Method{config.MethodSquash, config.MethodRebase})
		if a := fmt.Sprint(f.Queue.Allowed()); a != "[squash rebase]" || fmt.Sprint(c.Queue.Allowed()) != before {
			t.Errorf("%q: it follows %s, and the one before is %v, not %s", text, a, c.Queue.Allowed(), before)
		}
		if c.Following(nil) != c {
			t.Errorf("%q: it follows nothing", text)
		}
	}
}
