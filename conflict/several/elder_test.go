package several_test

import (
	"testing"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/several"
)

// aged is a part with elder versions.
type aged struct {
	conflict.Analyzer
	id    string
	elder []conflict.Analyzer
}

func (a aged) ID() string                 { return a.id }
func (a aged) Elder() []conflict.Analyzer { return a.elder }

// TestElder holds that there is an elder version for all versions of the parts
// together, the newest first, and that each is what it was when it was the newest.
func TestElder(t *testing.T) {
	one, two := aged{fixed{}, "a/1", nil}, aged{fixed{}, "b/1", nil}
	newest := aged{fixed{}, "a/2", []conflict.Analyzer{one}}
	second := aged{fixed{}, "b/2", []conflict.Analyzer{two}}
	of := func(a, b conflict.Analyzer) conflict.Analyzer {
		return mustNew(t, several.Part{Name: "a", Analyzer: a}, several.Part{Name: "b", Under: "b", Analyzer: b})
	}
	got := conflict.Versions(of(newest, second))
	want := []conflict.Analyzer{of(newest, second), of(newest, two), of(one, second), of(one, two)}
	if len(got) != len(want) {
		t.Fatalf("%d versions; want %d", len(got), len(want))
	}
	for i := range want {
		if conflict.VersionOf(got[i]) != conflict.VersionOf(want[i]) {
			t.Errorf("version %d is %s; want %s", i, conflict.VersionOf(got[i]), conflict.VersionOf(want[i]))
		}
	}
	if n := len(conflict.Versions(of(one, two))); n != 1 {
		t.Errorf("%d versions of what has no elder ones", n)
	}
}
