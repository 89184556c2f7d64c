package queue_test

import (
	"testing"

	"github.com/submitqueue/submitqueue/queue"
)

// What a checkout holds is part of the step, and of none that says nothing of it.
func TestCheckoutInDigest(t *testing.T) {
	with := func(c queue.Checkout) queue.Digest {
		return queue.Step{Name: "unit", Run: "make", Checkout: c}.Digest()
	}
	plain := with(queue.Checkout{})
	if with(queue.Checkout{Submodules: queue.SubmodulesOff, LFS: queue.SwitchOff}) != plain {
		t.Error("to say that there is nothing more is to say nothing")
	}
	seen := map[queue.Digest]queue.Checkout{}
	for _, sub := range []queue.Submodules{"", queue.SubmodulesTop, queue.SubmodulesAll} {
		for _, lfs := range []queue.Switch{"", queue.SwitchOn} {
			c := queue.Checkout{Submodules: sub, LFS: lfs}
			if d, twice := seen[with(c)]; twice || d.Equal(c) && d != c {
				t.Errorf("%+v has the digest of %+v", c, d)
			}
			seen[with(c)] = c
			if c.Plain() != (with(c) == plain) {
				t.Errorf("%+v is plain: %v", c, c.Plain())
			}
		}
	}
}
