package queue_test

import (
	"testing"

	"github.com/submitqueue/submitqueue/queue"
)

// What a checkout holds is part of the step, and of none that says nothing of it.
func TestCheckoutInDigest(t *testing.T) {
	with := func(s queue.Submodules) queue.Digest {
		return queue.Step{Name: "unit", Run: "make", Checkout: queue.Checkout{Submodules: s}}.Digest()
	}
	plain := queue.Step{Name: "unit", Run: "make"}.Digest()
	if with(queue.SubmodulesOff) != plain {
		t.Error("to say that there are no submodules is to say nothing")
	}
	if top, all := with(queue.SubmodulesTop), with(queue.SubmodulesAll); top == plain || all == plain || top == all {
		t.Errorf("submodules are not in the digest: %s %s %s", plain, top, all)
	}
}
