package derived

import (
	"slices"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

const treePrior = 0.05 // assumed share of the rejections with a step on the whole tree as their only reason, before there are any

const treePriorOf = 4 // number of rejections that the assumed share counts for

const treeCleared = 0.1 // part of the chance that remains once a change has passed with no undecided change below it

const treeBroken = 0.95 // chance of a change that has failed with no undecided change below it

// Trial is a change that is tried on a commit of the train.
type Trial struct {
	At queue.CommitID
	ID queue.ChangeID
}

// odds holds the results of one turn about changes and the steps on the whole tree.
type odds struct {
	counted  bool
	share    float64 // of rejections for which such a step is the only reason
	breaking map[queue.ChangeID]float64
	trials   []Trial
}

// Recount forgets the results of the last turn.
func (fs *TreeSteps) Recount() { fs.tree = odds{} }

// Trials returns the changes that are tried beside the train in this turn.
func (fs *TreeSteps) Trials() []Trial { return fs.tree.trials }

// SetTrials says which changes are tried beside the train in this turn.
func (fs *TreeSteps) SetTrials(trials []Trial) { fs.tree.trials = trials }

// HasTreeSteps reports whether main has steps on the whole tree.
func (fs *TreeSteps) HasTreeSteps() bool {
	return fs.s.Main.Config != nil && slices.ContainsFunc(fs.s.Main.Config.Steps, func(s config.Step) bool { return s.Scope == config.ScopeRepository })
}

// TreeTime predicts how long main's steps on the whole tree take, one after the
// other.
func (fs *TreeSteps) TreeTime() time.Duration {
	var d time.Duration
	for _, s := range fs.s.Main.Config.Steps {
		if s.Scope == config.ScopeRepository {
			d += fs.Beliefs.Duration(s.Name, config.TargetTree)
		}
	}
	return d
}

// treeShare returns the share of the remembered rejections for which only steps
// on the whole tree were the reason.
func (fs *TreeSteps) treeShare() float64 {
	if fs.tree.counted {
		return fs.tree.share
	}
	whole := map[string]bool{}
	for _, s := range fs.s.Main.Config.Steps {
		if s.Scope == config.ScopeRepository {
			whole[s.Name] = true
		}
	}
	all, tree := 0, 0
	for _, ch := range fs.s.Changes {
		if ch.Phase != queue.Rejected || ch.Reason.Code != queue.ReasonFailed {
			continue
		}
		if all++; !slices.ContainsFunc(ch.Reason.Names, func(n string) bool { return !whole[n] }) {
			tree++
		}
	}
	fs.tree.counted = true
	fs.tree.share = (float64(tree) + treePrior*treePriorOf) / float64(all+treePriorOf)
	return fs.tree.share
}

// Breaks is the chance that a change fails a step on the whole tree on the train,
// given that its own targets pass: by its prediction and by the results of such steps
// for it.
func (fs *TreeSteps) Breaks(id queue.ChangeID) float64 {
	if q, known := fs.tree.breaking[id]; known {
		return q
	}
	q := 1 - fs.Beliefs.Model.Good(fs.s.Changes[id])
	if !(q > 0) {
		q = 0
	}
	q = Unshown(min(q, 1), fs.treeShare())
	switch fs.Shown(id) {
	case Verified:
		q *= treeCleared
	case Failed:
		q = max(q, treeBroken)
	}
	if fs.tree.breaking == nil {
		fs.tree.breaking = map[queue.ChangeID]float64{}
	}
	fs.tree.breaking[id] = q
	return q
}

// Shown returns the result of steps on the whole tree for a change: Verified if they
// have passed with it, Failed if they have failed with it and it alone can be the
// reason, else Unknown.
func (fs *TreeSteps) Shown(id queue.ChangeID) Status {
	st := Unknown
	for l := range fs.Links.LinksOf[id] {
		if len(l.With) > 0 {
			continue
		}
		switch fs.treeStatus(l) {
		case Verified:
			return Verified
		case Failed:
			if fs.Clean(l) {
				st = Failed
			}
		}
	}
	return st
}

// treeStatus returns the status of a link's keys on the whole tree; it is Unknown, too,
// if the link has none.
func (fs *TreeSteps) treeStatus(l *queue.Link) Status {
	all := Unknown
	for i, f := range fs.Links.Info(l).Facts {
		if !fs.Links.WholeTree(l, l.Keys[i]) {
			continue
		}
		switch {
		case f.Decisive:
			return Failed
		case !f.Passed():
			return Unknown
		}
		all = Verified
	}
	return all
}

// Clean reports whether the commit below a link passes the steps on the whole tree: it
// is main, or a commit where they have passed.
func (fs *TreeSteps) Clean(l *queue.Link) bool {
	below := fs.Links.LinkTo(l.Parent)
	return below == nil || fs.s.Changes[below.Change] == nil || fs.s.Changes[below.Change].Phase == queue.Landed ||
		fs.treeStatus(below) == Verified
}
