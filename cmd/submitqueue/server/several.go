package server

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"
	"github.com/submitqueue/submitqueue/forge"
)

// A server may have the repositories of several forges, which share its runners, its pages
// and its store. Each forge has separate webhooks (POST /webhook/NAME, or /webhook where the
// delivery's headers name the forge), and no id or name of a repository means anything at
// another forge. The names of the queues of all forges but GitHub are then
// HOST/GROUP/NAME@BRANCH.

// several reports whether the server has several forges.
func (c *Serve) several() bool { return len(c.among) > 1 }

// open prepares to serve the repositories of each forge that is named.
func (c *Serve) open(ctx context.Context, o *Options) (late, error) {
	table := c.forges
	if table == nil {
		table = forges()
	}
	c.among = slices.Compact(slices.Sorted(slices.Values(c.Forge)))
	repos, err := c.reposOf()
	if err != nil {
		return late{}, err
	}
	var starts []func(*Stack) error
	var all late
	for _, name := range c.among {
		i := slices.IndexFunc(table, func(row forgeRow) bool { return row.name == name })
		if i < 0 {
			return late{}, print.UsageError(fmt.Sprintf("--forge %q is none that is known here", name))
		}
		one := *c
		one.Repo = repos[name]
		l, err := table[i].open(ctx, &one, o)
		if err != nil {
			return late{}, print.Documented(err, table[i].doc)
		}
		all.signsIn = all.signsIn || l.signsIn
		if l.start != nil {
			starts = append(starts, l.start)
		}
	}
	if len(starts) > 0 {
		all.start = func(s *Stack) error {
			for _, start := range starts {
				if err := start(s); err != nil {
					return err
				}
			}
			return nil
		}
	}
	return all, nil
}

// reposOf returns the repositories that are named for each forge. Where the server has
// one forge, the names of repositories do not name it.
func (c *Serve) reposOf() (map[string][]string, error) {
	out := map[string][]string{}
	if c.several() && slices.Contains(c.among, "local") {
		return nil, print.Documented(print.UsageError("--forge local is served alone: its requests are commands of this machine, and have no forge to say who may give them"), "operate#several-forges")
	}
	for _, repo := range c.Repo {
		of, name, said := strings.Cut(repo, ":")
		switch {
		case said && slices.Contains(c.among, of):
			out[of] = append(out[of], name)
		case c.several():
			return nil, print.Documented(print.UsageError(fmt.Sprintf("--repo %s does not say of which forge: write --repo %s:%s", repo, c.among[0], repo)), "operate#several-forges")
		default:
			out[c.among[0]] = append(out[c.among[0]], repo)
		}
	}
	return out, nil
}

// receive adds the receiver of a forge's webhooks.
func (o *Options) receive(name string, r forge.Receiver) {
	if o.Receiver == nil {
		o.Receiver = map[string]forge.Receiver{}
	}
	o.Receiver[name] = r
}

// mount adds a handler for the addresses below a path.
func (o *Options) mount(path string, h http.Handler) {
	if o.Mounts == nil {
		o.Mounts = map[string]http.Handler{}
	}
	o.Mounts[path] = h
}

// alone gives a queue a key that no queue of another forge has. It is the key that is
// stored for the repository from the time when its forge was the only one. Else it is made
// of the forge's host and the repository's id, and the queue keeps it when its forge is
// the only one again.
func (set *queueSet) alone(ctx context.Context, q Queue) (Queue, error) {
	q.Called = []string{q.Repository}
	own, _, err := repositoryUnder(ctx, set.s.store, q.Repository+"@"+q.Branch)
	if err != nil {
		return q, err
	}
	_, begun, err := repositoryUnder(ctx, set.s.store, q.Alone+"@"+q.Branch)
	if err != nil {
		return q, err
	}
	place := forge.Place{ID: q.ID, Name: q.Repository}
	if own != q.ID && (q.Site != "" || begun) {
		q.Repository = q.Alone
	}
	q.Alone = ""
	set.s.moved(q.Hook, q.Repository)(place)
	return q, nil
}
