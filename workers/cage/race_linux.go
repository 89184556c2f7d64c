//go:build race

package cage

// quick is what a process of this program is started with besides its own: one that was built with
// the race detector sleeps for a second at its end, unless it is told not to.
var quick = []string{"GORACE=atexit_sleep_ms=0"}
