package local_test

import (
	"strconv"
	"testing"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/forgetest/conform"
	"github.com/submitqueue/submitqueue/forge/local"
	"github.com/submitqueue/submitqueue/queue"
)

// A plain repository does all that every forge does.
func TestConform(t *testing.T) {
	conform.Run(t, func(t *testing.T) conform.Host {
		r := newRepo(t)
		p := &localPeople{repo: r, forge: r.open()}
		return conform.Host{
			Forge: p.forge, Again: func() forge.Forge { return r.open() }, People: p, Seen: p,
			Base: "main", Author: "ann", Stranger: forge.PermissionAdmin, // everybody who reaches the repository administers it
		}
	})
}

// localPeople ask for branches to be landed, as `submitqueue land` does.
type localPeople struct {
	*repo
	forge *local.Forge
	count int
}

func (p *localPeople) Push(branch string) queue.CommitID {
	p.count++
	return p.commit(branch, branch+" "+strconv.Itoa(p.count))
}

func (p *localPeople) Delete(branch string) { p.run("", "update-ref", "-d", "refs/heads/"+branch) }

func (p *localPeople) Open(branch, _, _, _ string) int {
	return must(p.forge.Open(p.t.Context(), branch, "ann"))(p.t)
}

func (p *localPeople) Ask(int, string) {} // a request asks by being there

func (p *localPeople) Approve(int) bool { return true } // its author has, by asking

func (p *localPeople) Close(number int) {
	if err := p.forge.Close(p.t.Context(), number); err != nil {
		p.t.Fatal(err)
	}
}

func (p *localPeople) request(ok func(local.Request) bool) (list []local.Request) {
	for _, r := range must(p.forge.List(p.t.Context()))(p.t) {
		if ok(r) {
			list = append(list, r)
		}
	}
	return list
}

func (p *localPeople) Comments(number int) (texts []string) {
	for _, r := range p.request(func(r local.Request) bool { return r.Number == number && r.Comment != "" }) {
		texts = append(texts, r.Comment)
	}
	return texts
}

func (p *localPeople) Checks(head queue.CommitID, name string) (states []forge.CheckState) {
	for _, r := range p.request(func(r local.Request) bool { return r.Head == head && r.Check != nil && r.Check.Name == name }) {
		states = append(states, r.Check.State)
	}
	return states
}

func (p *localPeople) Reactions(int) int { return 0 }
