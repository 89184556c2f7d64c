package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// CheckPolicy says whether a change waits for the required checks of its
// pull request.
type CheckPolicy string

// The policies for required checks of pull requests.
const (
	ChecksWait  CheckPolicy = "wait"  // it enters once they have passed
	ChecksEnter CheckPolicy = "enter" // it enters at once; only what the queue builds counts
)

// ResolvePolicy says when all conversations of a pull request must be resolved.
type ResolvePolicy string

// The policies for conversations.
const (
	ResolveAuto   ResolvePolicy = "auto"   // where the branch's protection asks for it
	ResolveAlways ResolvePolicy = "always" // whatever the protection asks for
)

// Blocking returns those of a pull request's labels that block it. Case does not
// count, as at the forge.
func (r *Rules) Blocking(labels []string) []string {
	var out []string
	for _, l := range labels {
		if slices.ContainsFunc(r.BlockingLabels, func(b string) bool { return strings.EqualFold(b, l) }) {
			out = append(out, l)
		}
	}
	return out
}

// checkBlocking refuses blocking labels that ask to land.
func checkBlocking(d *document, q Rules) {
	ask := cmp.Or(q.Label, "land")
	for i, l := range q.BlockingLabels {
		at := fmt.Sprintf("queue.blocking_labels[%d]", i)
		rest, ours := strings.CutPrefix(strings.ToLower(l), strings.ToLower(ask))
		switch {
		case ours && (rest == "" || rest[0] == ':'):
			d.report(at, "%s is %s, a label that asks to land: take it out", at, quoted(l))
		}
	}
}
