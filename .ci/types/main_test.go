package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A name that only one system has is a fault on the other one, in a test as well.
func TestFaultsOfOneSystem(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":         "module example.com/x\n\ngo 1.24\n",
		"x.go":           "package x\n\nimport \"syscall\"\n\nvar X = syscall.SYS_EPOLL_WAIT\n",
		"x_test.go":      "package x\n\nimport \"syscall\"\n\nvar Y = syscall.EPOLLIN\n",
		"sound_linux.go": "package x\n\nimport \"syscall\"\n\nvar Z = syscall.EPOLLOUT\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	for platform, want := range map[string][]string{"linux/amd64": nil, "darwin/arm64": {"x.go:5:17", "x_test.go:5:17"}} {
		got, err := check(platform, []string{"./..."})
		if err != nil {
			t.Fatal(err)
		}
		all := strings.Join(got, "\n")
		if len(want) == 0 && all != "" {
			t.Errorf("%s: %s", platform, all)
		}
		for _, w := range want {
			if !strings.Contains(all, w) {
				t.Errorf("%s: %s is not in %q", platform, w, all)
			}
		}
	}
	if _, err := check("darwin", []string{"./..."}); err == nil {
		t.Error("a system without an architecture is taken")
	}
}
