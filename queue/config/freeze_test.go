package config_test

import (
	"testing"
	"time"
	_ "time/tzdata" // the same days on all machines

	"pgregory.net/rapid"

	"github.com/submitqueue/submitqueue/queue/config"
)

// Windows begin by the clock on the wall, also on the days on which it leaps, and last as
// long as they say in time that passes.
func TestFreezeWindows(t *testing.T) {
	for _, x := range []struct{ name, cron, zone, lasts, from, want string }{
		{"the next", "0 16 * * FRI", "", "64h", "2026-11-25T12:00Z", "2026-11-27T16:00Z 2026-11-30T08:00Z"},
		{"under way", "0 16 * * FRI", "", "64h", "2026-11-28T12:00Z", "2026-11-27T16:00Z 2026-11-30T08:00Z"},
		{"its end is not in it", "0 16 * * FRI", "", "64h", "2026-11-30T08:00Z", "2026-12-04T16:00Z 2026-12-07T08:00Z"},
		{"winter", "0 16 * * *", "Europe/Berlin", "1h", "2026-01-05T00:00Z", "2026-01-05T15:00Z 2026-01-05T16:00Z"},
		{"summer", "0 16 * * *", "Europe/Berlin", "1h", "2026-07-05T00:00Z", "2026-07-05T14:00Z 2026-07-05T15:00Z"},
		{"leapt over", "30 2 * * *", "Europe/Berlin", "1h", "2026-03-28T12:00Z", "2026-03-29T01:00Z 2026-03-29T02:00Z"},
		{"shown twice", "30 2 * * *", "Europe/Berlin", "1h", "2026-10-24T12:00Z", "2026-10-25T00:30Z 2026-10-25T01:30Z"},
		{"not a second time", "30 2 * * *", "Europe/Berlin", "30m", "2026-10-25T01:10Z", "2026-10-26T01:30Z 2026-10-26T02:00Z"},
		{"across a leap", "0 0 29 3 *", "Europe/Berlin", "24h", "2026-03-01T00:00Z", "2026-03-28T23:00Z 2026-03-29T23:00Z"},
		{"leapt over elsewhere", "30 2 * * *", "America/New_York", "2h", "2026-03-07T12:00Z", "2026-03-08T07:00Z 2026-03-08T09:00Z"},
		{"a leap of half an hour", "15 2 * * *", "Australia/Lord_Howe", "1h", "2026-10-03T00:00Z", "2026-10-03T15:30Z 2026-10-03T16:30Z"},
		{"rare", "0 0 29 2 *", "", "24h", "2026-01-01T00:00Z", "2028-02-29T00:00Z 2028-03-01T00:00Z"},
		{"every hour for a month", "0 * * * *", "", "744h", "2026-02-01T00:30Z", "2026-01-01T01:00Z 2026-02-01T01:00Z"},
	} {
		t.Run(x.name, func(t *testing.T) {
			lasts, err := time.ParseDuration(x.lasts)
			if err != nil {
				t.Fatal(err)
			}
			from, err := time.Parse("2006-01-02T15:04Z", x.from)
			if err != nil {
				t.Fatal(err)
			}
			w := config.Freeze{Cron: x.cron, TimeZone: x.zone, For: lasts}.Windows(from, 1)
			if len(w) != 1 {
				t.Fatalf("%d windows", len(w))
			}
			if got := w[0].Start.UTC().Format("2006-01-02T15:04Z ") + w[0].End.UTC().Format("2006-01-02T15:04Z"); got != x.want {
				t.Errorf("%s, want %s", got, x.want)
			}
		})
	}
}

// Whatever the zone and the moment, a daily window is found on every day, in order, and is
// the same one whenever it is asked for.
func TestFreezeWindowsAreSteady(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := config.Freeze{Cron: rapid.SampledFrom([]string{"30 2 * * *", "0 0 * * *", "45 1 * * *"}).Draw(t, "cron"), For: time.Duration(rapid.IntRange(1, 60*23).Draw(t, "for")) * time.Minute,
			TimeZone: rapid.SampledFrom([]string{"", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata"}).Draw(t, "zone")}
		from := time.Date(2026, 1, 1, 0, rapid.IntRange(0, 365*24*60).Draw(t, "from"), 0, 0, time.UTC)
		w := f.Windows(from, 3)
		if len(w) != 3 || !w[0].End.After(from) {
			t.Fatalf("%v", w)
		}
		for i := 1; i < 3; i++ {
			if d := w[i].Start.Sub(w[i-1].Start); d < 22*time.Hour || d > 26*time.Hour {
				t.Errorf("%v behind %v", w[i], w[i-1])
			}
		}
		at := w[0].Start.Add(time.Duration(rapid.Int64Range(0, int64(f.For)-1).Draw(t, "within")))
		if again := f.Windows(at, 1); !again[0].Start.Equal(w[0].Start) {
			t.Errorf("at %v it is %v, and was %v", at, again[0], w[0])
		}
	})
}

// What a freeze lets land.
func TestFreezeExcept(t *testing.T) {
	e := config.FreezeExcept{Lanes: []string{"high"}, Labels: []string{"Hotfix"}, Paths: []string{"docs/**", "*.md"}}
	for _, x := range []struct {
		name          string
		lane          string
		labels, paths []string
		want          bool
	}{
		{"nothing known", "", nil, nil, false},
		{"lane", "high", nil, nil, true},
		{"another lane", "low", nil, nil, false},
		{"label", "low", []string{"a", "hotfix"}, []string{"x.go"}, true},
		{"all paths", "low", nil, []string{"docs/a/b", "README.md"}, true},
		{"one path is not", "low", nil, []string{"docs/a/b", "x.go"}, false},
	} {
		if got := e.Lets(x.lane, x.labels, x.paths); got != x.want {
			t.Errorf("%s: %v", x.name, got)
		}
	}
	if (config.FreezeExcept{}).Lets("", nil, nil) {
		t.Error("no exception lets something land")
	}
}
