package texts_test

import (
	"slices"
	"testing"

	"github.com/submitqueue/submitqueue/app/texts"
	"github.com/submitqueue/submitqueue/queue"
)

// People do not look at a pull request for hours: what they do not expect is news.
func TestNews(t *testing.T) {
	states := textStates()
	states["parked-limit"] = queue.View{Change: textChange(queue.Cancelled, reason(queue.ReasonParkedLimit, string(queue.ReasonInfra)))}
	news := []string{"rejected", "rejected-pair", "rejected-merge", "rejected-rebase", "rejected-config", "parked-limit", "refused-late"}
	for name, v := range states {
		id := queue.NewsIn(texts.Comment(v, textOptions()))
		if slices.Contains(news, name) != (id != "") {
			t.Errorf("%s is news by the id %q", name, id)
		}
	}
	late := states["refused-late"]
	first := queue.NewsIn(texts.Comment(late, textOptions()))
	if late.Answered++; queue.NewsIn(texts.Comment(late, textOptions())) == first {
		t.Error("a second answer to a late command is not news")
	}
}
