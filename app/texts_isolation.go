package app

import "github.com/submitqueue/submitqueue/workers"

// IsolationText warns, for people, of steps that nothing keeps from the server; "" where
// there are none.
func IsolationText(i workers.Isolation) string {
	if i != workers.IsolateNone {
		return ""
	}
	return "Steps run as the same user as this server (--isolate none): whoever may ask it to build a change can read its secrets and change what other builds see."
}
