package coordinator

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/workers"
	"github.com/submitqueue/submitqueue/workers/protocol"
)

// request holds a machine's request until there is a job for it, and hands out the job. A job
// that cannot be handed over goes back to the source.
func (c *Coordinator) request(w http.ResponseWriter, r *http.Request) {
	var q protocol.JobRequest
	if !body(w, r, &q) {
		return
	}
	runner, ok := c.runnerOf(w, r, q.Token)
	if !ok {
		return
	}
	commands := c.environments()
	c.mu.Lock()
	m := c.machineOf(runner, q.SystemID, q.Info, q.Tools)
	slot, free := m.slot()
	if runner.Paused || !free {
		c.mu.Unlock()
		c.none(w)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), c.o.Hold)
	defer cancel()
	m.asking[slot] = cancel
	agent := m.agent(slot, commands)
	c.mu.Unlock()

	defer context.AfterFunc(c.live, cancel)()
	a, err := c.o.Source.Next(ctx, agent)
	var j *job
	if err == nil {
		j = c.take(r.Context(), tokenOf(r, q.Token), a, m, slot)
	}
	c.mu.Lock()
	delete(m.asking, slot)
	m.seen = time.Now()
	c.leave(m)
	c.mu.Unlock()
	if j == nil {
		c.none(w)
		return
	}
	c.save(j)
	raw, err := json.Marshal(c.payload(j))
	if err != nil {
		c.o.Log.Error("write a job", "build", a.Build.ID, "error", err)
		c.none(w)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	if _, err := w.Write(raw); err != nil {
		c.giveBack(j)
		return
	}
	if err := http.NewResponseController(w).Flush(); err != nil {
		c.giveBack(j)
	}
}

// none says that there is nothing to do.
func (c *Coordinator) none(w http.ResponseWriter) {
	if digest := digestOf(c.environments()); digest != "" {
		w.Header().Set(protocol.HeaderEnvironments, digest)
	}
	w.Header().Set(protocol.HeaderLastUpdate, strconv.FormatInt(time.Now().UnixMilli(), 16))
	w.WriteHeader(http.StatusNoContent)
}

// take makes a job of an assignment. It gives the assignment back if the machine is gone, and
// ends it with an infrastructure error if its report cannot be read.
func (c *Coordinator) take(ctx context.Context, token string, a workers.Assignment, m *machine, slot int) *job {
	now, ok, _ := c.o.Runners.Find(token) // it may have been paused while the request was held
	if ctx.Err() != nil || c.live.Err() != nil || !ok || now.Paused || !now.Revoked.IsZero() {
		c.o.Source.Return(a.Lease)
		return nil
	}
	j, err := c.newJob(ctx, a, m, slot)
	switch {
	case err != nil && ctx.Err() != nil:
		c.o.Source.Return(a.Lease)
		return nil
	case err != nil:
		c.o.Log.Warn("make a job", "build", a.Build.ID, "error", err)
		_ = c.o.Source.Report(context.Background(), a.Lease, workers.Report{End: &workers.End{Outcome: queue.JobInfra, Detail: "cannot read the files of the commit: " + workers.Clean(err.Error())}})
		return nil
	}
	return j
}
