package forge

import "time"

// Limited is a Forge that limits how much it can be asked. Without it, no limits are
// shown.
type Limited interface {
	// Limits returns our limits as they are known. It makes no request.
	Limits() Limits
}

// Limits is where we stand with a code host that counts our requests.
type Limits struct {
	Account   string    // the owner of the limit; several repositories may share one; "": nothing was asked yet
	Limit     int       // requests of this period; 0: not known
	Remaining int       // of these
	Reset     time.Time // when the next period begins
	Until     time.Time // no request is made before, because the host said so; past or zero: we do not wait
	Why       string    // of Until
	Asked     int64     // requests since the start
	Refused   int64     // of these, because there were too many
}
