package workers

import "github.com/submitqueue/submitqueue/workers/report"

// lastBytes returns the end of s, at most n bytes and whole characters.
func lastBytes(s string, n int) string { return report.LastBytes(s, n) }
