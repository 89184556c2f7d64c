package main

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
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

// The command itself, interrupted from outside when its first run has ended.
func TestSimulateInterrupted(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f.json")
	p := exec.Command("submitqueue", "simulate", "--changes", "4000", "--workers", "60,61,62,63", "--strategy", "oracle,ours", "--json", file)
	var said strings.Builder
	p.Stderr = &said
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	rows := 0
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "oracle ") {
			rows++
			if err := p.Process.Signal(syscall.SIGINT); err != nil {
				t.Error(err)
			}
		}
	}
	if err := p.Wait(); p.ProcessState.ExitCode() != 130 || rows != 1 {
		t.Errorf("%v after %d rows", err, rows)
	}
	const want = "submitqueue: interrupted; 1 of 8 runs are done, and ours with 60 workers is not; finished runs are in "
	if !strings.HasPrefix(said.String(), want) {
		t.Errorf("it says %q", said.String())
	}
	var f struct {
		Runs       []any
		Unfinished struct {
			Why  string
			Runs []any
		}
	}
	if raw, err := os.ReadFile(file); err != nil || json.Unmarshal(raw, &f) != nil {
		t.Fatalf("%s, %v", raw, err)
	}
	if len(f.Runs) != 1 || f.Unfinished.Why != "interrupted" || len(f.Unfinished.Runs) != 7 {
		t.Errorf("%+v", f)
	}
}
