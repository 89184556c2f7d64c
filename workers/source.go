package workers

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// Source is where agents get work: the seam between a pool and its agents. Pool
// implements it for agents in this process.
type Source interface {
	// Next waits for a build that the agent can run, and hands it out under a
	// lease. Errors: ctx's, and ErrClosed when there will be no more work.
	Next(ctx context.Context, a Agent) (Assignment, error)
	// Report delivers the news of an assignment. It is also the heartbeat: a lease that is not
	// reported on in time is lost, and so is its build. A report with an End gives the lease
	// back. Error: ErrLost when the lease is not held (any more); the agent then abandons the
	// build.
	Report(ctx context.Context, lease Lease, r Report) error
	// Return gives back an assignment of which nothing has run: it goes to the next agent that
	// asks, without prejudice. A lease that is not held (any more) is no error.
	Return(lease Lease)
}

// Agent is the description that an agent gives of itself when it asks for work.
type Agent struct {
	Name string   // unique within the pool; the machine in results
	Host string   // the computer that it is a slot of; default Name
	OS   string   // as runtime.GOOS
	Arch string   // as runtime.GOARCH
	Tags []string // the tags that steps may ask for

	Images   bool // it runs steps in the container images, or machines, that they name
	TagsOnly bool // it takes no steps that ask for no tags

	Tools []queue.Tools // the output of the environment commands of steps there; agents in the pool's process leave it to the pool
}

// Lease names one hand-out of a build to an agent.
type Lease uint64

// Assignment is a build handed out to an agent.
type Assignment struct {
	Lease Lease
	Build queue.Build
	Beat  time.Duration   // report at least this often
	Stop  <-chan struct{} // closed when the build is to be cancelled
}

// Report is an agent's message about its assignment. The zero Report is a heartbeat. Fields
// count in the order log, job, end; Log is not kept after the call.
type Report struct {
	Log []byte         // text to add to the build's log, clean
	Job *queue.JobDone // a job that has ended
	End *End           // the build has ended: the last report
}

// End is how a build ended.
type End struct {
	Outcome queue.JobOutcome // passed, failed, infrastructure or cancelled
	Detail  string           // one sentence for people; empty when it passed
	Matched bool             `json:",omitempty"` // as in queue.BuildDone
}

// host returns the computer of the agent.
func (a Agent) host() string { return cmp.Or(a.Host, a.Name) }

// Offers says whether the agent has what a step asks for. No agent of this
// package offers images.
func (a Agent) Offers(s config.Step) bool {
	if s.Image != "" && !a.Images || a.TagsOnly && len(s.Tags) == 0 {
		return false
	}
	if s.OS != "" && canonical(s.OS) != canonical(a.OS) || s.Arch != "" && canonical(s.Arch) != canonical(a.Arch) {
		return false
	}
	if !queue.HasTools(a.Tools, s) {
		return false
	}
	for _, t := range s.Tags {
		if !slices.Contains(a.Tags, t) {
			return false
		}
	}
	return true
}

// canonical maps the names that people use for systems to Go's.
func canonical(name string) string {
	switch n := strings.ToLower(name); n {
	case "macos", "osx":
		return "darwin"
	case "x86_64", "x64":
		return "amd64"
	case "aarch64":
		return "arm64"
	default:
		return n
	}
}
