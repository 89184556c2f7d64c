package texts_test

import (
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/app/texts"
	"github.com/submitqueue/submitqueue/queue"
)

func TestUpgradeTexts(t *testing.T) {
	for want, u := range map[string]*queue.UpgradeView{
		"": nil,
		"Analyzer go/2 is being proven in spare slots: 120 of 900 checks; go/1 decides until then":                                                                                {From: "go/1", To: "go/2", Proven: 120, Total: 900},
		"Landings wait until 09:30 UTC at the latest for the last of the target branch to be proven under analyzer go/2: 899 of 900 checks; go/1 decides until then":              {From: "go/1", To: "go/2", Proven: 899, Total: 900, Hold: queue.At(time.Date(2026, 1, 5, 9, 30, 0, 0, time.UTC))},
		"Analyzer go/2 is about to be proven in spare slots; go/1 decides until then":                                                                                             {From: "go/1", To: "go/2"},
		"Analyzer go/2 cannot compute the targets of the target branch; go/1 stays in force: exit <b> 3":                                                                          {From: "go/1", To: "go/2", Unknown: "exit\n<b> 3"},
		"Analyzer paths/1 of the newer server is being proven in spare slots: 0 of 1 check; paths/1 decides until then":                                                           {From: "paths/1 " + strings.Repeat("a", 64), To: "paths/1 " + strings.Repeat("b", 64), Total: 1},
		"Analyzer go/2 is not in force: the target branch fails under it in a, b, c, d, e and 1 more; mend that, or start a server without that version. go/1 decides until then": {From: "go/1", To: "go/2", Red: []string{"a", "b", "c", "d", "e", "f"}, Total: 9},
	} {
		if got := (texts.Words{}).Upgrade(u); got != want {
			t.Errorf("%+v: %q; want %q", u, got, want)
		}
	}
	names := []string{"go/1", "go/2"}
	for want, n := range map[string]queue.Note{
		"go/2 in spare slots; go/1 decides until then": {What: "upgrade-begun", Reason: queue.Reason{Names: names}},
		"go/2: exit <b> 3": {What: "upgrade-unknown", Reason: queue.Reason{Names: names, Detail: "exit\n<b> 3"}},
		"go/2 in the place of go/1: all of the target branch has passed under it": {What: "upgraded", Reason: queue.Reason{Names: names}},
		"go/2": {What: "analyzer", Reason: queue.Reason{Names: []string{"", "go/2"}}},
	} {
		if _, got := (texts.Words{}).Note(queue.Change{}, n); got != want {
			t.Errorf("%s: %q; want %q", n.What, got, want)
		}
	}
}
