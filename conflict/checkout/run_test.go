package checkout_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/checkout"
	"github.com/submitqueue/submitqueue/conflict/conflicttest"
)

func run(t *testing.T, script string, change ...func(*checkout.Program)) (string, error) {
	t.Helper()
	d := mustCheckout(t, mustOpen(t, checkout.Options{}), conflicttest.New(map[string]string{"a": "1"}))
	defer d.Release()
	p := checkout.Program{Argv: []string{"sh", "-c", script}, Dir: d.Tree}
	for _, f := range change {
		f(&p)
	}
	out, err := d.Run(t.Context(), p)
	return string(out), err
}

func refused(t *testing.T, err error, words ...string) {
	t.Helper()
	e := (*checkout.RunError)(nil)
	if !errors.As(err, &e) {
		t.Fatalf("got %v", err)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q does not say %q", err, w)
		}
	}
}

func TestOutputComesBackWithoutPlaces(t *testing.T) {
	out, err := run(t, `cat a; echo; pwd; echo "$HOME $TMPDIR"; cat /dev/stdin`)
	if err != nil || out != "1\n/tree\n/home /tmp\n" {
		t.Errorf("got %q, %v", out, err)
	}
}

func TestProgramsSeeNoSecrets(t *testing.T) {
	t.Setenv("SUBMITQUEUE_WEBHOOK_SECRET", "hush")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "hush")
	out, err := run(t, "env", func(p *checkout.Program) { p.Env = []string{"MORE=1"} })
	if err != nil || strings.Contains(out, "hush") || !strings.Contains(out, "MORE=1") || !strings.Contains(out, "PATH=") {
		t.Errorf("got %q, %v", out, err)
	}
	for line := range strings.Lines(out) {
		name, _, _ := strings.Cut(line, "=")
		if !strings.Contains(" PATH HOME TMPDIR LC_ALL TZ SUBMITQUEUE MORE PWD OLDPWD SHLVL _ ", " "+name+" ") {
			t.Errorf("it sees %q", name)
		}
	}
}

func TestHowRunsFail(t *testing.T) {
	soon := func(p *checkout.Program) { p.Timeout = 200 * time.Millisecond }
	_, err := run(t, `printf 'one\ntwo \033[31m\n' >&2; pwd >&2; exit 3`)
	refused(t, err, "exit status 3", "one\ntwo [31m\n/tree")
	_, err = run(t, `kill -SEGV $$`)
	refused(t, err, "by a signal")
	_, err = run(t, `echo x; sleep 600`, soon)
	refused(t, err, "did not end within 200ms")
	_, err = run(t, `trap '' TERM INT; sleep 600 & sleep 600 & wait; wait`, soon)
	refused(t, err, "did not end within 200ms")
	_, err = run(t, `yes`, func(p *checkout.Program) { p.Output = 1 << 20 })
	refused(t, err, "more than 1 MiB")
	_, err = run(t, `yes >&2`, soon)
	refused(t, err, "did not end", "y\ny")
	_, err = run(t, `nosuchprogram`)
	refused(t, err, "exit status 127", "nosuchprogram")
	_, err = run(t, `python3 -c 'x = bytearray(1 << 30)' || exit 9`, func(p *checkout.Program) { p.Memory = 200 })
	refused(t, err, "exit status 9")
}

func TestNothingOutlivesARun(t *testing.T) {
	start := time.Now()
	_, err := run(t, `sleep 600 & echo done`)
	refused(t, err, "left a process behind")
	if took := time.Since(start); took > 30*time.Second {
		t.Errorf("took %s", took)
	}
	// A pipe ends when nobody who could write to it is left.
	path := filepath.Join(t.TempDir(), "pipe")
	must(t, syscall.Mkfifo(path, 0o600))
	pipe, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	must(t, err)
	defer pipe.Close()
	_, err = run(t, `exec 3>`+path+`; echo here >&3; sleep 600 >/dev/null 2>&1 &`)
	must(t, err)
	must(t, pipe.SetReadDeadline(time.Now().Add(30*time.Second)))
	if got, err := io.ReadAll(pipe); err != nil || string(got) != "here\n" {
		t.Errorf("something is still there: %q, %v", got, err)
	}
}

func TestACancelledRunIsNoVerdict(t *testing.T) {
	d := mustCheckout(t, mustOpen(t, checkout.Options{}), conflicttest.New(map[string]string{"a": "1"}))
	defer d.Release()
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	_, err := d.Run(ctx, checkout.Program{Argv: []string{"sleep", "600"}, Dir: d.Tree})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	_, err = d.Run(t.Context(), checkout.Program{Argv: []string{"true"}, Dir: filepath.Join(d.Tree, "none")})
	if !errors.Is(err, conflict.ErrProvisional) {
		t.Errorf("got %v", err)
	}
}
