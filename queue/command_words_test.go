package queue_test

import (
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

func TestCommandsWithArguments(t *testing.T) {
	for _, test := range []struct {
		line string
		want queue.Command
	}{
		{"/land now it  burns", queue.Command{Verb: queue.CommandNow, Text: "it burns"}},
		{"/LAND Now it burns", queue.Command{Verb: queue.CommandNow, Text: "it burns"}},
		{"/land delegate @bob", queue.Command{Verb: queue.CommandDelegate, User: "bob"}},
		{"/land delegate bob", queue.Command{Verb: queue.CommandDelegate, User: "bob"}},
		{"/land undelegate", queue.Command{Verb: queue.CommandUndelegate}},
		{"/land undelegate @bob", queue.Command{Verb: queue.CommandUndelegate, User: "bob"}},
		{"/queue freeze 2h the release", queue.Command{Verb: queue.CommandFreeze, Text: "2h the release"}},

		{"/land now", queue.Command{Verb: queue.CommandUnknown, Text: "/land now", Near: "/land now REASON"}},
		{"/land delegate", queue.Command{Verb: queue.CommandUnknown, Text: "/land delegate", Near: "/land delegate @user"}},
		{"/land delegate @a/b", queue.Command{Verb: queue.CommandUnknown, Text: "/land delegate @a/b", Near: "/land delegate @user"}},
		{"/land deleagte @bob", queue.Command{Verb: queue.CommandUnknown, Text: "/land deleagte @bob", Near: "/land delegate @user"}},
		{"/queue freeze", queue.Command{Verb: queue.CommandUnknown, Text: "/queue freeze", Near: "/queue freeze UNTIL"}},
		{"/queue freeze soon", queue.Command{Verb: queue.CommandUnknown, Text: "/queue freeze soon", Near: "/queue freeze UNTIL"}},
		{"/land cancle", queue.Command{Verb: queue.CommandUnknown, Text: "/land cancle", Near: "/land cancel"}},
		{"/land rtery", queue.Command{Verb: queue.CommandUnknown, Text: "/land rtery", Near: "/land retry"}},
		{"/land tyr", queue.Command{Verb: queue.CommandUnknown, Text: "/land tyr", Near: "/land try"}},
		{"/lnad cancle", queue.Command{Verb: queue.CommandUnknown, Text: "/lnad cancle", Near: "/land cancel"}},
		{"/land.", queue.Command{Verb: queue.CommandUnknown, Text: "/land.", Near: "/land"}},
		{"/queu pause the release", queue.Command{Verb: queue.CommandUnknown, Text: "/queu pause the release", Near: "/queue pause the release"}},
		{"/land please", queue.Command{Verb: queue.CommandUnknown, Text: "/land please"}},
	} {
		got := queue.ParseCommands(test.line)
		if len(got) != 1 || got[0] != test.want {
			t.Errorf("%s: %+v, want %+v", test.line, got, test.want)
		}
	}
}

func TestFreezeUntil(t *testing.T) {
	at := queue.At(time.Date(2026, 12, 23, 17, 30, 0, 0, time.UTC))
	for _, test := range []struct{ text, until, why string }{
		{"2h", "2026-12-23 19:30", ""},
		{"2H30M cut the release", "2026-12-23 20:00", "cut the release"},
		{"3d", "2026-12-26 17:30", ""},
		{"18:00", "2026-12-23 18:00", ""},
		{"18:00Z x", "2026-12-23 18:00", "x"},
		{"18:00 utc x", "2026-12-23 18:00", "x"},
		{"17:30", "2026-12-24 17:30", ""},
		{"09:15utc", "2026-12-24 09:15", ""},
		{"2026-12-24", "2026-12-24 00:00", ""},
		{"2026-12-24 18:00 party", "2026-12-24 18:00", "party"},
		{"2026-12-24 18:00 UTC party", "2026-12-24 18:00", "party"},
		{"2026-12-24T18:00", "2026-12-24 18:00", ""},
		{"2026-12-24T18:00Z", "2026-12-24 18:00", ""},
		{"2026-12-24T18:00+02:00", "2026-12-24 16:00", ""},
		{"2026-12-24T18:00:30+02:00", "2026-12-24 16:00", ""},
		{"18:00 GMT party", "2026-12-23 18:00", "party"},
		{"2h MSK is down", "2026-12-23 19:30", "MSK is down"},
		{"18:00 PARTY", "2026-12-23 18:00", "PARTY"},
		{"18:00 CI/CD is mended", "2026-12-23 18:00", "CI/CD is mended"},
		{"18:00 et al.", "2026-12-23 18:00", "et al."},

		{"18:00 CET party", "", ""}, // not UTC
		{"18:00 EDT", "", ""},
		{"2026-12-24 18:00 PST party", "", ""},
		{"18:00 +02:00 party", "", ""},
		{"18:00 UTC+2", "", ""},
		{"18:00 utc+2", "", ""},
		{"18:00 (CET) party", "", ""},
		{"18:00 CEST: party", "", ""},
		{"18:00 PT party", "", ""},
		{"18:00 NZST party", "", ""},
		{"6:00 pm party", "", ""},
		{"18:00 PT party", "", ""},
		{"18:00 cest party", "", ""},
		{"18:00 NZDT", "", ""},
		{"18:00 local time", "", ""},
		{"18:00 CET, party", "", ""},
		{"18:00 (CET)", "", ""},
		{"18:00 utc+2 party", "", ""},
		{"2026-12-24 18:00 Europe/Berlin", "", ""},
		{"2026-12-23", "", ""}, // has begun
		{"2026-12-23 17:30", "", ""},
		{"2027-12-24", "", ""},
		{"91d", "", ""},
		{"10s", "", ""},
		{"-2h", "", ""},
		{"0", "", ""},
		{"25:00", "", ""},
		{"tomorrow", "", ""},
		{"", "", ""},
	} {
		until, why, ok := queue.FreezeUntil(test.text, at)
		got := ""
		if ok {
			got = until.Time().Format("2006-01-02 15:04")
		}
		if got != test.until || ok && why != test.why {
			t.Errorf("%q: %q, %q, want %q, %q", test.text, got, why, test.until, test.why)
		}
	}
}
