package coordinator

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/workers"
	"github.com/submitqueue/submitqueue/workers/protocol"
)

// record is the part of a job that is saved for the next server process. The job's token is
// kept as a hash; the trace is kept by its runner, which sends it again.
type record struct {
	ID      int64             `json:"id"`
	Hash    string            `json:"hash"`
	Mark    string            `json:"mark"`
	Reports string            `json:"reports"`
	Runner  int64             `json:"runner"`
	System  string            `json:"system,omitempty"`
	Slot    int               `json:"slot"`
	Info    protocol.Info     `json:"info,omitzero"`
	Tools   []protocol.Tool   `json:"tools,omitempty"`
	Held    workers.Held      `json:"held"`
	Begun   time.Time         `json:"begun,omitzero"`
	Ending  bool              `json:"ending,omitempty"`
	Files   map[string]string `json:"files,omitempty"` // uploads: their names in the folder of files, by their names in the checkout
}

func (c *Coordinator) path(id int64) string {
	return filepath.Join(c.o.Dir, "jobs", fmt.Sprintf("%d.json", id))
}

// files is the folder of the uploads of jobs.
func (c *Coordinator) files() string { return filepath.Join(c.o.Dir, "files") }

// save saves the present state of a job. A job that cannot be saved goes on; after a restart
// its runner is told to give it up.
func (c *Coordinator) save(j *job) {
	j.mu.Lock()
	defer j.mu.Unlock()
	c.saveLocked(j)
}

// saveLocked is save for a caller that holds the job's lock.
func (c *Coordinator) saveLocked(j *job) { c.saveAs(j, false) }

// saveAs saves a job; as one that is ending, if it is or soon says that it is about to be. A job
// that is over without a verdict has no record any more, and gets none: its slot has other jobs.
// The caller holds the job's lock.
func (c *Coordinator) saveAs(j *job, soon bool) {
	c.mu.Lock()
	if j.phase == over && j.end == nil {
		c.mu.Unlock()
		return
	}
	info := j.machine.info
	info.Features, info.Config = nil, nil
	r := record{ID: j.id, Hash: j.hash, Mark: j.mark, Reports: j.reports, Runner: j.machine.runner.ID, System: j.machine.system, Slot: j.slot, Info: info, Tools: j.machine.tools,
		Held:  workers.Held{Build: j.a.Build, Agent: j.agent, Handed: j.handed, Done: j.done, End: j.end, Ended: j.ended},
		Begun: j.begun, Ending: soon || j.phase == ending}
	c.mu.Unlock()
	if j.end == nil {
		r.Files = maps.Clone(j.files)
		for name, path := range r.Files {
			r.Files[name] = filepath.Base(path)
		}
	}
	raw, err := json.Marshal(r)
	if err == nil {
		path := c.path(j.id)
		if err = os.WriteFile(path+".new", raw, 0o600); err == nil {
			err = os.Rename(path+".new", path)
		}
	}
	if err != nil {
		c.o.Log.Warn("keep a job for after a restart", "build", j.a.Build.ID, "error", err)
	}
}

// unsave removes the record of a job that is over, after a message that may just be saving it,
// and the files that it has uploaded: nobody may tell its end any more.
func (c *Coordinator) unsave(j *job) {
	j.mu.Lock()
	defer j.mu.Unlock()
	c.forget(j)
	j.dropFiles()
}

// forget removes the record of a job. The caller holds the job's lock.
func (c *Coordinator) forget(j *job) {
	if err := os.Remove(c.path(j.id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.o.Log.Warn("forget a job", "error", err)
	}
}

// dropFiles removes what a job has uploaded, and has it take no more. The caller holds the job's
// lock.
func (j *job) dropFiles() {
	for _, path := range j.files {
		_ = os.Remove(path) // the folder is emptied at the next start
	}
	j.files = nil
}

// resume takes back the jobs of the process before this one, the oldest first, and removes all
// other files that it has left.
func (c *Coordinator) resume() error {
	jobs, files := filepath.Join(c.o.Dir, "jobs"), c.files()
	for _, dir := range []string{jobs, files} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	known, err := c.o.Runners.List()
	if err != nil {
		return err
	}
	names, err := os.ReadDir(jobs)
	if err != nil {
		return err
	}
	var all []record
	for _, n := range names {
		path := filepath.Join(jobs, n.Name())
		var r record
		raw, err := os.ReadFile(path)
		if err == nil && strings.HasSuffix(path, ".json") {
			err = json.Unmarshal(raw, &r)
		}
		if err != nil || r.Hash == "" || len(r.Held.Build.Jobs) != 1 || c.path(r.ID) != path {
			c.o.Log.Warn("a job of the server before this one cannot be read: its runner is told to give it up", "file", path, "error", err)
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			continue
		}
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b record) int { return cmp.Compare(a.ID, b.ID) })
	used := map[string]bool{}
	for _, r := range all {
		c.restore(r, known)
		for _, f := range r.Files {
			used[f] = true
		}
	}
	left, err := os.ReadDir(files)
	for _, f := range left {
		if !used[f.Name()] {
			err = errors.Join(err, os.Remove(filepath.Join(files, f.Name())))
		}
	}
	return err
}

// restore makes a job from its record. The pool runs its shard under a new lease.
func (c *Coordinator) restore(r record, known []Runner) {
	c.mu.Lock()
	defer c.mu.Unlock()
	runner := Runner{ID: r.Runner, Name: r.Held.Agent.Host}
	if i := slices.IndexFunc(known, func(x Runner) bool { return x.ID == r.Runner }); i >= 0 {
		runner = known[i]
	}
	now := time.Now()
	j := &job{id: r.ID, hash: r.Hash, mark: r.Mark, reports: r.Reports, agent: r.Held.Agent, machine: c.machineOf(runner, r.System, r.Info, r.Tools), slot: r.Slot,
		handed: r.Held.Handed, heard: now, begun: r.Begun, done: r.Held.Done, end: r.Held.End, ended: r.Held.Ended, gone: make(chan struct{}), files: map[string]string{}}
	// The pool has its jobs under the name of then. Without this, the order of the records would
	// decide which of several machines keeps a name.
	if host := r.Held.Agent.Host; host != "" && j.end == nil {
		j.machine.name = host
	}
	for name, f := range r.Files {
		j.files[name] = filepath.Join(c.files(), filepath.Base(f))
	}
	switch {
	case j.end != nil:
		j.phase, j.files = over, nil
		close(j.gone)
	case r.Ending:
		j.phase = ending
	case !r.Begun.IsZero():
		j.phase = running
	}
	j.a = workers.Assignment{Build: r.Held.Build}
	if holder, ok := c.o.Source.(workers.Holder); ok && !r.Ending {
		a, err := holder.Hold(r.Held)
		if err != nil {
			c.o.Log.Warn("a job of the server before this one is not taken back: its runner is told to give it up", "build", r.Held.Build.ID, "error", err)
		}
		if err == nil {
			j.a = a
		} else if j.phase != over {
			j.phase = ending
		}
	} else if !ok && j.phase != over {
		j.phase = ending
	}
	c.last = max(c.last, r.ID)
	c.add(j)
}

// open reports whether a build may be asked for again after a restart.
func (c *Coordinator) open(j *job) bool {
	holder, ok := c.o.Source.(workers.Holder)
	return ok && holder.Open(j.a.Build.ID)
}
