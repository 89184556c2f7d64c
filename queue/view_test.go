package queue_test

import (
	"testing"

	"github.com/submitqueue/submitqueue/queue"
)

// A build that several changes share takes one slot, and is counted once.
func TestRunningCountsSharedBuildsOnce(t *testing.T) {
	build := func(id queue.BuildID) queue.BuildView { return queue.BuildView{Build: queue.Build{ID: id}} }
	shared := build("s")
	v := queue.QueueView{MainBuilds: []queue.BuildView{build("m")}, Order: []queue.View{
		{Builds: []queue.BuildView{build("a"), shared}}, {Builds: []queue.BuildView{shared}}, {Builds: []queue.BuildView{shared}}, {}}}
	if n := v.Running(); n != 3 {
		t.Errorf("%d builds run; want m, a and s", n)
	}
}
