//go:build unix && !linux

package chaos

import "errors"

func mountSmall(string) error { return errors.New("a disk of its own is mounted on Linux only") }
