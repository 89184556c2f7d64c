package server

import (
	"strings"
	"testing"
)

// Numbers of builds that no server can have are refused by name. A negative one ended in a
// panic, and a million had the server make users for minutes, deaf to signals.
func TestNumbersOfBuilds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		runners, ci int
		says        string
	}{
		{2, 10, ""},
		{0, 10, ""},
		{512, 1, ""},
		{-1, 10, "--runners is a number from 0 (only other machines build) to 512, not -1"},
		{1_000_000, 10, "--runners is a number from 0 (only other machines build) to 512, not 1000000"},
		{2, 0, "--ci-builds is a number from 1 to 10000, not 0"},
		{2, -4, "--ci-builds is a number from 1 to 10000, not -4"},
		{2, 10_001, "--ci-builds is a number from 1 to 10000, not 10001"},
	} {
		err := (&Serve{Runners: c.runners, CIBuilds: c.ci, Days: 100, Megabytes: 256}).Validate()
		if got := errorText(err); got != c.says {
			t.Errorf("%d runners, %d builds of CI: %q, want %q", c.runners, c.ci, got, c.says)
		}
	}
}

func TestWeightsAreOfQueues(t *testing.T) {
	t.Parallel()
	for name, says := range map[string]string{
		"acme/shop@main": "",
		"acme/shop":      "--weight acme/shop=3: a queue is named as on its page, such as acme/shop@main",
		"@main":          "--weight @main=3: a queue is named as on its page, such as acme/shop@main",
	} {
		err := (&Serve{Weights: map[string]int{name: 3}, CIBuilds: 1, Days: 100, Megabytes: 256}).Validate()
		if got := errorText(err); got != says {
			t.Errorf("%s: %q, want %q", name, got, says)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return strings.TrimSpace(err.Error())
}
