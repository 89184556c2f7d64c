package workers

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/submitqueue/submitqueue/workers/cage"
)

var update = flag.Bool("update", false, "write the golden files")

// The profile of a slot as the sandbox of macOS is given it. Its effect is tried on
// macOS only, by the server itself, before it uses the sandbox.
func TestProfile(t *testing.T) {
	t.Parallel()
	r := &room{
		hide: []string{"/Users/ann", "/Users/ann/Library/Application Support/submitqueue", `/odd "name\`, "/private/var/run"},
		show: []cage.Shown{{From: "/Users/ann/go/bin", Optional: true}, {From: "/Users/ann/Library"}, {From: "/private/var/run/resolv.conf"}, {From: "/slots/1"},
			{From: "/slots/1/checkout", Writable: true}, {From: "/slots/1/home", Writable: true}, {From: "/slots/1/tmp", Writable: true}, {From: "/slots/1/tmp", At: "/tmp", Writable: true}},
	}
	golden := filepath.Join("testdata", "sandbox.sb")
	got := r.profile()
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("with -update it becomes:\n%s", got)
	}
}
