package texts_test

import (
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/app/texts"
	"github.com/submitqueue/submitqueue/queue"
)

// TestCommentBox holds which comments have a box, and what it stands for.
func TestCommentBox(t *testing.T) {
	on := []string{"analyzing", "pending", "paused", "frozen", "parked", "waiting", "rollup", "explain", "now"}
	retry := []string{"rejected", "rejected-pair", "would-again"}
	none := []string{"landing", "landed-tested", "landed-derived", "landed-together", "landed-squash", "landed-closed", "nothing", "too-late", "closed"}
	off := []string{"cancelled", "head-moved", "help", "refused", "tried", "trying", "would", "unknown",
		"rejected-merge", "rejected-rebase", "rejected-config"} // of these, nothing has failed that could be run again
	states := textStates()
	states["closed"] = queue.View{Change: textChange(queue.Cancelled, reason(queue.ReasonClosed))}
	want := func(names []string, b *queue.Box) {
		t.Helper()
		for _, name := range names {
			o := textOptions()
			if strings.Contains(texts.Comment(states[name], o), "submitqueue-box") {
				t.Errorf("%s has a box where it is switched off", name)
			}
			o.Checkbox = true
			comment := texts.Comment(states[name], o)
			said, box := queue.SaidIn(comment)
			if (box == nil) != (b == nil) || box != nil && (box.On != b.On || box.Verb != b.Verb) || said.Marker != texts.Marker(o.Queue) {
				t.Errorf("%s: %+v, want %+v; %+v", name, box, b, said)
			}
			if got := queue.ParseCommands(comment); len(got) > 0 {
				t.Errorf("%s: the box is a command: %+v", name, got)
			}
			if o.Words.Local = true; strings.Contains(texts.Comment(states[name], o), "submitqueue-box") {
				t.Errorf("%s has a box where nobody can click it", name)
			}
		}
	}
	want(on, &queue.Box{On: true, Verb: queue.CommandLand})
	want(retry, &queue.Box{Verb: queue.CommandRetry})
	want(off, &queue.Box{Verb: queue.CommandLand})
	want(none, nil)
	o := textOptions()
	o.Checkbox = true
	goldenText(t, "box", texts.Comment(states["cancelled"], o))
}

// Nobody can land what is closed or merged, whatever was said of it before.
func TestClosedIsOfferedNothing(t *testing.T) {
	o := textOptions()
	o.Checkbox = true
	for _, name := range []string{"rejected", "cancelled", "tried", "tried-stuck", "head-moved", "refused"} {
		v := textStates()[name]
		v.Notice, v.NoticeTo = reason(queue.ReasonNotOpen, queue.NameMerged), "ann"
		said := texts.Comment(v, o)
		for _, no := range []string{"lands it as it is now", "runs failures again", "submitqueue-box"} {
			if strings.Contains(said, no) {
				t.Errorf("%s: it says %q:\n%s", name, no, said)
			}
		}
	}
}
