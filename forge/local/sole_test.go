package local_test

import (
	"testing"

	"github.com/submitqueue/submitqueue/forge/local"
)

// Two servers that do not know each other would land the same requests, each by what it was told. So
// the second hears who is there already, until that one has ended. Those that share a store may be
// many.
func TestOneStoreServesARepository(t *testing.T) {
	r := newRepo(t)
	serve := func() *local.Forge {
		f, err := local.New(t.Context(), r.dir, "")
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	sole := func(f *local.Forge, store, who, want string) {
		t.Helper()
		if other, err := f.Sole(store, who); err != nil || other != want {
			t.Errorf("%s of store %s hears of %q, %v; want %q", who, store, other, err, want)
		}
	}
	first, second := serve(), serve()
	sole(first, "one", "the first", "")
	sole(second, "one", "a standby", "")
	sole(second, "two", "a stranger", "the first")
	if err := first.Stop(); err != nil {
		t.Error(err)
	}
	sole(second, "two", "a stranger", "")
	if err := second.Stop(); err != nil {
		t.Error(err)
	}
}
