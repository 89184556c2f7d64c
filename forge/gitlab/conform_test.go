package gitlab_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/forgetest/conform"
	fake "github.com/submitqueue/submitqueue/forge/forgetest/gitlab"
	"github.com/submitqueue/submitqueue/forge/gitlab"
	"github.com/submitqueue/submitqueue/queue"
)

const signing = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="

// GitLab keeps the promises of every forge.
func TestConform(t *testing.T) {
	t.Parallel()
	conform.Run(t, func(t *testing.T) conform.Host {
		w := newWorld(t, fake.Options{Seed: uint64(len(t.Name()))})
		p := gitlabPeople{w}
		r, err := gitlab.NewReceiver(gitlab.Secret{Signing: signing})
		if err != nil {
			t.Fatal(err)
		}
		return conform.Host{
			Forge: w.forge, Again: func() forge.Forge { return w.newForge() }, People: p, Seen: p,
			Base: "main", Author: "ann", Stranger: forge.PermissionNone, Titled: true,
			Break: func() { w.server.Fail(fake.Fault{Status: 502}) },
			Away: func(gone bool) {
				w.project.SetLevel(w.server.Bot(), map[bool]int{true: 0, false: 40}[gone])
			},
			Rename:   func() { w.project.Move("group/renamed") },
			Receiver: r, Sign: signed,
		}
	})
}

// signed is GitLab's webhook of a note that was written just now.
func signed(body string) conform.Delivery {
	data, err := json.Marshal(object{"object_kind": "note", "user": object{"username": "ann"}, "project": object{"id": 5, "path_with_namespace": path},
		"object_attributes": object{"id": 7, "note": body, "noteable_type": "MergeRequest", "action": "create"}, "merge_request": object{"iid": 1}})
	if err != nil {
		panic(err)
	}
	sign := func(body []byte) http.Header {
		h := http.Header{"X-Gitlab-Event": {fake.NoteHook}, "Idempotency-Key": {"key-1"}}
		fake.Sign(h, signing, "key-1", time.Now(), body)
		return h
	}
	return conform.Delivery{Header: sign(data), Body: data, Resign: sign}
}

// gitlabPeople act at the simulated GitLab; what follows what they do has run then.
type gitlabPeople struct{ *world }

func (p gitlabPeople) Push(branch string) queue.CommitID {
	id := p.project.Push("ann", branch, nil)
	p.server.Settle()
	return queue.CommitID(id)
}

func (p gitlabPeople) Delete(branch string) {
	p.project.DeleteBranch("ann", branch)
	p.server.Settle()
}

func (p gitlabPeople) Open(branch, base, title, body string) int {
	n := p.project.Open(fake.Opening{Author: "ann", Source: branch, Target: base, Title: title, Body: body})
	p.server.Settle()
	return n
}

func (p gitlabPeople) Ask(number int, command string) { p.project.Comment("ann", number, command) }

func (p gitlabPeople) Approve(number int) bool {
	p.project.Approve("cyn", number)
	return true
}

func (p gitlabPeople) Close(number int) { p.project.Close("ann", number) }

func (p gitlabPeople) Comments(number int) (texts []string) {
	for _, n := range p.project.Notes(p.server.Bot(), number) {
		texts = append(texts, n.Body)
	}
	return texts
}

func (p gitlabPeople) Checks(head queue.CommitID, name string) (states []forge.CheckState) {
	of := map[string]forge.CheckState{"pending": forge.CheckQueued, "running": forge.CheckRunning, "success": forge.CheckPassed, "failed": forge.CheckFailed, "skipped": forge.CheckNeutral, "canceled": forge.CheckCancelled}
	for _, j := range p.project.Statuses(p.server.Bot(), string(head), name) {
		states = append(states, of[j.State])
	}
	return states
}

func (p gitlabPeople) Reactions(number int) (n int) {
	for _, note := range p.project.AllNotes(number) {
		for _, a := range note.Awards {
			if strings.HasSuffix(a, " by "+p.server.Bot()) {
				n++
			}
		}
	}
	return n
}
