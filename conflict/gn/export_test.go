package gn

// Bound has an analyzer look for included files n times in a tree.
func (a *Analyzer) Bound(n int) { a.lookups = n }
