package workers

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/queue/config"
)

func TestPackagesOf(t *testing.T) {
	dir := t.TempDir()
	release, err := tree{
		"go.mod":          "module example.com/m\n",
		"a/a.go":          "package a\n",
		"nested/go.mod":   "// c\nmodule \"example.com/n\" // d\n",
		"one/go.mod":      "module same\n",
		"two/go.mod":      "module same\n",
		"broken/go.mod":   "no module here\n",
		"huge/go.mod":     "module huge\n" + strings.Repeat("/", maxGoMod),
		"outside/deep/go": "",
	}.Checkout(t.Context(), "c", filepath.Join(dir, "checkout"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = release() }()
	evil := filepath.Join(dir, "go.mod")
	if err := os.WriteFile(evil, []byte("module evil\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(evil, filepath.Join(dir, "checkout", "outside", "go.mod")); err != nil {
		t.Skip(err)
	}
	got, err := packagesOf(filepath.Join(dir, "checkout"), config.Step{}, []string{".", "./a", "./a/b", "./nested", "./nested/x/y", "./one", "./two",
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
	if _, err := packagesOf(filepath.Join(dir, "gone"), config.Step{}, nil); err == nil {
		t.Error("no error for a checkout that is not there")
	}
}
