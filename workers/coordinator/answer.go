package coordinator

import (
	"encoding/json"
	"io"
	"net/http"

	"github.com/submitqueue/submitqueue/workers/protocol"
)

// message is the answer to a request that failed, in the form of GitLab's API.
type message struct {
	Text string `json:"message"`
}

// maxBody is the most bytes that are read of a request without a file.
const maxBody = 1 << 20

// answer writes a JSON answer.
func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the reader may have hung up
}

// later answers that the server is not ready: the runner sends its request again.
func later(w http.ResponseWriter) {
	w.Header().Set("Retry-After", "2")
	answer(w, http.StatusServiceUnavailable, message{"503 Service Unavailable: the server has just started, or ends"})
}

// body reads a JSON request. If it cannot, it answers the request and returns false.
func body(w http.ResponseWriter, r *http.Request, v any) bool {
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err == nil && len(raw) > 0 {
		err = json.Unmarshal(raw, v)
	}
	if err != nil {
		answer(w, http.StatusBadRequest, message{"400 Bad Request: the body is no JSON of this protocol"})
		return false
	}
	return true
}

// tokenOf returns the token of a request: versions of the runner put it into different
// headers, and the oldest into the body only.
func tokenOf(r *http.Request, inBody string) string {
	for _, name := range []string{protocol.HeaderJobToken, protocol.HeaderRunnerToken, protocol.HeaderPrivateToken} {
		if t := r.Header.Get(name); t != "" {
			return t
		}
	}
	return inBody
}

// runnerOf returns the runner that sent a request. If there is none, it answers the request,
// with 403 only if the token is unknown or revoked: after three of these answers a runner stops
// asking for an hour.
func (c *Coordinator) runnerOf(w http.ResponseWriter, r *http.Request, inBody string) (Runner, bool) {
	x, ok, err := c.o.Runners.Find(tokenOf(r, inBody))
	switch {
	case err != nil && !ok:
		c.o.Log.Error("a runner cannot be let in", "error", err)
		answer(w, http.StatusInternalServerError, message{"500 the server cannot read its runners; its log says why"})
		return x, false
	case !ok || !x.Revoked.IsZero():
		answer(w, http.StatusForbidden, message{"403 Forbidden: this token is no runner's here, or was revoked; `submitqueue runners add NAME` makes one"})
		return x, false
	}
	return x, true
}

// verify says whether a runner's token is good.
func (c *Coordinator) verify(w http.ResponseWriter, r *http.Request) {
	var v protocol.VerifyRequest
	if !body(w, r, &v) {
		return
	}
	x, ok := c.runnerOf(w, r, v.Token)
	if !ok {
		return
	}
	answer(w, http.StatusOK, protocol.Verified{ID: x.ID, Token: tokenOf(r, v.Token)})
}

// register refuses registrations of a kind that GitLab itself has given up.
func (c *Coordinator) register(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusForbidden, message{"403 Forbidden: runners are made on the server, with `submitqueue runners add NAME --tags a,b`; register with the token that it prints"})
}

// unregister forgets a machine, once none of its requests is held: what these get is known by the
// machine. Other machines can go on with its token.
func (c *Coordinator) unregister(w http.ResponseWriter, r *http.Request) {
	var v protocol.VerifyRequest
	if !body(w, r, &v) {
		return
	}
	x, ok := c.runnerOf(w, r, v.Token)
	if !ok {
		return
	}
	c.mu.Lock()
	if m := c.machines[mkey{x.ID, v.SystemID}]; m != nil {
		m.left = true
		for _, end := range m.asking {
			end()
		}
		c.leave(m)
	}
	c.mu.Unlock()
	w.WriteHeader(http.StatusNoContent)
}

// leave takes a machine that was unregistered off the list, unless it has something. The caller
// holds mu.
func (c *Coordinator) leave(m *machine) {
	if m.left && len(m.jobs)+len(m.asking) == 0 {
		delete(c.machines, mkey{m.runner.ID, m.system})
	}
}

// reset refuses to change a token: tokens do not expire.
func (c *Coordinator) reset(w http.ResponseWriter, r *http.Request) {
	var v protocol.VerifyRequest
	if !body(w, r, &v) {
		return
	}
	if _, ok := c.runnerOf(w, r, v.Token); ok {
		answer(w, http.StatusBadRequest, message{"400 tokens of this server do not end by themselves: make another runner, and revoke this one"})
	}
}
