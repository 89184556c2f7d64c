package config

import (
	"regexp"
	"time"
)

// VerifyOff is a VerifyMain by which nothing of the branch is run again without need.
const VerifyOff = "off"

// The least and the greatest VerifyMain.
const (
	minVerify = 10 * time.Minute
	maxVerify = 8760 * time.Hour
)

// VerifyEvery returns after how long what has passed on the branch is run again, or
// 0 for never.
func (r *Rules) VerifyEvery() time.Duration {
	d, err := time.ParseDuration(r.VerifyMain)
	if err != nil {
		return 0
	}
	return d
}

func checkVerify(r *reader, q *Rules) {
	if q.VerifyMain == "" || q.VerifyMain == VerifyOff {
		return
	}
	d, err := time.ParseDuration(q.VerifyMain)
	if err != nil || !regexp.MustCompile(durationPattern).MatchString(q.VerifyMain) || d < minVerify || d > maxVerify {
		r.report("queue.verify_main", "queue.verify_main must be off, or a duration from %s to %s such as \"24h\", found %s",
			shortDuration(minVerify), shortDuration(maxVerify), quoted(q.VerifyMain))
	}
}
