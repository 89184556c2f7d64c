package demo

import (
	"context"
	"strings"
	"testing"
)

// A person gets the addresses and what to try; nothing is asked to land for them, and what
// becomes of a pull request is a line.
func TestRunLetsAPersonPlay(t *testing.T) {
	o := newOracle(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out := &strings.Builder{}
	deps := o.deps(out)
	deps.Out = writerFunc(func(p []byte) (int, error) {
		text := string(p)
		switch {
		case strings.Contains(text, "It is your turn"):
			if len(o.rows) > 0 {
				t.Errorf("asked to land: %+v", o.rows)
			}
			for n := range 2 {
				if err := o.Land(ctx, o.pulls[n+1]); err != nil {
					t.Error(err)
				}
			}
		case strings.Contains(text, "#2 "):
			cancel()
		}
		return out.Write(p)
	})
	flags := ownFlags(mustOwn(t, nil))
	flags.Play = true
	if err := Run(ctx, flags, deps); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	for _, text := range []string{
		"Pull requests:  http://127.0.0.1:2/acme/shop\nDashboard:      http://127.0.0.1:1\n\n2 pull requests are open",
		"   git clone http://guest:secret@127.0.0.1:2/acme/shop.git && cd ", "  #1 two: landed\n", "  #2 one: landed\n",
	} {
		if !strings.Contains(out.String(), text) {
			t.Errorf("does not say %q:\n%s", text, out)
		}
	}
	if o.closed != 1 {
		t.Errorf("closed %d times", o.closed)
	}
}
