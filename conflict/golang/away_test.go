package golang_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/conflicttest"
)

// A file of the module itself has an owner, too: the external modules.
func TestAGoModThatATestReads(t *testing.T) {
	tree := conflicttest.New(map[string]string{"go.mod": "module m.org/m\n\nrequire e.org/e v1.0.0\n", "user/user.go": "package user\n\nimport _ \"e.org/e\"\n", "m.go": "package m\n", "m_test.go": "package m\n\nvar _ = open(\"go.mod\")\n",
		"a/a.go": "package a\n", "a/a_test.go": "package a\n\nvar _ = open(\"go.mod\")\n"})
	if got := strings.Join(affected(t, settings, tree, tree.With("go.mod", tree.Content("go.mod")+"// 2\n")), " "); got != ". ./user" {
		t.Errorf("affected %q", got)
	}
}

// A file with more paths than anybody writes is not looked at path by path, from folder by
// folder: its tests depend on the whole tree.
func TestATestThatNamesTooMuch(t *testing.T) {
	for names, want := range map[int]string{4000: "./b", 4200: "./a ./b"} {
		code := "package a\n\nvar _ = []string{\"..\",\n"
		for i := range names {
			code += fmt.Sprintf("\"n%d/x\",\n", i)
		}
		tree := conflicttest.New(map[string]string{"go.mod": "module m.org/m\n", "a/a.go": "package a\n", "a/a_test.go": code + "}\n", "b/b.go": "package b\n"})
		if got := strings.Join(affected(t, settings, tree, tree.With("b/b.go", "package b // 2\n")), " "); got != want {
			t.Errorf("with %d names: affected %q, want %q", names, got, want)
		}
	}
}

// A package that helps tests reads for them: whoever imports it is built with it.
func TestFilesThatHelpersOfTestsName(t *testing.T) {
	for code, want := range map[string]string{
		`import "testing"; var _ = filepath.Join(dir(), "..", "b", "testdata", "in.json")`: "./b ./help ./user",
		`import "testing"; var _ = dir() + "/testdata/own.json"`:                           "./b",
		`var _ = filepath.Join(dir(), "..", "b", "testdata", "in.json")`:                   "./b",
		`import "testing"; var _ = "m.org/m/b"`:                                            "./b",
	} {
		tree := conflicttest.New(map[string]string{"go.mod": "module m.org/m\n", "help/help.go": "package help; " + code + "\n", "help/testdata/own.json": "1",
			"b/b.go": "package b\n", "b/testdata/in.json": "1", "user/user.go": "package user\n", "user/user_test.go": "package user\n\nimport _ \"m.org/m/help\"\n"})
		if got := strings.Join(affected(t, settings, tree, tree.With("b/testdata/in.json", "2")), " "); got != want {
			t.Errorf("%s: affected %q, want %q", code, got, want)
		}
	}
}

