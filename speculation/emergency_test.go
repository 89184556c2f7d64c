package speculation

import (
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

// A day has room for so many emergencies, counted back from now.
func TestEmergenciesOfADay(t *testing.T) {
	const hour = queue.Instant(time.Hour / time.Millisecond)
	s := queue.NewState("main")
	s.Main.Config = &queue.Config{Queue: queue.Rules{NowPerDay: 2}}
	c := New(s)
	for _, test := range []struct {
		nows []queue.Instant // hours
		now  queue.Instant
		want queue.Instant // when there is room again; 0: now
		left int
	}{
		{nil, 30, 0, 0},
		{[]queue.Instant{29}, 30, 0, 1},
		{[]queue.Instant{20, 29}, 30, 44, 2},
		{[]queue.Instant{6, 29}, 30, 0, 1},
		{[]queue.Instant{1, 2}, 30, 0, 0},
		{[]queue.Instant{10, 20, 29}, 30, 44, 3}, // the limit was lowered
	} {
		s.Main.Nows = nil
		for _, at := range test.nows {
			s.Main.Nows = append(s.Main.Nows, queue.Emergency{By: "ada", At: at * hour})
		}
		c.now = test.now * hour
		c.dirty = map[queue.Ref]bool{}
		why := c.nowLeft()
		if why.Until != test.want*hour || (why.Code == "") != (test.want == 0) || len(s.Main.Nows) != test.left {
			t.Errorf("%v at %d: %+v, %d left", test.nows, test.now, why, len(s.Main.Nows))
		}
	}
}
