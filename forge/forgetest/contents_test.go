package forgetest_test

import (
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/forge/forgetest"
)

// A push is refused for what one of its commits holds, though a later one
// takes that out again, and nothing of it arrives.
func TestScreen(t *testing.T) {
	s := mustServer(t, forgetest.Options{})
	r, err := s.AddRepository("acme", "screened", "main")
	if err != nil {
		t.Fatal(err)
	}
	s.AddUser("ann")
	r.SetPermission("ann", "write")
	r.ScreenPushes(forgetest.Screen{MaxFile: 100, Secrets: []string{"hunter2"}})
	for want, file := range map[string]string{
		"GH001: Large files detected": strings.Repeat("x", 101),
		"Push cannot contain secrets": "password: hunter2\n",
	} {
		_, err := r.Commit("ann", forgetest.Commit{Branch: "topic", Files: map[string]string{"file": file}})
		if err == nil || !strings.Contains(err.Error(), want) || r.Head("topic") != "" {
			t.Errorf("topic is at %q: %v", r.Head("topic"), err)
		}
	}
	if _, err := r.Commit("ann", forgetest.Commit{Branch: "topic", Files: map[string]string{".github/workflows/ci.yml": "on: push\n"}}); err != nil {
		t.Errorf("people may write workflows: %v", err)
	}
}
