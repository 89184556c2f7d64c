//go:build !linux

package cage

import (
	"net/netip"
	"os"
)

// Process is a command in a cage.
type Process struct{}

// Start starts no command here.
func Start(Spec, Where, *os.File) (*Process, error) { return nil, ErrNone }

// Done is closed when nothing of the command is left.
func (*Process) Done() <-chan struct{} { return nil }

// Status returns how the command ended, once Done is closed.
func (*Process) Status() (Status, error) { return Status{}, ErrNone }

// Stop asks all of it to end, and has it killed after the grace.
func (*Process) Stop() {}

// Kill kills all of it.
func (*Process) Kill() {}

// Missing says what the kernel does not keep apart, for people.
func Missing() []string { return nil }

// Fence closes addresses to commands.
type Fence struct{}

// NewFence makes no fence here.
func NewFence([]netip.AddrPort) (*Fence, error) { return nil, ErrNone }

// Close ends the fence.
func (*Fence) Close() error { return nil }
