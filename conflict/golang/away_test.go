package golang_test

import (
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/conflicttest"
)

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
		"another file of the other folder": {`open("../b/testdata/in.json")`, "b/testdata/other.json", "./b"},
	} {
		t.Run(name, func(t *testing.T) {
			tree := conflicttest.New(map[string]string{"go.mod": "module m.org/m\n", "m.go": "package m\n", "testdata/in.json": "1",
				"a/a.go": "package a\n", "a/a_test.go": "package a\n\nvar _ = " + c.code + "\n", "b/b.go": "package b\n", "b/testdata/in.json": "1",
				"user/user.go": "package user\n\nimport _ \"m.org/m/b\"\n"}).WithMode("link", conflict.ModeLink, "b/testdata")
			if got := strings.Join(affected(t, settings, tree, tree.With(c.edit, "package b // 2")), " "); got != c.want {
				t.Errorf("affected %q, want %q", got, c.want)
			}
		})
	}
}
