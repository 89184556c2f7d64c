package main

import "fmt"

// exitCode is an error whose message has been shown.
type exitCode int

func (e exitCode) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// exitUsage is the exit status of a command line that cannot be followed.
const exitUsage = 2

// usageError is an argument that no server needs to be asked about.
type usageError string

func (e usageError) Error() string { return string(e) }
