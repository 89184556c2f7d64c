package gitlab

import (
	"fmt"
	"slices"
	"time"
)

// backgroundJob is a job that GitLab runs in Sidekiq.
type backgroundJob struct {
	name string
	at   time.Time // not before; zero: at once
	run  func()
}

// later enqueues a job. The caller holds the lock, and so does the function that
// runs the job.
func (s *Server) later(name string, after time.Duration, run func()) {
	j := &backgroundJob{name: name, run: run}
	if after > 0 {
		j.at = s.now().Add(after)
	}
	s.jobs = append(s.jobs, j)
}

// due returns the indexes of the jobs that may run.
func (s *Server) due() (list []int) {
	now := s.now()
	for i, j := range s.jobs {
		if !j.at.After(now) {
			list = append(list, i)
		}
	}
	return list
}

// runSome runs one of the jobs that are due; false: there is none.
func (s *Server) runSome() bool {
	list := s.due()
	if len(list) == 0 {
		return false
	}
	s.runAt(list[s.rng.IntN(len(list))])
	return true
}

func (s *Server) runAt(i int) {
	j := s.jobs[i]
	s.jobs = slices.Delete(s.jobs, i, i+1)
	j.run()
}

// work runs some jobs by chance, before a request is answered.
func (s *Server) work() {
	for !s.opts.Held && s.rng.IntN(2) == 0 && s.runSome() {
	}
}

// Settle runs all jobs that are due, and those that they make, in an order that the seed
// chooses.
func (s *Server) Settle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.runSome() {
	}
}

// Jobs lists the jobs that wait, by name, in the order in which they were made.
func (s *Server) Jobs() (names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, j := range s.jobs {
		names = append(names, j.name)
	}
	return names
}

// RunJob runs the first due job of a name; it panics where there is none.
func (s *Server) RunJob(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, i := range s.due() {
		if s.jobs[i].name == name {
			s.runAt(i)
			return
		}
	}
	panic(fmt.Sprintf("no job %q is due", name))
}
