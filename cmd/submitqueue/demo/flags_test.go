package demo

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

func TestFlags(t *testing.T) {
	dir := t.TempDir()
	for args, want := range map[string]string{
		"":                                   "",
		"--changes 100 --runners 8 --seed 3": "",
		"--changes 11":                       "--changes must be from 12, so that every kind is shown, to 1000, not 11",
		"--changes 0":                        "not 0",
		"--changes=-5":                       "not -5",
		"--changes 1001":                     "not 1001",
		"--runners 0":                        "--runners must be from 1 to 256, not 0",
		"--runners=-1":                       "not -1",
		"--seed=-1":                          "--seed",
		"--sede 1":                           "unknown flag --sede",
		"--play":                             "",
		"--play --keep":                      "--play goes with neither",
		"--play --red 2":                     "goes with neither",
		"--play --json x":                    "--play goes with neither",
		"--play --forge gitlab":              "",
		"extra":                              "unexpected argument",
		"--repo " + dir:                      "go together",
		"--branches x":                       "go together",
		"--repo " + dir + " --branches f/**": "",
	} {
		var f Flags
		parser, err := kong.New(&f)
		if err != nil {
			t.Fatal(err)
		}
		_, err = parser.Parse(strings.Fields(args))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", args, err, want)
		}
		if args == "" && (f.Changes != 24 || f.Runners != 4) {
			t.Errorf("defaults: %+v", f)
		}
	}
}

func TestHelpShowsDefaults(t *testing.T) {
	var f Flags
	var out strings.Builder
	parser, err := kong.New(&f, kong.Writers(&out, &out), kong.Exit(func(int) {}))
	if err != nil {
		t.Fatal(err)
	}
	parser.Parse([]string{"--help"}) // its error is that there was a help to print
	help := strings.Join(strings.Fields(out.String()), " ")
	for _, text := range []string{"Pull requests to open, 24 unless told", "at once, 4 unless told", "The same seed, 1 unless told"} {
		if !strings.Contains(help, text) {
			t.Errorf("the help does not say %q:\n%s", text, out.String())
		}
	}
}

func TestCheckWritable(t *testing.T) {
	dir := t.TempDir()
	old := filepath.Join(dir, "old.json")
	if err := os.WriteFile(old, []byte("kept"), 0o644); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "new.json"):         "",
		old:                                    "",
		dir:                                    "is a directory",
		filepath.Join(dir, "none", "new.json"): "there is no folder " + filepath.Join(dir, "none"),
		filepath.Join(old, "new.json"):         "not a directory",
	} {
		err := checkWritable(path)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
	if data, err := os.ReadFile(old); err != nil || string(data) != "kept" {
		t.Errorf("looking changed a file: %q, %v", data, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("looking left %v, %v", left, err)
	}
}
