package demo

import (
	"os"
	"strconv"
	"strings"
)

// PeakMemory returns the most memory, in bytes, that this process has ever had
// resident, or 0 where the system does not tell it as Linux does. Programs that the
// process has started are not counted.
func PeakMemory() int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	return parsePeak(string(status))
}

// parsePeak reads the line VmHWM. (getrusage would also count the memory of the program
// before exec, such as `go run`.)
func parsePeak(status string) int64 {
	for line := range strings.Lines(status) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "VmHWM:" && f[2] == "kB" {
			n, err := strconv.ParseInt(f[1], 10, 64)
			if err != nil {
				return 0
			}
			return n << 10
		}
	}
	return 0
}
