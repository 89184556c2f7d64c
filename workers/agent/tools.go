package agent

import (
	"bytes"
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/submitqueue/submitqueue/workers/protocol"
)

// tools is the output of the environment commands of steps on this machine.
type tools struct {
	turn sync.Mutex // held while the commands run

	mu     sync.Mutex
	digest string // of the commands that were run
	found  []protocol.Tool
}

// known returns the output that is sent with each request for a job.
func (t *tools) known() []protocol.Tool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.found
}

func (t *tools) has(digest string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.digest == digest
}

// survey runs the environment commands that the server names. It does nothing if the commands
// with this digest were run before, unless again is set. The next request tells their output.
// Commands are run like steps, without secrets.
func (a *Agent) survey(ctx context.Context, digest string, again bool) {
	if !again && a.tools.has(digest) {
		return
	}
	a.tools.turn.Lock()
	defer a.tools.turn.Unlock()
	if !again && a.tools.has(digest) { // by another slot meanwhile
		return
	}
	var e protocol.Environments
	status, _, err := a.send(ctx, http.MethodGet, "submitqueue/environments", http.Header{http.CanonicalHeaderKey(protocol.HeaderRunnerToken): {a.o.Token}}, bytes.NewReader(nil), &e)
	if err != nil || status != http.StatusOK {
		if ctx.Err() == nil && status != http.StatusForbidden && status != http.StatusNotFound { // an older server has none
			a.o.Log.Warn("ask for the environment commands of steps", "status", status, "error", err)
		}
		return
	}
	var found []protocol.Tool
	for _, command := range e.Commands {
		t := a.look.Look(ctx, command)
		if t.Error != "" {
			a.o.Log.Warn("an environment command of steps cannot be run: this machine gets no builds of those steps", "command", command, "error", t.Error)
		}
		found = append(found, protocol.Tool{Command: command, Fingerprint: t.Fingerprint, Error: t.Error})
	}
	if ctx.Err() != nil {
		return
	}
	a.tools.mu.Lock()
	defer a.tools.mu.Unlock()
	a.tools.digest, a.tools.found = e.Digest, found
}

// surveys runs the commands again from time to time: a tool may have been upgraded.
func (a *Agent) surveys(ctx context.Context) {
	tick := time.NewTicker(a.o.Tools)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.drained:
			return
		case <-tick.C:
			a.survey(ctx, "", true)
		}
	}
}
