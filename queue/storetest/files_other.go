//go:build !linux

package storetest

const inMemory = ""

func fit(string, uint64) bool { return false }
