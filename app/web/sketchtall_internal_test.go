package web

import (
	"testing"

	"github.com/submitqueue/submitqueue/queue"
)

// The picture for narrow screens has each change, within its width, and an arrow to each
// that is directly ahead.
func TestTallSketchIsComplete(t *testing.T) {
	s := &sketch{Boxes: []box{{ref: ref{ID: "1"}}, {ref: ref{ID: "2"}, Progress: barWidth}, {ref: ref{ID: "3"}}}}
	got := newTall(s, map[string]string{"2": "Count the days of a month in one place and for all of the calendars"},
		map[queue.ChangeID][]queue.ChangeID{"2": {"1"}, "3": {"1", "2"}})
	if len(got.Boxes) != 3 || len(got.Arrows) != 4 {
		t.Fatalf("%+v", got)
	}
	for i, b := range got.Boxes {
		if b.X+280 > got.Width || b.Y+tallHeight > got.Height || i > 0 && b.Y < got.Boxes[i-1].Y+tallHeight {
			t.Errorf("box %d lies outside or on another: %+v of %+v", i, b, got)
		}
	}
	if b := got.Boxes[1]; b.Title != "Count the days of a month in one" || b.Second != "place and for all of the calendars" || b.Progress != tallBar {
		t.Errorf("%+v", b)
	}
}

func TestInTwo(t *testing.T) {
	for title, want := range map[string][2]string{
		"":                        {"", ""},
		"short":                   {"short", ""},
		"ten letter":              {"ten letter", ""},
		"ten letters":             {"ten", "letters"},
		"one two three f":         {"one two", "three f"},
		"unbreakable-and-long":    {"unbreakabl", "e-and-long"},
		"検索結果の並び順":                {"検索結果", "の並び順"},
		"aa bb cc dd ee ff gg hh": {"aa bb cc", clipTo("dd ee ff gg hh", 10)},
	} {
		if first, second := inTwo(title, 10); first != want[0] || second != want[1] {
			t.Errorf("%q: %q, %q, want %q", title, first, second, want)
		}
	}
}
