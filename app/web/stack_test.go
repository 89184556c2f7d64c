package web_test

import (
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/app/web"
)

func TestPageSaysWhatAChangeIsOnTopOf(t *testing.T) {
	q := busyQueue()
	v := q.Order[2]
	for parent, want := range map[int]bool{0: false, 348: true} {
		v.Change.Parent = parent
		var page strings.Builder
		if err := web.New(web.Options{Words: words{}}).Change(&page, web.Change{Queue: q, View: v}, noon()); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(page.String(), "on top of #348"); got != want {
			t.Errorf("parent %d: named %t, want %t", parent, got, want)
		}
	}
}
