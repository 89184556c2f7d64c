package web_test

import (
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/app/web"
	"github.com/submitqueue/submitqueue/queue"
)

// Who waits for what is asked of the pull request is not parked for trouble.
func TestPageSaysThatAChangeWaits(t *testing.T) {
	q := busyQueue()
	v := queue.View{Change: change(322, "Move the session store to Redis", "omar", queue.Parked)}
	for code, want := range map[queue.ReasonCode]string{queue.ReasonInfra: ">parked<", queue.ReasonRequirements: ">waiting<"} {
		v.Change.Reason = queue.Reason{Code: code}
		var page strings.Builder
		if err := web.New(web.Options{Words: words{}}).Change(&page, web.Change{Queue: q, View: v}, noon()); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(page.String(), want) {
			t.Errorf("%s: the page does not say %s", code, want)
		}
	}
}
