package contract

import (
	"testing"

	"github.com/submitqueue/submitqueue/forge/forgetest"
	"github.com/submitqueue/submitqueue/queue/storetest"
)

// What creates content is what GitHub's description says triggers notifications.
func TestCreates(t *testing.T) {
	storetest.Need(t, "contracts", There())
	d, err := load()
	if err != nil {
		t.Fatal(err)
	}
	some := false
	for route, o := range d.routes {
		about, _ := o.op.Extensions["x-github"].(map[string]any)
		notifies, _ := about["triggersNotification"].(bool)
		if got := forgetest.Creates(route); got != notifies {
			t.Errorf("%s: %v, want %v", route, got, notifies)
		}
		some = some || notifies
	}
	if !some {
		t.Error("the description marks nothing")
	}
}
