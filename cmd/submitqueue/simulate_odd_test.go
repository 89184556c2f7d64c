package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Each of these is one line on the error output (a second says where help is,
// where the command line itself is wrong), and nothing has been run.
func TestSimulateRefusesOddInput(t *testing.T) {
	dir := t.TempDir()
	given, err := os.ReadFile("../../speculation/sim/testdata/e-100.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	file := func(name, text string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return name
	}
	empty, cut := file("empty", ""), file("cut.gz", string(given[:len(given)/2]))
	for _, c := range []struct {
		args []string
		want string
		code int
	}{
		{[]string{"--strategy", "psychic"}, `unknown strategy "psychic"`, 1},
		{[]string{"--workers", "0"}, "at least one is needed", 1},
		{[]string{"--workers", "abc"}, `--workers: expected a valid 64 bit int but got "abc"`, 2},
		{[]string{"--json", filepath.Join(dir, "none", "f.json"), "--world", cut}, "--json cannot be written", 1},
		{[]string{"--set", "nonsense=1", "--strategy", "oracle,bors", "--world", cut}, `unknown key "nonsense"`, 1},
		{[]string{"--trace", empty}, "line 1: the history is empty", 1},
		{[]string{"--world", empty}, "line 1: the world is empty", 1},
		{[]string{"--world", cut}, "it ends in the middle", 1},
		{[]string{"--world", file("head.gz", string(given[:5]))}, "it ends in the middle", 1},
		{[]string{"--trace", file("half", `{"landed":1}`+"\n"+`{"land`)}, "line 2: it ends in the middle", 1},
		{[]string{"--world", dir}, "is a directory", 2},
	} {
		p := exec.Command("submitqueue", append([]string{"simulate"}, c.args...)...)
		var out, said strings.Builder
		p.Stdout, p.Stderr = &out, &said
		if err := p.Run(); p.ProcessState.ExitCode() != c.code || out.Len() > 0 {
			t.Errorf("%v: %v, want exit status %d; it prints %q", c.args, err, c.code, out.String())
		}
		if text := said.String(); !strings.Contains(text, c.want) || strings.Count(text, "\n") != c.code {
			t.Errorf("%v: it says %q; want %q", c.args, text, c.want)
		}
	}
}
