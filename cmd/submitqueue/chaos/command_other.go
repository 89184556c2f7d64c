//go:build !unix

package chaos

import "errors"

// Command needs the signals of Unix.
type Command struct{}

// Run implements the command.
func (Command) Run() error { return errors.New("this command needs the signals of Unix") }
