package derived

import (
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// External is the policy for commits that we did not make.
func (fs *Facts) External() config.External {
	if e := fs.Rules().External; e != "" {
		return e
	}
	if fs.s.Main.Protected {
		return config.ExternalHold
	}
	return config.ExternalTrust
}

// Root returns the link whose keys are what main has unproven, or nil when
// main is proven.
func (fs *Facts) Root() *queue.Link {
	if fs.s.Main.Root == "" {
		return nil
	}
	return fs.s.Links[fs.s.Main.Root]
}

// ProvenMain reports whether every key of main has passed.
func (fs *Facts) ProvenMain() bool {
	return fs.s.Main.Tip != "" && fs.s.Main.Surveyed == fs.s.Main.Tip && fs.Root() == nil
}
