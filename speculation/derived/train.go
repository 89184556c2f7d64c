package derived

import (
	"github.com/submitqueue/submitqueue/queue/config"
)

func Landable(s Status) bool { return s == Verified || s == TreeKeysOnly }

// Held reports whether main lets nothing but repairs land until what is unproven
// on it has passed.
func (fs *Order) Held() bool {
	root := fs.Root()
	return fs.External() == config.ExternalHold && root != nil && !fs.Ledger.onlyDrift(root)
}
