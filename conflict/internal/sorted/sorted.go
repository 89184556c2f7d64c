// Package sorted puts lists of names in order, and does not copy lists that are
// in order already.
package sorted

import "slices"

// Names returns the names in order, each once. If the list is so already, it
// returns the list itself. It leaves its argument as it is.
func Names(list []string) []string {
	if Increasing(list) {
		return list
	}
	list = slices.Clone(list)
	slices.Sort(list)
	return slices.Compact(list)
}

// Increasing reports whether a list is in order with each name once.
func Increasing(list []string) bool {
	for i := 1; i < len(list); i++ {
		if list[i-1] >= list[i] {
			return false
		}
	}
	return true
}
