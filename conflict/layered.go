package conflict

import "maps"

// layered is a map that never changes; maps that are made from it share the
// large part. A zero value counts as no value.
type layered[V any] struct {
	base, over map[string]V
	own        int // entries that it does not share with the map that it was made from
}

// layer returns a map without edits.
func layer[V any](base map[string]V) layered[V] { return layered[V]{base: base, own: len(base)} }

func (l *layered[V]) get(key string) V {
	if v, ok := l.over[key]; ok {
		return v
	}
	return l.base[key]
}

// each calls f with every entry, in no order.
func (l *layered[V]) each(f func(key string, v V)) {
	for key, v := range l.over {
		f(key, v)
	}
	for key, v := range l.base {
		if _, ok := l.over[key]; !ok {
			f(key, v)
		}
	}
}

// with returns the map with some values replaced. It takes the argument over.
func (l *layered[V]) with(edits map[string]V) layered[V] {
	if len(edits) == 0 {
		return layered[V]{base: l.base, over: l.over}
	}
	if len(l.over)+len(edits) <= len(l.base)/8+64 {
		over := make(map[string]V, len(l.over)+len(edits))
		maps.Copy(over, l.over)
		maps.Copy(over, edits)
		return layered[V]{l.base, over, len(over)}
	}
	base := make(map[string]V, len(l.base)+len(edits))
	maps.Copy(base, l.base)
	maps.Copy(base, l.over)
	maps.Copy(base, edits)
	return layer(base)
}
