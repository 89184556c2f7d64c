package coordinator_test

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/workers/coordinator"
)

func itoa(n int) string { return strconv.Itoa(n) }

// Runners are kept for the next start, their tokens as hashes; another process sees what
// one has changed; a damaged file lets nobody in that it does not name, and is said.
func TestRegistry(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r, other := coordinator.NewRegistry(dir), coordinator.NewRegistry(dir)
	token, err := r.Add("box", []string{"b", "a", "a"}, false, time.Now())
	if err != nil || !strings.HasPrefix(token, "glrt-") || len(token) < 30 {
		t.Fatal(token, err)
	}
	if _, err := other.Add("box", nil, false, time.Now()); !errors.Is(err, coordinator.ErrTaken) {
		t.Errorf("twice: %v", err)
	}
	for _, bad := range []string{"", "a b", "../x", strings.Repeat("x", 64)} {
		if _, err := r.Add(bad, nil, false, time.Now()); err == nil {
			t.Errorf("name %q", bad)
		}
	}
	if _, err := r.Add("x", []string{"a b"}, false, time.Now()); err == nil {
		t.Error("tag")
	}
	if _, err := r.Add("x", nil, true, time.Now()); err == nil {
		t.Error("tags only, and none")
	}
	x, ok, err := other.Find(token)
	if !ok || err != nil || x.Name != "box" || strings.Join(x.Tags, " ") != "a b" {
		t.Errorf("%+v %v %v", x, ok, err)
	}
	path := filepath.Join(dir, "runners.json")
	raw, _ := os.ReadFile(path)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 || strings.Contains(string(raw), token) {
		t.Errorf("%v %s", info, raw)
	}
	if err := other.Revoke("box", time.Now()); err != nil {
		t.Error(err)
	}
	if x, ok, _ := r.Find(token); !ok || x.Revoked.IsZero() {
		t.Errorf("%+v", x)
	}
	if again, err := r.Add("box", nil, false, time.Now()); err != nil || again == token {
		t.Error(err)
	}
	if _, ok, _ := r.Find(token); ok {
		t.Error("the old token is good under the new runner")
	}
	if _, ok, _ := r.Find(""); ok {
		t.Error("no token")
	}
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := coordinator.NewRegistry(dir).List(); err == nil || !strings.Contains(err.Error(), "is damaged") {
		t.Error(err)
	}
}
