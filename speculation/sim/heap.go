package sim

// heaped is a list for container/heap: the element that comes before all others is the
// first.
type heaped[T interface{ Before(T) bool }] []T

func (h heaped[T]) Len() int           { return len(h) }
func (h heaped[T]) Less(i, j int) bool { return h[i].Before(h[j]) }
func (h heaped[T]) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *heaped[T]) Push(x any)        { *h = append(*h, x.(T)) }
func (h *heaped[T]) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
