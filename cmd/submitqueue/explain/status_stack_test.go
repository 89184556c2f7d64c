package explain

import (
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/app/api"
)

func TestStatusSaysWhatAChangeIsOnTopOf(t *testing.T) {
	for parent, want := range map[int]bool{0: false, 12: true} {
		var out strings.Builder
		statusSheet(&out, 72).change(api.Change{ID: "42.cc", Number: 42, Title: "Title", Author: "ann", Requester: "ann", Phase: "pending",
			Position: 3, Total: 9, Parent: parent}, nil)
		if got := strings.Contains(out.String(), "  on top of   #12\n"); got != want {
			t.Errorf("parent %d: named %t, want %t:\n%s", parent, got, want, out.String())
		}
	}
}
