package gitlab_test

import (
	"testing"

	fake "github.com/submitqueue/submitqueue/forge/forgetest/gitlab"
)

// Whether a project has merge trains is read from its settings.
func TestTrains(t *testing.T) {
	t.Parallel()
	for _, want := range []bool{true, false} {
		w := newWorld(t, fake.Options{})
		w.project.Set(func(s *fake.Settings) { s.Trains = want })
		if got, err := w.forge.Trains(t.Context()); err != nil || got != want {
			t.Errorf("trains %v: %v, %v", want, got, err)
		}
	}
}
