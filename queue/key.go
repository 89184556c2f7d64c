package queue

import (
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/queue/digest"
)

// CommitID and TreeID are git object ids in lower-case hexadecimal.
type (
	CommitID string
	TreeID   string
)

// Key is one thing that can be verified: a step on a target at a hash. Equal
// keys have equal outcomes, flakes aside; the ledger relies on that.
type Key struct {
	Step   Digest `json:"step"`   // Step.Digest: a changed step is a new key
	Target string `json:"target"` // name within the repository
	Hash   Digest `json:"hash"`   // target hash over all inputs (package conflict)
}

// KeyID is the digest of a key; it is the key's name in the ledger.
type KeyID = Digest

// ID returns the key's name in the ledger.
func (k Key) ID() KeyID { return digest.Of("key1", string(k.Step), k.Target, string(k.Hash)) }

// KeysOf returns the keys of a step for the targets of a tree: one for each
// that it covers, or one for the whole tree when the step's scope is the
// repository.
func KeysOf(s config.Step, tree TreeID, targets []TargetHash) []Key {
	d := s.Digest()
	if s.Scope == config.ScopeRepository {
		return []Key{{Step: d, Target: config.TargetTree, Hash: Digest(tree)}}
	}
	keys := make([]Key, 0, len(targets))
	for _, t := range targets {
		if s.Covers(t.Target) {
			keys = append(keys, Key{Step: d, Target: t.Target, Hash: t.Hash})
		}
	}
	return keys
}

// Digest is a SHA-256 in lower-case hexadecimal, never shortened.
type Digest = digest.Digest
