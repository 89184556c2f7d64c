//go:build !linux

package app

// giveWay does nothing where threads have no priorities of their own.
func giveWay() {}
