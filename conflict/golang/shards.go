package golang

import (
	"hash/maphash"
	"iter"
	"maps"
)

// shards is a map; its copies share the parts that no copy has changed: a
// copy costs as little as a change. Many goroutines may read a copy at once;
// until a copy is handed on, only the goroutine that forked it may change it.
type shards[V any] struct {
	parts [shardCount]map[string]V
	mine  [shardCount]bool // made by this copy, and so free to change
}

const shardCount = 128

var shardSeed = maphash.MakeSeed()

func shardOf(key string) uint64 { return maphash.String(shardSeed, key) % shardCount }

// fork returns a copy to change. The original is not to change any more.
func (s *shards[V]) fork() shards[V] { return shards[V]{parts: s.parts} }

// get returns the zero value for a key that is not there.
func (s *shards[V]) get(key string) V { return s.parts[shardOf(key)][key] }

func (s *shards[V]) own(key string) map[string]V {
	i := shardOf(key)
	if !s.mine[i] {
		s.mine[i] = true
		if s.parts[i] = maps.Clone(s.parts[i]); s.parts[i] == nil {
			s.parts[i] = map[string]V{}
		}
	}
	return s.parts[i]
}

func (s *shards[V]) set(key string, v V) { s.own(key)[key] = v }
func (s *shards[V]) remove(key string)   { delete(s.own(key), key) }

func (s *shards[V]) all() iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		for _, part := range s.parts {
			for k, v := range part {
				if !yield(k, v) {
					return
				}
			}
		}
	}
}
