package report

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/queue/config"
)

func TestPackagesOf(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "checkout")
	for name, text := range map[string]string{
		"go.mod":          "module example.com/m\n",
		"a/a.go":          "package a\n",
		"nested/go.mod":   "// c\nmodule \"example.com/n\" // d\n",
		"one/go.mod":      "module same\n",
		"two/go.mod":      "module same\n",
		"broken/go.mod":   "no module here\n",
		"huge/go.mod":     "module huge\n" + strings.Repeat("/", maxGoMod),
		"outside/deep/go": "",
		"../go.mod":       "module evil\n",
	} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(dir, "..", "go.mod"), filepath.Join(dir, "outside", "go.mod")); err != nil {
		t.Skip(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	got, err := packagesOf(root.FS(), config.Step{}, []string{".", "./a", "./a/b", "./nested", "./nested/x/y", "./one", "./two",
		"./broken/x", "./huge", "./outside/deep", "tree", "unowned", "./../x", "./a//b", "./", "/abs", "./a/.", ""})
	want := map[string]string{
		"example.com/m":              ".",
		"example.com/m/a":            "./a",
		"example.com/m/a/b":          "./a/b",
		"example.com/n":              "./nested",
		"example.com/n/x/y":          "./nested/x/y",
		"example.com/m/broken/x":     "./broken/x",
		"example.com/m/huge":         "./huge",
		"example.com/m/outside/deep": "./outside/deep",
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := packagesOf(os.DirFS(filepath.Join(dir, "gone")), config.Step{}, nil); err == nil {
		t.Error("no error for a checkout that is not there")
	}
}
