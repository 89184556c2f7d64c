package github_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/forgetest"
	"github.com/submitqueue/submitqueue/forge/forgetest/conform"
	"github.com/submitqueue/submitqueue/forge/github"
	"github.com/submitqueue/submitqueue/queue"
)

// GitHub keeps the promises of every forge.
func TestConform(t *testing.T) {
	needs := map[string]string{}
	for _, n := range github.Needs() {
		needs[n.Name] = n.Access
	}
	conform.Run(t, func(t *testing.T) conform.Host {
		w := newWorld(t, forgetest.Options{Permissions: needs})
		w.repo.SetPermission("cyn", "write")
		p := githubPeople{w}
		return conform.Host{
			Forge: w.forge, Again: func() forge.Forge { return w.newForge() }, People: p, Seen: p,
			Base: "main", Author: "ann", Stranger: forge.PermissionNone, Titled: true,
			Break:    func() { w.server.Fail(forgetest.Fault{Path: "/**", Status: 502}) },
			Away:     func(gone bool) { w.server.App.Suspend("o", gone) },
			Rename:   func() { w.must(w.repo.Rename("o", "renamed")) },
			Receiver: github.NewReceiver(secret), Sign: signed,
		}
	})
}

// signed is GitHub's webhook of a comment that was written just now.
func signed(body string) conform.Delivery {
	at := time.Now().UTC().Format(time.RFC3339)
	data, err := json.Marshal(object{"action": "created", "repository": object{"full_name": "o/r", "id": 5}, "issue": object{"number": 1, "pull_request": object{}},
		"comment": object{"id": 7, "body": body, "user": object{"login": "ann", "type": "User"}, "created_at": at, "updated_at": at}})
	if err != nil {
		panic(err)
	}
	sign := func(body []byte) http.Header { return forgetest.WebhookHeader("issue_comment", "guid-1", secret, body) }
	return conform.Delivery{Header: sign(data), Body: data, Resign: sign}
}

// githubPeople act at the simulated GitHub.
type githubPeople struct{ w *world }

func (p githubPeople) Push(branch string) queue.CommitID {
	from := ""
	if p.w.repo.Head(branch) == "" {
		from = "main"
	}
	return queue.CommitID(p.w.commit(branch, from))
}

func (p githubPeople) Delete(branch string) { p.w.must(p.w.repo.DeleteBranch("ann", branch)) }

func (p githubPeople) Open(branch, base, title, body string) int {
	n, err := p.w.repo.Open(forgetest.Pull{Author: "ann", Branch: branch, Base: base, Title: title, Body: body})
	p.w.must(err)
	return n
}

func (p githubPeople) Ask(number int, command string) { p.w.repo.Comment("ann", number, command) }

func (p githubPeople) Approve(number int) bool {
	p.w.repo.Review("cyn", number, "APPROVED", "", "")
	return true
}

func (p githubPeople) Close(number int) { p.w.repo.ClosePull("ann", number) }

func (p githubPeople) Comments(number int) (texts []string) {
	for _, c := range p.w.repo.Comments(number) {
		if c.Author == p.w.server.Bot() {
			texts = append(texts, c.Body)
		}
	}
	return texts
}

func (p githubPeople) Checks(head queue.CommitID, name string) (states []forge.CheckState) {
	for _, c := range p.w.repo.CI.Checks(string(head)) {
		if c.Name == name {
			states = append(states, forge.CheckState(c.Conclusion))
			if c.Conclusion == "" {
				states[len(states)-1] = forge.CheckState(c.Status)
			}
		}
	}
	return states
}

func (p githubPeople) Reactions(number int) (n int) {
	for _, c := range p.w.repo.Comments(number) {
		for _, r := range c.Reactions {
			if strings.EqualFold(r.User, p.w.server.Bot()) {
				n++
			}
		}
	}
	return n
}
