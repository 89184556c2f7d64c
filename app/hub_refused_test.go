package app_test

import (
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/forge/forgetest"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/storetest"
)

// GitHub refuses one commit of a push: an App without the permission for workflows
// brings a workflow of a fork, or a file holds a secret or is too large. The others
// of the push land, that one is parked with the rule in GitHub's words, the queue is
// not paused, and it lands when the rule lets it.
func TestOneRefusedCommitOfAPush(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		name, file, content, rule string
		screen                    forgetest.Screen
		lift                      func(h *hub)
	}{
		{"workflow", ".github/workflows/new.yml", "on: push\n", "without `workflows` permission", forgetest.Screen{}, func(h *hub) {
			h.github.SetPermissions(map[string]string{"contents": "write", "pull_requests": "write", "issues": "write", "checks": "write",
				"metadata": "read", "actions": "write", "statuses": "read", "workflows": "write"})
			h.github.ExpireTokens()
		}},
		{"secret", "b/key", "password hunter2\n", "Push cannot contain secrets", forgetest.Screen{Secrets: []string{"hunter2"}}, func(h *hub) { h.ScreenPushes(forgetest.Screen{}) }},
		{"large file", "b/big", strings.Repeat("large\n", 1000), "GH001: Large files detected", forgetest.Screen{MaxFile: 5000}, func(h *hub) { h.ScreenPushes(forgetest.Screen{}) }},
	} {
		t.Run(x.name, func(t *testing.T) {
			storetest.OneOf(t, 3)
			files := configured(areas(), "method: merge")
			h := newHub(t, hubOptions{files: files})
			h.proven()
			a := h.pull("a", map[string]string{"api/a": "a\n"})
			fork := must(h.Fork("eve"))
			must(fork.Commit("eve", forgetest.Commit{Branch: "b", Files: map[string]string{x.file: x.content}}))
			bad := must(h.OpenPull("eve", "eve:b", "main", "From a fork"))
			c := h.pull("c", map[string]string{"web/c": "c\n"})
			h.ScreenPushes(x.screen)
			h.paused(a)
			for _, n := range []int{a, bad, c} {
				h.Comment("ada", n, "/land")
			}
			h.boarded(a, bad, c)
			h.Comment("max", a, "/queue resume")
			h.landed(a)
			h.landed(c)
			h.says(bad, "🅿️ Parked: the forge refused the push", x.rule, "/land retry")
			if ch := h.change(bad); ch.Reason.Code != queue.ReasonProtected || ch.Refused == nil || !ch.Refused.Own {
				t.Errorf("%+v, %+v", ch.Reason, ch.Refused)
			}
			x.lift(h)
			h.Comment("ada", bad, "/land retry")
			h.landed(bad)
			h.green()
		})
	}
}

// Builds run by the CI, and GitHub takes no ref with one of three changes that are built
// on each other. That one is parked with the rule; those refused with it land without it.
func TestOneRefusedRefOfBuilds(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		name, file, content, rule string
		screen                    forgetest.Screen
	}{
		{"workflow", ".github/workflows/new.yml", "on: push\n", "without `workflows` permission", forgetest.Screen{}},
		{"large file", "big", strings.Repeat("large\n", 1000), "GH001: Large files detected", forgetest.Screen{MaxFile: 5000}}, // refuses the whole push
	} {
		t.Run(x.name, func(t *testing.T) {
			storetest.OneOf(t, 3)
			h := newCIHub(t, byCI(), judged)
			h.proven()
			first := h.pull("first", map[string]string{"a": "a\n"})
			fork := must(h.Fork("eve"))
			must(fork.Commit("eve", forgetest.Commit{Branch: "b", Files: map[string]string{x.file: x.content}}))
			bad := must(h.OpenPull("eve", "eve:b", "main", "From a fork"))
			last := h.pull("last", map[string]string{"c": "c\n"})
			h.ScreenPushes(x.screen)
			for _, n := range []int{first, bad, last} {
				h.Comment("ada", n, "/land")
			}
			h.landed(first)
			h.landed(last)
			h.says(bad, "🅿️ Parked: the forge refused the push", x.rule, "/land retry")
			if ch := h.change(bad); ch.Reason.Code != queue.ReasonProtected || ch.Refused == nil || !ch.Refused.Own {
				t.Errorf("%+v, %+v", ch.Reason, ch.Refused)
			}
			for _, n := range []int{first, last} {
				if ch := h.change(n); ch.Infra != 0 {
					t.Errorf("#%d has %d infrastructure errors", n, ch.Infra)
				}
			}
			h.clean()
		})
	}
}
