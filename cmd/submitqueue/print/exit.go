package print

import "fmt"

// ExitCode is an error with a message that has been shown.
type ExitCode int

func (e ExitCode) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// ExitUsage is the exit status of a command line that cannot be followed.
const ExitUsage = 2

// UsageError says why the arguments of a command cannot be followed.
type UsageError string

func (e UsageError) Error() string { return string(e) }
