package explain

import (
	"testing"

	"github.com/submitqueue/submitqueue/app/api"
)

func TestFlakesText(t *testing.T) {
	v := api.Flakes{Minutes: 12.75, Targets: []api.FlakyTarget{
		{Step: "e2e", Target: "//web:browser\x1b[31m", Flakes: 5, Rate: 0.25, Low: 0.13, High: 0.42, Quarantined: true, Excused: 3, Lost: 12.5},
		{Step: "unit", Target: "./api", Flakes: 1, Rate: 0.0004, High: 0.1, Lost: 0.25},
		{Step: "unit", Target: "./db", Rate: 0.02},
	}}
	const want = "FLAKES  RATE   95 %            MINUTES LOST  QUARANTINE     STEP  TARGET\n" +
		"5       25.0%  13.0% to 42.0%  12.5          yes, 3 failed  e2e   //web:browser?[31m\n" +
		"1       <0.1%  0.0% to 10.0%   0.2           -              unit  ./api\n" +
		"and 1 more; --max shows them\n" +
		"3 targets, 12.8 minutes lost\n"
	if got := flakesText(v, 2); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := flakesText(api.Flakes{}, 2); got != "no target has passed what it had failed\n" {
		t.Error(got)
	}
}
