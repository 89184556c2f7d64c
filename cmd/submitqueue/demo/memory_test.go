package demo

import (
	"runtime"
	"testing"
)

func TestPeakMemory(t *testing.T) {
	const status = "Name:\tsubmitqueue\nVmPeak:\t 1807532 kB\nVmHWM:\t   61440 kB\nVmRSS:\t   50000 kB\n"
	if got := parsePeak(status); got != 61440<<10 {
		t.Errorf("got %d", got)
	}
	for _, other := range []string{"", "VmRSS:\t 1 kB\n", "VmHWM:\t x kB\n", "VmHWM:\t 1 MB\n"} {
		if got := parsePeak(other); got != 0 {
			t.Errorf("%q: %d", other, got)
		}
	}
	if got := PeakMemory(); runtime.GOOS == "linux" && (got < 1<<20 || got > 1<<40) {
		t.Errorf("this process has had %d bytes", got)
	}
}
