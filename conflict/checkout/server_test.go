package checkout_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/submitqueue/submitqueue/conflict/checkout"
	"github.com/submitqueue/submitqueue/conflict/conflicttest"
)

func TestWhatIsKeptStaysUntilTheEnd(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pool")
	p, err := checkout.Open(dir, checkout.Options{Size: 1})
	must(t, err)
	stopped := 0
	gone := errors.New("it would not end")
	for _, want := range []string{"x\n/keep/server\n", "x\nx\n/keep/server\n"} {
		d := mustCheckout(t, p, conflicttest.New(map[string]string{"a": "1"}))
		keep, err := d.Keep("server", func() error { stopped++; return gone })
		must(t, err)
		out, err := d.Run(t.Context(), checkout.Program{Argv: []string{"sh", "-c", `echo x >>"$0/state"; cat "$0/state"; echo "$0"`, keep}, Dir: d.Tree})
		must(t, err)
		d.Release()
		if string(out) != want {
			t.Errorf("got %q", out)
		}
	}
	if state, err := os.ReadFile(filepath.Join(dir, "0", "keep", "server", "state")); err != nil || string(state) != "x\nx\n" {
		t.Errorf("kept is %q, %v", state, err)
	}
	if err := p.Close(); !errors.Is(err, gone) || stopped != 1 {
		t.Errorf("it was stopped %d times, and closing said %v", stopped, err)
	}
	p, err = checkout.Open(dir, checkout.Options{Size: 1})
	must(t, err)
	if _, err := os.Stat(filepath.Join(dir, "0", "keep")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it outlived its pool: %v", err)
	}
	must(t, p.Close())
}

func TestRawOutputAndStatus(t *testing.T) {
	out, err := run(t, "pwd", func(p *checkout.Program) { p.Raw = true })
	if err != nil || filepath.Base(out) != "tree\n" || out == "/tree\n" {
		t.Errorf("got %q, %v", out, err)
	}
	e := (*checkout.RunError)(nil)
	if _, err = run(t, "exit 7"); !errors.As(err, &e) || e.Code != 7 {
		t.Errorf("got %v", err)
	}
	if _, err = run(t, "kill -9 $$"); !errors.As(err, &e) || e.Code != -1 {
		t.Errorf("got %v", err)
	}
}
