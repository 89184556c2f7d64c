package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/submitqueue/submitqueue/workers/protocol"
)

// maxAnswer bounds the bytes that are read of an answer.
const maxAnswer = 64 << 20

// call sends a JSON request and reads the answer into out, if it is a success.
func (a *Agent) call(ctx context.Context, method, path, token, header string, in, out any) (status int, head http.Header, err error) {
	raw, err := json.Marshal(in)
	if err != nil {
		return 0, nil, err
	}
	return a.send(ctx, method, path, http.Header{"Content-Type": {"application/json"}, http.CanonicalHeaderKey(header): {token}}, bytes.NewReader(raw), out)
}

func (a *Agent) send(ctx context.Context, method, path string, head http.Header, body io.Reader, out any) (status int, answer http.Header, err error) {
	req, err := http.NewRequestWithContext(ctx, method, a.o.Server+"/api/v4/"+path, body)
	if err != nil {
		return 0, nil, err
	}
	req.Header = head
	req.Header.Set("User-Agent", "submitqueue-runner/"+a.o.Version)
	res, err := a.o.HTTP.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return 0, nil, err
	}
	if out != nil && res.StatusCode/100 == 2 && res.StatusCode != http.StatusNoContent {
		if err := json.Unmarshal(raw, out); err != nil {
			return res.StatusCode, res.Header, fmt.Errorf("the answer is not of this protocol: %w", err)
		}
	}
	return res.StatusCode, res.Header, nil
}

// backOff is a pause that grows with each failure.
type backOff struct{ next time.Duration }

// wait waits, longer each time, or as long as the server asks for (Retry-After). It reports
// false when ctx ends.
func (b *backOff) wait(ctx context.Context, head http.Header) bool {
	b.next = min(max(2*b.next, 250*time.Millisecond), 30*time.Second)
	d := b.next
	if s, err := strconv.Atoi(head.Get("Retry-After")); err == nil && s > 0 {
		d = min(time.Duration(s)*time.Second, 10*time.Minute)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// ask asks for a job until there is one.
func (s *slot) ask(ctx context.Context) (j protocol.Job, ok bool, err error) {
	a := s.agent
	var pause backOff
	for full := ""; ; {
		select {
		case <-a.drained:
			return j, false, nil
		default:
		}
		was := full
		if full = s.place.Room(); full != "" {
			if was == "" {
				s.log.Warn("takes no jobs before that is seen to", "why", full)
			}
			if !s.rest(ctx, 5*time.Second) {
				return j, false, nil
			}
			continue
		}
		asking, stop := context.WithCancel(ctx)
		go func() {
			select {
			case <-a.drained:
				stop()
			case <-asking.Done():
			}
		}()
		status, head, err := a.call(asking, http.MethodPost, "jobs/request", a.o.Token, protocol.HeaderRunnerToken,
			protocol.JobRequest{Info: a.info(), Token: a.o.Token, SystemID: a.system, LastUpdate: s.lastUpdate, Tools: a.tools.known()}, &j)
		stop()
		switch {
		case ctx.Err() != nil:
			return j, false, nil
		case err == nil && status == http.StatusCreated:
			return j, true, nil
		case err == nil && status == http.StatusNoContent:
			s.lastUpdate = head.Get(protocol.HeaderLastUpdate)
			a.survey(ctx, head.Get(protocol.HeaderEnvironments), false)
			// A server that answers at once is not asked without a pause.
			if pause.next = 0; !s.rest(ctx, 500*time.Millisecond) {
				return j, false, nil
			}
			continue
		case err == nil && status == http.StatusForbidden:
			return j, false, ErrRefused
		}
		if errors.Is(err, context.Canceled) {
			return j, false, nil
		}
		s.log.Warn("ask for a job", "server", a.o.Server, "status", status, "error", err)
		if !pause.wait(ctx, head) {
			return j, false, nil
		}
	}
}

// rest waits for d, or until the agent is drained. It reports false when ctx ends.
func (s *slot) rest(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-s.agent.drained:
		return true
	case <-ctx.Done():
		return false
	}
}
