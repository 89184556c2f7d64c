package server

import (
	"os"
	"runtime/debug"
)

// SpareMemory has garbage collected when it reaches half of the live memory, not all of
// it, unless GOGC says otherwise. Most of a server's memory is caches that stay, so it
// needs a third less memory for some percent of its time.
func SpareMemory() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(50)
	}
}
