package queue

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/queue/digest"
)

// Tools is what the environment command of a step has shown on one host.
type Tools struct {
	Command     string `json:"command"`
	Fingerprint string `json:"fingerprint,omitempty"` // of its output; empty: it failed
	Error       string `json:"error,omitempty"`       // why; hostile text
}

// OtherTools is a step that a host gets no builds of, because its tools are not those
// that the queue goes by, or are not known.
type OtherTools struct {
	Step        string
	Fingerprint string // its own; empty: the command failed
	Want        string // the queue's
	Error       string // why the command failed; hostile text
}

// FingerprintOf names what a command has printed.
func FingerprintOf(output string) string {
	return string(digest.Of("tools1", strings.TrimSpace(output))[:16])
}

// Toolset has the fingerprint that the queue goes by for each environment command. All
// hosts that verify a step with such a command have the same: a commit is judged by one
// toolset, as it is by one version of the analyzer, and a newer one takes over in the
// same way (speculation/upgrade.go).
type Toolset map[string]string

// toolsMark begins the part of a version's name that is the toolset.
const toolsMark = " tools:"

// String returns the toolset as the end of the name of a version; "" for none.
func (t Toolset) String() string {
	if len(t) == 0 {
		return ""
	}
	var parts []string
	for command, fingerprint := range t {
		parts = append(parts, commandID(command)+"="+fingerprint)
	}
	slices.Sort(parts)
	return toolsMark + strings.Join(parts, ",")
}

func commandID(command string) string { return string(digest.Of("command1", command)[:12]) }

// SplitVersion splits the name of a version into the names of the analyzer and of the toolset.
func SplitVersion(version string) (analyzer, tools string) {
	if at := strings.LastIndex(version, toolsMark); at >= 0 {
		return version[:at], version[at:]
	}
	return version, ""
}

// WithTools returns steps with the fingerprints of the toolset of that name.
func WithTools(steps []config.Step, tools string) []config.Step {
	if tools == "" {
		return steps
	}
	of := map[string]string{}
	for _, part := range strings.Split(strings.TrimPrefix(tools, toolsMark), ",") {
		if id, fingerprint, ok := strings.Cut(part, "="); ok {
			of[id] = fingerprint
		}
	}
	out := slices.Clone(steps)
	for i := range out {
		if out[i].Environment != "" {
			out[i].Fingerprint = of[commandID(out[i].Environment)]
		}
	}
	return out
}

// EnvironmentsOf returns the environment commands of some steps, each once, sorted.
func EnvironmentsOf(steps []config.Step) []string {
	var out []string
	for _, s := range steps {
		if s.Environment != "" {
			out = append(out, s.Environment)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// ToolsNamed returns the names of the toolsets that commits can be judged by. The first
// is the one to go by: for each environment command, it has the fingerprint of the hosts
// with the most slots; among equals, the one in force. It has none for a command as long
// as hosts with more slots have said nothing: they are about to. The toolset in force is
// the second, as long as there are hosts that have all of it: it goes on to decide until
// main is proven under the first.
func ToolsNamed(hosts map[string]*Host, steps []config.Step, inForce string) []string {
	best, has := Toolset{}, map[string]map[string]int{}
	for _, command := range EnvironmentsOf(steps) {
		votes, silent := map[string]int{}, 0
		for _, h := range hosts {
			t := h.ToolsOf(command)
			switch {
			case h.Bench != nil:
			case h.Slots == 0: // it is away; its former tools say nothing of its next ones
			case t.Fingerprint != "":
				votes[t.Fingerprint] += h.Slots
			case t.Error == "":
				silent += h.Slots
			}
		}
		id := commandID(command)
		has[id] = votes
		old := func(f string) int { // 0 sorts before 1
			if strings.Contains(inForce, id+"="+f) {
				return 0
			}
			return 1
		}
		for _, f := range slices.Sorted(maps.Keys(votes)) {
			was := best[command]
			if votes[f] > 0 && votes[f] >= silent && (was == "" || cmp.Or(cmp.Compare(votes[f], votes[was]), cmp.Compare(old(was), old(f))) > 0) {
				best[command] = f
			}
		}
	}
	out := []string{best.String()}
	if inForce == out[0] {
		return out
	}
	if inForce == "" {
		return append(out, "") // nothing was known of any host: each may run it
	}
	for _, part := range strings.Split(strings.TrimPrefix(inForce, toolsMark), ",") {
		id, fingerprint, _ := strings.Cut(part, "=")
		if votes, wanted := has[id]; !wanted || len(votes) > 0 && votes[fingerprint] == 0 {
			return out
		}
	}
	if len(best) == 0 {
		return []string{inForce} // no host has said anything
	}
	return append(out, inForce)
}

// ToolsOf returns what a command has shown on the host; nothing where it has not been
// run there.
func (h *Host) ToolsOf(command string) Tools { return toolsOf(h.Tools, command) }

func toolsOf(tools []Tools, command string) Tools {
	for _, t := range tools {
		if t.Command == command {
			return t
		}
	}
	return Tools{Command: command}
}

// Has reports whether the host has the tools that a step is verified with.
func (h *Host) Has(s config.Step) bool { return HasTools(h.Tools, s) }

// HasTools reports whether these are the tools that a step is verified with. A step
// without a known fingerprint can be verified with any tools, unless its environment
// command has failed.
func HasTools(tools []Tools, s config.Step) bool {
	t := toolsOf(tools, s.Environment)
	return s.Environment == "" || t.Error == "" && (s.Fingerprint == "" || s.Fingerprint == t.Fingerprint)
}
