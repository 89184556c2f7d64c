package derived

import "github.com/submitqueue/submitqueue/queue"

// Asked returns the key of the action that is under way for a task, or "".
func (fs *Facts) Asked(t queue.Task) string { return fs.asked[taskName(t)] }

// Began takes in that an action was asked for. There is one at a time for a task.
func (fs *Facts) Began(a *queue.Action) {
	fs.asked[taskName(a.Task)] = a.Key
	fs.Builds.run(a.Task, true)
}

// Ended takes in that an action has ended.
func (fs *Facts) Ended(a *queue.Action) {
	if name := taskName(a.Task); fs.asked[name] == a.Key {
		delete(fs.asked, name)
	}
	fs.Builds.run(a.Task, false)
}

// run takes in whether an action has a build run.
func (fs *Builds) run(t queue.Task, asked bool) {
	if r, is := t.(queue.Run); is {
		if b := fs.Live[fs.s.Builds[r.Build]]; b != nil {
			b.Asked = asked
		}
	}
}

func taskName(t queue.Task) string {
	kind, subject := t.Name()
	return kind + "/" + subject
}
