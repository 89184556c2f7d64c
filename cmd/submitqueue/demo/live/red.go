package live

import (
	"context"

	"github.com/submitqueue/submitqueue/cmd/submitqueue/demo"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation"
)

var _ demo.Breaker = (*demoStack)(nil)

// PushPast implements demo.Breaker.
func (d *demoStack) PushPast(_ context.Context, commits []demo.Pushed) ([]string, error) {
	defer d.host.hold()() // there are several pushes, and the queue is to see them as one
	d.timing.Lock()
	d.slowest = 0
	d.timing.Unlock()
	var ids []string
	for _, c := range commits {
		id, err := d.host.commit(c.Author, commit{branch: d.branch, message: c.Message, files: c.Files})
		if err != nil {
			return ids, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// Main implements demo.Breaker.
func (d *demoStack) Main(context.Context) (demo.Main, error) {
	var m demo.Main
	d.stack.Owners[0].Read(func(c *speculation.Core) {
		s := c.State().Main
		m.Tip, m.Proven = string(s.Tip), s.Tip != "" && s.Surveyed == s.Tip && s.Root == ""
		for _, h := range c.Hunts() {
			for _, x := range h.Culprits {
				if !h.Lives() {
					continue
				}
				b := demo.Blamed{Commit: string(x.Commit), Began: h.Began.Time(), Found: x.Found.Time()}
				if x.Revert != nil {
					b.Revert = string(x.Revert.State)
				}
				m.Culprits = append(m.Culprits, b)
			}
		}
	})
	d.timing.Lock()
	defer d.timing.Unlock()
	m.Slowest = d.slowest
	return m, nil
}

// time measures how long builds of main take, as far as they ended with a result.
func (d *demoStack) time(now queue.Instant, n queue.Note) {
	if n.Build == "" || n.Change != "" {
		return
	}
	d.timing.Lock()
	defer d.timing.Unlock()
	switch n.What {
	case "build-asked":
		if d.asked == nil {
			d.asked = map[queue.BuildID]queue.Instant{}
		}
		d.asked[n.Build] = now
	case "build-passed", "step-failed":
		if at, ok := d.asked[n.Build]; ok {
			d.slowest = max(d.slowest, now.Sub(at))
		}
	}
}
