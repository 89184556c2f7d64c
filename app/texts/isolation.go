package texts

import (
	"strings"

	"github.com/submitqueue/submitqueue/workers"
)

// Isolation warns people that steps run without isolation from the server, and that
// builds leave their homes to later builds; "" where neither is so.
func Isolation(i workers.Isolation, keepHomes bool) string {
	var texts []string
	if i == workers.IsolateNone {
		texts = append(texts, "Steps run as the same user as this server (--isolate none): a person who may ask it to build a change can read its secrets and change what other builds see.")
	}
	if keepHomes && i != "" {
		texts = append(texts, "The homes of steps stay from build to build (--keep-homes): a person who may ask for a build can change what later builds find there.")
	}
	return strings.Join(texts, " ")
}

// Gaps says, for people, what the isolation of steps leaves open on this machine.
func Gaps(gaps []string) string {
	if len(gaps) == 0 {
		return ""
	}
	return "Open to steps on this machine: " + strings.Join(gaps, "; ") + "."
}
