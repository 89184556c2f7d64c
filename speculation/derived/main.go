package derived

import (
	"cmp"
	"slices"
	"strings"
	"time"

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

// Root returns the link of main's unproven keys, or nil when main is proven.
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

// NextRoot returns the link of main's unproven keys under the newer version, or
// nil.
func (fs *Facts) NextRoot() *queue.Link {
	if n := fs.s.Main.Next; n != nil && n.Root != "" {
		return fs.s.Links[n.Root]
	}
	return nil
}

// NextSurvey is the reading of main's keys under the newer version of the analyzer.
func (fs *Facts) NextSurvey() queue.Survey {
	m := &fs.s.Main
	return queue.Survey{Commit: m.Tip, Analyzer: m.Next.Analyzer, Former: m.Analyzer}
}

// Changing reports whether landings other than emergencies wait for the newer
// version: for one survey of main, and for the unproven keys that it finds, unless one
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
	} else if a := fs.s.Actions[fs.Asked(fs.NextSurvey())]; a == nil || a.Attempt > 1 {
		return false
	}
	return true
}

// Unwatched returns the keys of a link that have not been seen to pass since the link
// was made. Keys that have failed since come first, then the quickest.
func (fs *Facts) Unwatched(l *queue.Link) []queue.Key {
	type timed struct {
		key    queue.Key
		took   time.Duration
		failed int
	}
	var list []timed
	for i, f := range fs.Links.Info(l).Facts {
		if !f.Passed() || f.Entry.Good() >= l.At {
			continue // revoked by now, or confirmed
		}
		x := timed{key: l.Keys[i]}
		if st, ok := fs.Links.Step(l, x.key); ok {
			x.took = fs.Beliefs.Duration(st.Name, x.key.Target)
		}
		if n := len(f.Entry.Failures); n > 0 && f.Entry.Failures[n-1].At >= l.At {
			x.failed = 1
		}
		list = append(list, x)
	}
	slices.SortStableFunc(list, func(a, b timed) int {
		return cmp.Or(cmp.Compare(b.failed, a.failed), cmp.Compare(a.took, b.took))
	})
	keys := make([]queue.Key, len(list))
	for i, x := range list {
		keys[i] = x.key
	}
	return keys
}

// Permissions returns the permissions in force; without a configuration, the defaults.
func (fs *Facts) Permissions() config.Permissions {
	if fs.s.Main.Config == nil {
		return config.Permissions{}
	}
	return fs.s.Main.Config.Permissions
}

// Tries returns the tries that are under way, the oldest first.
func (fs *Facts) Tries() []*queue.Change {
	var out []*queue.Change
	for _, ch := range fs.trying {
		out = append(out, ch)
	}
	slices.SortFunc(out, func(a, b *queue.Change) int {
		if a.Arrival != b.Arrival {
			return int(a.Arrival - b.Arrival)
		}
		return strings.Compare(string(a.ID), string(b.ID))
	})
	return out
}
