package bazel

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/checkout"
)

// version returns the version that Bazel prints. Debian's prints that it has
// none, and does not fail.
func (a *Analyzer) version(ctx context.Context, program string, t conflict.Tree) (string, error) {
	info, err := os.Stat(program)
	if err != nil {
		return "", fmt.Errorf("bazel cannot be run here: %w: %w", conflict.ErrProvisional, err)
	}
	key := fmt.Sprint(program, info.Size(), info.ModTime().UnixNano())
	a.mu.Lock()
	version, ok := a.versions[key]
	a.mu.Unlock()
	if ok {
		return version, nil
	}
	d, err := a.pool.Checkout(ctx, empty{t}, nil)
	if err != nil {
		return "", err
	}
	defer d.Release()
	out, err := d.Run(ctx, checkout.Program{Argv: []string{program, "--version"}, Dir: d.Program, Timeout: a.timeout})
	if failed := (*checkout.RunError)(nil); err != nil && !errors.As(err, &failed) {
		return "", err
	} else if err != nil {
		return "", fmt.Errorf("bazel --version: %w: %w", conflict.ErrProvisional, err)
	}
	version = strings.TrimSpace(string(out))
	a.mu.Lock()
	a.versions[key] = version
	a.mu.Unlock()
	return version, nil
}

// empty is a tree without files.
type empty struct{ conflict.Tree }

func (empty) Files(context.Context) ([]conflict.Entry, error) { return nil, nil }