// A test runs in the directory of its package, so a string such as "../testdata/x" names
// a file of the tree, whoever owns it.
func TestFilesThatTestsNameElsewhere(t *testing.T) {
	for name, c := range map[string]struct{ code, edit, want string }{
		"test data above":                  {`open("../testdata/in.json")`, "testdata/in.json", ". ./a"},
		"test data of another package":     {`open("../b/testdata/in.json")`, "b/testdata/in.json", "./a ./b"},
		"a path of several strings":        {`open(filepath.Join("..", "b", "testdata", "in.json"))`, "b/testdata/in.json", "./a ./b"},
		"a folder":                         {`walk("../b/testdata/")`, "b/testdata/in.json", "./a ./b"},
		"a new file of a folder":           {`walk("../b/testdata")`, "b/testdata/new.json", "./a ./b"},
		"a name that is made":              {`open(fmt.Sprintf("../b/testdata/%s.json", x))`, "b/testdata/in.json", "./a ./b"},
		"a file that is new":               {`open("../b/new.txt")`, "b/new.txt", "./a ./b"},
		"a file through a link":            {`open("../link/in.json")`, "b/testdata/in.json", "./a ./b"},
		"a program":                        {`run("go", "run", "../b")`, "b/b.go", "./a ./b ./user"},
		"what a program imports":           {`run("go", "run", "../user")`, "b/b.go", "./a ./b ./user"},
		"a folder in which others are":     {`join("..", x)`, "b/testdata/in.json", "./b"},
		"a path that leads out of it all":  {`open("../../x/in.json")`, "b/testdata/in.json", "./b"},
		"a file of a package below":        {`open("sub/in.txt")`, "a/sub/in.txt", "./a ./a/sub"},
		"the same, joined":                 {`open(filepath.Join(dir(), "sub", "in.txt"))`, "a/sub/in.txt", "./a ./a/sub"},
		"the same, with a name made":       {`open("sub/" + x); open("sub/%s.txt")`, "a/sub/in.txt", "./a ./a/sub"},
		"a new file of a package below":    {`open("./sub/new.txt")`, "a/sub/new.txt", "./a ./a/sub"},
		"a package below that is new":      {`run("go", "build", "./new")`, "a/new/new.go", "./a ./a/new"},
		"a program below":                  {`run("go", "build", "./sub")`, "a/sub/sub.go", "./a ./a/sub"},
		"what a program below imports":     {`run("go", "build", "./sub")`, "dep/dep.go", "./a ./a/sub ./dep ./tools/x"},
		"all programs below":               {`run("go", "build", "./sub/...")`, "dep/dep.go", "./a ./a/sub ./dep ./tools/x"},
		"all programs beside":              {`run("go", "vet", "../tools/...")`, "tools/x/x.go", "./a ./tools/x"},
		"what programs beside import":      {`run("go", "vet", "../tools/...")`, "dep/dep.go", "./a ./a/sub ./dep ./tools/x"},
		"a program by its import path":     {`run("go", "run", "m.org/m/user")`, "b/b.go", "./a ./b ./user"},
		"programs by their import paths":   {`load("m.org/m/tools/...")`, "dep/dep.go", "./a ./a/sub ./dep ./tools/x"},
		"a package by a path, that is new": {`run("go", "run", "m.org/m/new")`, "new/new.go", "./a ./new"},
		"all packages of the module":       {`load("./..."); load("../..."); load("m.org/m/...")`, "b/b.go", "./b ./user"},
		"behind a folder in a variable":    {`root := ".."; open(root + "/b/testdata/in.json")`, "b/testdata/in.json", "./a ./b"},
		"behind a folder, joined":          {`root := ".."; open(filepath.Join(root, "b", "testdata", x))`, "b/testdata/in.json", "./a ./b"},
		"behind a folder, in its folder":   {`fs := os.DirFS(".."); open(fs, "m.go")`, "m.go", ". ./a"},
		"the go.sum above":                 {`root := ".."; open(root + "/go.sum")`, "go.sum", "./a unowned"},
		"a package below a package below":  {`run("./sub")`, "a/sub/deep/deep.go", "./a/sub/deep"},
		"a pattern of another tool":        {`globs("sub/**")`, "a/sub/in.txt", "./a/sub"},
		"a pattern":                        {`glob("sub/*.txt")`, "a/sub/in.txt", "./a ./a/sub"},
		"a folder of no such name":         {`root := ".."; open("application/json", "c/d")`, "b/testdata/in.json", "./b"},
		"another file of the other folder": {`open("../b/testdata/in.json")`, "b/testdata/other.json", "./b"},
	} {
		t.Run(name, func(t *testing.T) {
			tree := conflicttest.New(map[string]string{"go.mod": "module m.org/m\n", "m.go": "package m\n", "testdata/in.json": "1",
				"a/a.go": "package a\n", "a/sub/sub.go": "package main\n\nimport _ \"m.org/m/dep\"\n", "dep/dep.go": "package dep\n", "a/sub/in.txt": "1", "a/sub/deep/deep.go": "package deep\n", "tools/x/x.go": "package x\n\nimport _ \"m.org/m/dep\"\n", "a/a_test.go": "package a\n\nvar _ = " + c.code + "\n", "b/b.go": "package b\n", "b/testdata/in.json": "1",
				"user/user.go": "package user\n\nimport _ \"m.org/m/b\"\n"}).WithMode("link", conflict.ModeLink, "b/testdata")
			if got := strings.Join(affected(t, settings, tree, tree.With(c.edit, "package b // 2")), " "); got != c.want {
				t.Errorf("affected %q, want %q", got, c.want)
			}
		})
	}
}
