package config

// RedMain says what becomes of a commit that has turned main red.
type RedMain struct {
	// Revert is what becomes of the revert of the commit that turned the branch red: off (nothing is made), prepare (it is made on the branch as it is and built, and the result is shown), propose (besides, where it passes, a pull request with it is opened) or land (besides, the queue lands that on its own, as it lands any change). Default prepare.
	Revert RevertPolicy `json:"revert,omitempty" yaml:"revert,omitempty" jsonschema:"enum=off,enum=prepare,enum=propose,enum=land,default=prepare"`
}

// RevertPolicy is how far the queue goes on its own with the revert of a culprit.
type RevertPolicy string

// The policies.
const (
	RevertOff     RevertPolicy = "off"     // none is made
	RevertPrepare RevertPolicy = "prepare" // it is made and built
	RevertPropose RevertPolicy = "propose" // and proposed, once it is proven
	RevertLand    RevertPolicy = "land"    // and asked to be landed
)

// Prepares reports whether reverts are made and built.
func (p RevertPolicy) Prepares() bool { return p == RevertPrepare || p.Proposes() }

// Proposes reports whether a proven revert is proposed.
func (p RevertPolicy) Proposes() bool { return p == RevertPropose || p == RevertLand }
