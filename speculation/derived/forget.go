package derived

import (
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// Forgotten reports whether what a build shows of a key does not count: passes of
// it were forgotten after the build was asked for.
func (fs *Ledger) Forgotten(k queue.Key, b *queue.Build) bool {
	by := fs.s.Main.Forgotten
	return len(by) > 0 && queue.Covered(by, k, StepIn(b, k.Step).Name, b.At)
}

// StepName returns the name of the step that an entry's key is of.
func (fs *Ledger) StepName(e *queue.Entry) string {
	if e.Step != "" || len(e.Keys) == 0 {
		return e.Step
	}
	for _, id := range Sorted(fs.s.Steps) {
		if st, ok := fs.s.Steps[id].Step(e.Keys[0].Step); ok {
			return st.Name
		}
	}
	return ""
}

// StepIn returns the step of a build that has a digest.
func StepIn(b *queue.Build, digest queue.Digest) config.Step {
	for _, j := range b.Jobs {
		if j.Step.Digest() == digest {
			return j.Step
		}
	}
	return config.Step{}
}
