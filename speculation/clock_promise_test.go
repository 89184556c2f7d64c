package speculation

import (
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation/predict"
)

// A former owner's clock ran a day ahead while it wrote forecasts down. They are moved to the
// time of the next owner, and come before others that were written down earlier, by a right clock.
// What is learned of them is no nonsense: an interval begins before it ends.
func TestForecastsOfAClockThatRanAhead(t *testing.T) {
	c, noon := foreseeing(2, "a")
	lead := predict.Lead(time.Minute, 0, 0, 10*time.Minute)
	for range 20 {
		c.s.Learned.Foresight = predict.SeeForecast(c.s.Learned.Foresight, queue.Promise{Median: time.Minute, Lead: lead}, time.Minute, time.Minute)
	}
	given := func(at queue.Instant) queue.Promise { return queue.Promise{At: at, Median: time.Minute, Lead: lead} }
	c.s.Promises["1.x"] = &queue.Promises{Change: "1.x", Given: []queue.Promise{given(noon.Add(-2 * time.Minute)), given(noon.Add(-time.Minute)), given(noon.Add(10 * time.Hour)), given(noon.Add(24 * time.Hour))}}
	c.s.Main.Lapsed = noon.Add(24 * time.Hour)
	c = Resume(c.s, noon, predict.Default)
	c.facts.SetNow(noon)
	c.landing.sortOrder()
	for _, w := range predict.Waiting([]queue.Promises{*c.s.Promises["1.x"]}, noon) {
		if w < 0 {
			t.Errorf("an error that has stood for %v s", w)
		}
	}
	if got := forecastOf(c, "1.x"); got.Early > got.Late || got.Early < noon {
		t.Errorf("from %v to %v, at %v", got.Early.Time(), got.Late.Time(), noon.Time())
	}
}
