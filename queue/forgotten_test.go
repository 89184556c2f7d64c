package queue_test

import (
	"testing"

	"github.com/submitqueue/submitqueue/queue"
)

func TestParseForgotten(t *testing.T) {
	const id = "0123456789abcdef"
	for text, want := range map[string]queue.Forgotten{
		"//a:b":                     {Target: "//a:b"},
		"step=unit":                 {Step: "unit"},
		" ./x   step=unit ":         {Target: "./x", Step: "unit"},
		"step=unit ./x":             {Target: "./x", Step: "unit"},
		"key=" + id:                 {Key: id},
		"KEY=" + id:                 {Target: "KEY=" + id},
		"key=0123456789AB":          {Key: "0123456789ab"},
		"":                          {},
		"a b":                       {},
		"step=":                     {},
		"step=a/b":                  {},
		"key=0123456789a":           {},
		"key=0123456789xyz":         {},
		"key=" + id + " a":          {},
		"key=" + id + " step=unit":  {},
		"step=unit step=lint":       {},
		string(make([]byte, 1<<12)): {},
	} {
		got, ok := queue.ParseForgotten(text)
		if ok != (want != queue.Forgotten{}) || ok && got != want {
			t.Errorf("%q: %+v, %t", text, got, ok)
		}
		if again, _ := queue.ParseForgotten(got.String()); ok && again != got {
			t.Errorf("%q is written %q", text, got.String())
		}
	}
}

func TestVoid(t *testing.T) {
	k := queue.Key{Step: "s", Target: "a", Hash: "h"}
	pass := queue.Entry{ID: k.ID(), Keys: []queue.Key{k}, Passed: 100}
	for _, c := range []struct {
		f    queue.Forgotten
		step string
		want bool
	}{
		{queue.Forgotten{Target: "a", At: 100}, "", true},
		{queue.Forgotten{Target: "a", At: 99}, "", false},
		{queue.Forgotten{Target: "b", At: 100}, "", false},
		{queue.Forgotten{Step: "unit", At: 100}, "unit", true},
		{queue.Forgotten{Step: "unit", At: 100}, "lint", false},
		{queue.Forgotten{Target: "a", Step: "unit", At: 100}, "lint", false},
		{queue.Forgotten{Key: string(k.ID()[:12]), At: 100}, "", true},
		{queue.Forgotten{Key: "000000000000", At: 100}, "", false},
	} {
		if got := queue.Void([]queue.Forgotten{{Target: "z", At: 500}, c.f}, &pass, c.step); got != c.want {
			t.Errorf("%+v of step %q: %t", c.f, c.step, got)
		}
	}
	if queue.Void(nil, &pass, "") {
		t.Error("nothing was forgotten")
	}
}

func TestRemember(t *testing.T) {
	old := queue.Forgotten{Target: "a", At: 1}
	list, ok := queue.Remember([]queue.Forgotten{old, {Step: "s", At: 2}}, queue.Forgotten{Target: "a", At: 5, By: "x"})
	if !ok || len(list) != 2 || list[1].At != 5 {
		t.Errorf("%v", list)
	}
	if list, _ = queue.Remember(list, queue.Forgotten{Target: "b", At: queue.Instant(2).Add(queue.ArchiveTTL)}); len(list) != 2 || list[0].Target != "a" {
		t.Errorf("a month later: %v", list)
	}
}
