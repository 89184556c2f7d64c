//go:build !linux

package app

// giveWay does nothing where threads have no separate priorities.
func giveWay() {}
