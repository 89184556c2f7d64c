package demo

import (
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

func TestFlags(t *testing.T) {
	dir := t.TempDir()
	for args, want := range map[string]string{
		"":                                   "",
		"--changes 100 --runners 8 --seed 3": "",
		"--changes 11":                       "at least 12",
		"--runners 0":                        "at least 1",
		"--repo " + dir:                      "go together",
		"--branches x":                       "go together",
		"--repo " + dir + " --branches f/**": "",
		"--repo " + dir + "/none --branches f/**": "no such file",
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
