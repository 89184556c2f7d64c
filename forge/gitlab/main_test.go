package gitlab_test

import (
	"testing"

	fake "github.com/submitqueue/submitqueue/forge/forgetest/gitlab"
	"github.com/submitqueue/submitqueue/forge/gitlab"
	"github.com/submitqueue/submitqueue/queue/storetest"
)

func TestMain(m *testing.M) {
	storetest.FilesInMemory()
	storetest.AtOnce(8)
	m.Run()
}

type object = map[string]any

// world is a simulated GitLab with one project, and the adapter of it.
type world struct {
	*testing.T
	server  *fake.Server
	project *fake.Project
	forge   *gitlab.Forge
}

const path = "group/sub/r"

func newWorld(t *testing.T, o fake.Options) *world {
	t.Helper()
	if o.Judge == nil {
		o.Judge = judge(t)
	}
	s, err := fake.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	w := &world{T: t, server: s}
	s.AddUser("ann")
	if w.project, err = s.AddProject(path, "main", "ann", "cyn"); err != nil {
		t.Fatal(err)
	}
	w.forge = w.newForge()
	return w
}

func (w *world) newForge() *gitlab.Forge {
	w.Helper()
	f, err := gitlab.New(gitlab.Options{BaseURL: w.server.URL(), Token: w.server.BotToken(), Project: path})
	if err != nil {
		w.Fatal(err)
	}
	return f
}

// opened is a merge request of a new branch; what follows it has run.
func (w *world) opened(branch string) int {
	w.project.Push("ann", branch, nil)
	n := w.project.Open(fake.Opening{Author: "ann", Source: branch})
	w.server.Settle()
	return n
}
