//go:build !race

package cage

var quick []string // see race_linux.go
