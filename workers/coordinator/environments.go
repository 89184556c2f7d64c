package coordinator

import (
	"net/http"
	"regexp"
	"slices"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/digest"
	"github.com/submitqueue/submitqueue/workers"
	"github.com/submitqueue/submitqueue/workers/protocol"
)

// environments are the environment commands of steps.
func (c *Coordinator) environments() []string {
	if c.o.Environments == nil {
		return nil
	}
	return c.o.Environments()
}

// digestOf names a set of commands; "": there are none.
func digestOf(commands []string) string {
	if len(commands) == 0 {
		return ""
	}
	return string(digest.Of(append([]string{"environments1"}, commands...)...))[:32]
}

// listEnvironments tells a runner which environment commands there are.
func (c *Coordinator) listEnvironments(w http.ResponseWriter, r *http.Request) {
	if _, ok := c.runnerOf(w, r, ""); !ok {
		return
	}
	commands := c.environments()
	answer(w, http.StatusOK, protocol.Environments{Digest: digestOf(commands), Commands: commands})
}

var fingerprintForm = regexp.MustCompile(`^[0-9a-f]{16}$`)

// maxToolError is how many bytes are kept of a machine's message about a failed command.
const maxToolError = 300

// toolsFor returns the output of these commands on a machine. If the output of a command will
// never come, it returns an error for it, so that the queue does not wait. The caller holds mu.
func (m *machine) toolsFor(commands []string) (all []queue.Tools) {
	for _, command := range commands {
		t := queue.Tools{Command: command}
		i := slices.IndexFunc(m.tools, func(x protocol.Tool) bool { return x.Command == command })
		switch {
		case !m.info.Features[protocol.FeatureTools]:
			t.Error = "this runner runs no environment commands: use submitqueue runner, or the server's own runners"
		case i < 0:
			continue // its output is still to come
		case fingerprintForm.MatchString(m.tools[i].Fingerprint):
			t.Fingerprint = m.tools[i].Fingerprint
		default:
			said := workers.Clean(m.tools[i].Error)
			t.Error = said[:min(len(said), maxToolError)]
			if t.Error == "" {
				t.Error = "the runner does not say why it fails"
			}
		}
		all = append(all, t)
	}
	return all
}
