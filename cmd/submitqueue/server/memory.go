package server

import (
	"os"
	"runtime/debug"
)

// SpareMemory has garbage collected when it is half of what is in use, not as much as
// it, unless GOGC says otherwise. Most of what a server has in memory is caches that
// stay, so it takes a third less for some percent of its time.
func SpareMemory() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(50)
	}
}
