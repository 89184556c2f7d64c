//go:build !linux

package bench

import "time"

// threadCPU is the time on the wall: the system has no clock of a thread that
// we know of.
func threadCPU() time.Duration { return time.Since(started) }
