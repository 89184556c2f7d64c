package predict_test

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation/predict"
)

const day = 24 * time.Hour

func TestAuthorsAreRemembered(t *testing.T) {
	start := queue.Instant(1_700_000_000_000)
	if got := predict.AuthorSuccess(nil, 0.8); got != 0.8 {
		t.Errorf("a newcomer: %v, want what holds of everybody", got)
	}
	a := predict.SeeAuthor(nil, "ada", predict.Ended{At: start.Add(day), Came: start, Judged: true, Landed: true, Dirs: []string{"", "x"}})
	first := *a
	b := predict.SeeAuthor(a, "ada", predict.Ended{At: start.Add(2 * day), Came: start.Add(day), Judged: true, Dirs: []string{"y"}})
	b = predict.SeeAuthor(b, "ada", predict.Ended{At: start.Add(2 * day), Came: start.Add(day)})
	if fmt.Sprint(first) != fmt.Sprint(*a) {
		t.Error("what was remembered has changed in place")
	}
	if b.Changes != 3 || b.Since != start || b.At != start.Add(2*day) || b.Dirs["y"] != 0 {
		t.Errorf("%+v", *b)
	}
	if up, down := predict.AuthorSuccess(a, 0.8), predict.AuthorSuccess(b, 0.8); up <= 0.8 || down >= up || down >= 0.8 {
		t.Errorf("%v after one that has landed, %v after one that has not", up, down)
	}
	if now, later := predict.AuthorPaths(a, []string{"x"}, a.At), predict.AuthorPaths(a, []string{"x"}, a.At.Add(90*day)); now != 1 || later != 0.5 {
		t.Errorf("one change counts %v, and %v after 90 days", now, later)
	}
	if half := predict.AuthorPaths(a, []string{"x", "z"}, a.At); half != 0.5 {
		t.Errorf("in one of two directories: %v", half)
	}
	if none := predict.AuthorPaths(nil, []string{"x"}, start); none != 0 || !math.IsNaN(predict.AuthorPaths(a, nil, start)) {
		t.Errorf("a newcomer has worked there %v times; of no directories nothing is known", none)
	}
}

// The memory of one author is bounded for any history.
func TestAuthorsAreBounded(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		var a *queue.Author
		at := queue.Instant(1_700_000_000_000)
		for range rapid.IntRange(1, 60).Draw(r, "changes") {
			at = at.Add(time.Duration(rapid.Int64Range(-int64(day), int64(40*day)).Draw(r, "later")))
			var dirs []string
			for i := range rapid.IntRange(0, 2*predict.WideChange).Draw(r, "dirs") {
				dirs = append(dirs, fmt.Sprint(i, "/", rapid.IntRange(0, 30).Draw(r, "dir")))
			}
			a = predict.SeeAuthor(a, "ada", predict.Ended{At: at, Came: at, Judged: rapid.Bool().Draw(r, "judged"), Landed: rapid.Bool().Draw(r, "landed"), Dirs: dirs})
			if len(a.Dirs) > 64 || a.Success.Of > 100 || a.Success.Held > a.Success.Of {
				r.Fatalf("%d directories, %+v", len(a.Dirs), a.Success)
			}
			if p := predict.AuthorSuccess(a, 0.9); !(p > 0 && p < 1) {
				r.Fatalf("a chance of %v", p)
			}
			data, err := json.Marshal(a)
			var back queue.Author
			if err == nil {
				err = json.Unmarshal(data, &back)
			}
			if err != nil || fmt.Sprint(back) != fmt.Sprint(*a) {
				r.Fatalf("%v came back as %v, %v", *a, back, err)
			}
		}
	})
}

func TestDirectoriesChangeTogether(t *testing.T) {
	at := queue.Instant(1_700_000_000_000)
	areas := map[string]*queue.Area{}
	of := func(d string) *queue.Area { return areas[d] }
	if got := predict.CoChange([]string{"a"}, []string{"b"}, of); !math.IsNaN(got) {
		t.Errorf("of directories that nobody has seen: %v", got)
	}
	land := func(dirs ...string) {
		for _, d := range dirs {
			areas[d] = predict.SeeArea(areas[d], d, dirs, at)
		}
	}
	for range 8 {
		land("a", "b")
		land("c")
	}
	together, apart := predict.CoChange([]string{"a"}, []string{"b"}, of), predict.CoChange([]string{"a"}, []string{"c"}, of)
	if together != 0.8 || apart != 0 {
		t.Errorf("together %v, want 8 of 8 and 2 more; apart %v", together, apart)
	}
	if back := predict.CoChange([]string{"b"}, []string{"a"}, of); back != together {
		t.Errorf("%v one way and %v the other", together, back)
	}
	if same := predict.CoChange([]string{"c"}, []string{"c"}, of); same != 0.8 {
		t.Errorf("the same directory: %v", same)
	}
	if at = at.Add(90 * day); true {
		land("a")
	}
	if later := predict.CoChange([]string{"a"}, []string{"b"}, of); later != together {
		t.Errorf("b has always changed with a, which %v says", later)
	}
	if faded := areas["a"].With["b"]; faded != 4 {
		t.Errorf("eight changes count as %v after 90 days", faded)
	}
}

func TestFlakesAreCounted(t *testing.T) {
	if predict.Flake(nil, 1) != nil {
		t.Error("a flake of nothing")
	}
	d := predict.Observe(nil, "t", time.Second)
	if d = predict.Flake(d, 1); d.Flaked != 1 {
		t.Errorf("%v after one flake", d.Flaked)
	}
	for range 63 {
		d = predict.Flake(predict.Observe(d, "t", time.Second), 0)
	}
	if d.Flaked <= 0 || d.Flaked > 0.05 || d.Failed != 0 {
		t.Errorf("flaked %v, failed %v after 63 that were none", d.Flaked, d.Failed)
	}
}

func TestMainIsRemembered(t *testing.T) {
	var r queue.Rate
	fresh := predict.MainRate(r)
	r = predict.SeeMain(r, false)
	red := predict.MainRate(r)
	for range 200 {
		r = predict.SeeMain(r, true)
	}
	if green := predict.MainRate(r); !(red < fresh) || !(green > fresh) || r.Of > 50 {
		t.Errorf("%v at first, %v red, %v green, %+v", fresh, red, green, r)
	}
}
