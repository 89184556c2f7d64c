//go:build !unix

package sim

import "time"

// cpu returns the time of day: on this system the process's own time is not known.
func cpu() time.Duration { return time.Duration(time.Now().UnixNano()) }
