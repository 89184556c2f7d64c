package bazel_test

import (
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/conflicttest"
)

// Bazel goes through links, to files as to packages.
func TestLinks(t *testing.T) {
	b := mustOpen(t)
	main := conflicttest.New(map[string]string{"WORKSPACE": "", "BUILD": "",
		"real/BUILD": "filegroup(name = \"x\", srcs = [\"x.cc\"])\nexports_files([\"f\"])\n",
		"real/x.cc":  "", "real/f": "", "real/x.bzl": "T = 'a'\n",
		"use/BUILD":  "load(\"//link:x.bzl\", \"T\")\nfilegroup(name = \"use\", srcs = [\"//link:x\", \"//link:f\"])\nfilegroup(name = \"tag\", tags = [T])\n",
		"root/BUILD": "filegroup(name = \"root\", srcs = [\"//root/up/real:x\"])\n",
		"g/BUILD":    "filegroup(name = \"g\", srcs = glob([\"**/*.t\"], allow_empty = True))\n",
		"deep/a/1.t": "",
		"q(x)/BUILD": "filegroup(name = \"q\", srcs = [\"q.in\"])\n", "q(x)/q.in": "",
		"odd/BUILD": "filegroup(name = \"odd\", srcs = [\"//q(x):q\"])\n",
	}).WithMode("link", conflict.ModeLink, "real").WithMode("root/up", conflict.ModeLink, "..").
		WithMode("g/one", conflict.ModeLink, "../mid").WithMode("mid/two", conflict.ModeLink, "../deep")
	for name, x := range map[string]struct {
		tree *conflicttest.Tree
		want string
	}{
		"a source":                       {main.With("real/x.cc", "1"), "//real:x //root:root //use:use"},
		"a file":                         {main.With("real/f", "1"), "//use:use"},
		"who may use it":                 {main.With("real/BUILD", strings.Replace(main.Content("real/BUILD"), "[\"f\"]", "[\"f\"], visibility = [\"//use:__pkg__\"]", 1)), "//use:use"},
		"what is loaded":                 {main.With("real/x.bzl", "T = 'b'\n"), "//use:tag"},
		"a file behind two links":        {main.With("deep/a/2.t", ""), "//g:g"},
		"a package behind two links":     {main.With("deep/a/BUILD", "filegroup(name = \"t\", srcs = [\"1.t\"])\n"), "//deep/a:t //g:g"},
		"a package with an unusual name": {main.With("q(x)/q.in", "1"), "//odd:odd //q(x):q"},
	} {
		if got := strings.Join(b.affected(main, x.tree), " "); got != x.want {
			t.Errorf("%s: affected %s, want %s", name, got, x.want)
		}
	}
}
