package derived

import (
	"github.com/submitqueue/submitqueue/queue"
)

// NextRoot returns the link whose keys main has not proven under the newer
// version, or nil.
func (fs *Facts) NextRoot() *queue.Link {
	if n := fs.s.Main.Next; n != nil && n.Root != "" {
		return fs.s.Links[n.Root]
	}
	return nil
}

func (fs *Facts) NextSurvey() queue.Survey {
	m := &fs.s.Main
	return queue.Survey{Commit: m.Tip, Analyzer: m.Next.Analyzer, Former: m.Analyzer}
}

// Changing reports whether landings other than emergencies wait for the newer
// version: for one look at main, and for what that finds to be unproven, unless it
// is red.
func (fs *Facts) Changing() bool {
	m := &fs.s.Main
	n := m.Next
	if n == nil || fs.Now >= n.Hold {
		return false
	}
	if n.Surveyed == m.Tip {
		if root := fs.NextRoot(); root == nil || fs.Links.State(root).Status == Failed {
			return false
		}
	} else if a := fs.s.Actions[fs.Outstanding[TaskKey(fs.NextSurvey())]]; a == nil || a.Attempt > 1 {
		return false
	}
	return true
}
