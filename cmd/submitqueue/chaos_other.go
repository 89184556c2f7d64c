//go:build !unix

package main

import "errors"

// chaosCommand needs the signals of Unix.
type chaosCommand struct{}

// Run implements the command.
func (chaosCommand) Run() error { return errors.New("this command needs the signals of Unix") }
