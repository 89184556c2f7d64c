package redisstore

import (
	"strings"

	"github.com/submitqueue/submitqueue/queue"
)

// keys are the names of one queue's keys. All of them share the hash tag
// {queue}, so that a cluster keeps them in one slot and one script may write
// them all.
type keys struct{ prefix string }

// escape keeps a queue's name from ending the hash tag early; an empty one would
// be no tag at all.
var escape = strings.NewReplacer("%", "%25", "{", "%7B", "}", "%7D")

func keysOf(name string) keys {
	tag := escape.Replace(name)
	if tag == "" {
		tag = "%"
	}
	return keys{prefix: "sq:{" + tag + "}:"}
}

func (k keys) inbox() string               { return k.prefix + "inbox" }
func (k keys) unread() string              { return k.prefix + "unread" }
func (k keys) version() string             { return k.prefix + "version" }
func (k keys) lease() string               { return k.prefix + "lease" }
func (k keys) fence() string               { return k.prefix + "fence" }
func (k keys) history() string             { return k.prefix + "history" }
func (k keys) past() string                { return k.prefix + "past" }
func (k keys) pastBytes() string           { return k.prefix + "past:bytes" }
func (k keys) places() string              { return k.prefix + "places" }
func (k keys) index() string               { return k.prefix + "index" }
func (k keys) kept() string                { return k.prefix + "kept" }
func (k keys) kind(kind queue.Kind) string { return k.prefix + string(kind) }
func (k keys) seen(event string) string    { return k.prefix + "seen:" + event }
func (k keys) known(id queue.KeyID) string { return k.prefix + "known:" + string(id) }
