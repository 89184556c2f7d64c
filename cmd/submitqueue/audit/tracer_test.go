package audit

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// TestTracers holds that each tracer that can be used here sees the reads of a
// script, and what the script leaves running does not keep it.
func TestTracers(t *testing.T) {
	for _, name := range Tracers {
		t.Run(name, func(t *testing.T) {
			tracer, err := NewTracer(t.Context(), name)
			if errors.Is(err, ErrUnavailable) {
				t.Skip(err)
			} else if err != nil {
				t.Fatal(err)
			}
			root, scratch := t.TempDir(), t.TempDir()
			for _, file := range []string{"read", "script", "seen", "deep er/x"} {
				at := filepath.Join(root, file)
				if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte("true\n"), 0o755)); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Symlink("read", filepath.Join(root, "link")); err != nil {
				t.Fatal(err)
			}
			w, err := tracer.Watch(root, scratch, []string{"link"})
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Begin(); err != nil {
				t.Fatal(err)
			}
			argv := append(w.Shell(), "cat link; ./script; (cd 'deep er' && cat x); ls; test -e seen; exit 3")
			cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
			cmd.Dir = root
			if out, err := cmd.CombinedOutput(); cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != 3 {
				t.Fatalf("%v: %s", err, out)
			}
			reads, err := w.End()
			if err != nil {
				t.Fatal(err)
			}
			got := sorted(reads.Content)
			if want := []string{"deep er/x", "read", "script"}; !slices.Equal(slices.DeleteFunc(slices.Clone(got), func(f string) bool { return f == "link" }), want) {
				t.Errorf("content %q; want %q", got, want)
			}
			if name == "strace" && (reads.Content["link"] == nil || reads.Tested["seen"] == nil || reads.Listed["."] == nil) {
				t.Errorf("%+v", reads)
			}
		})
	}
	if _, err := NewTracer(t.Context(), "dtrace"); !errors.Is(err, ErrUnavailable) {
		t.Error(err)
	}
}
