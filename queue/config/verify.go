package config

import "time"

// VerifyOff is a VerifyMain by which nothing of the branch is run again without need.
const VerifyOff = "off"

// VerifyEvery returns the age at which a pass on the branch is run again, or 0 for
// never.
func (r *Rules) VerifyEvery() time.Duration {
	d, err := time.ParseDuration(r.VerifyMain)
	if err != nil {
		return 0
	}
	return d
}
