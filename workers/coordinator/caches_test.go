package coordinator_test

import (
	"slices"
	"testing"
	"testing/fstest"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/workers/coordinator"
)

func TestCachesOf(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{"lock": {Data: []byte("1")}, "vendor/x": {}}
	b := queue.Build{Queue: "q", Change: "7.abc", Jobs: []queue.Job{{Step: config.Step{Caches: []config.Cache{
		{Paths: []string{"node_modules", "vendor"}, Key: []string{"lock"}}, {Paths: []string{"vendor"}}, {Paths: []string{"target"}},
	}}}}}
	got := coordinator.CachesOf(files, b, "linux-amd64")
	if len(got) != 2 || !slices.Equal(got[0].Paths, []string{"node_modules"}) || !slices.Equal(got[1].Paths, []string{"target"}) ||
		got[0].Policy != "pull-push" || got[0].When != "on_success" || got[0].Key == got[1].Key {
		t.Fatalf("%+v", got)
	}
	key := got[0].Key
	differs := func(what string, files fstest.MapFS, b queue.Build, platform string) {
		if again := coordinator.CachesOf(files, b, platform); again[0].Key == key {
			t.Errorf("%s: the same cache", what)
		}
	}
	differs("platform", files, b, "linux-arm64")
	other := b
	other.Queue = "r"
	differs("queue", files, other, "linux-amd64")
	differs("content", fstest.MapFS{"lock": {Data: []byte("2")}}, b, "linux-amd64")

	cold := b
	cold.Avoid = []string{"host"}
	if again := coordinator.CachesOf(files, cold, "linux-amd64"); again[0].Key != key || again[0].Policy != "push" {
		t.Errorf("%+v", again)
	}
}
