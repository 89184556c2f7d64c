package config_test

import (
	"testing"

	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/queue/digest"
)

// What a checkout holds is part of the step, and of none that says nothing of it.
func TestCheckoutInDigest(t *testing.T) {
	with := func(c config.Checkout) digest.Digest {
		return config.Step{Name: "unit", Run: "make", Checkout: c}.Digest()
	}
	plain := with(config.Checkout{})
	if with(config.Checkout{Submodules: config.SubmodulesOff, LFS: config.SwitchOff}) != plain {
		t.Error("to say that there is nothing more is to say nothing")
	}
	if with(config.Checkout{Depth: 1}) != plain {
		t.Error("one commit is what is fetched anyway")
	}
	if deep := (config.Checkout{Depth: 50}); with(deep) == plain || with(deep) == with(config.Checkout{Depth: 51}) || !deep.Plain() || !deep.Equal(config.Checkout{}) {
		t.Error("history is part of the step, and no file of the checkout")
	}
	seen := map[digest.Digest]config.Checkout{}
	for _, sub := range []config.Submodules{"", config.SubmodulesTop, config.SubmodulesAll} {
		for _, lfs := range []config.Switch{"", config.SwitchOn} {
			c := config.Checkout{Submodules: sub, LFS: lfs}
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
