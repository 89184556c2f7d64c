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

// Done is closed when no process of the command is left.
func (*Process) Done() <-chan struct{} { return nil }

// Status returns how the command ended, once Done is closed.
func (*Process) Status() (Status, error) { return Status{}, ErrNone }

// Stop asks all processes of the command to end, and has them killed after the grace.
func (*Process) Stop() {}

// Kill kills all processes of the command.
func (*Process) Kill() {}

// Missing says for people what this kernel lets commands share.
func Missing() []string { return nil }

// Fence closes addresses to commands.
type Fence struct{}

// NewFence makes no fence here.
func NewFence([]netip.AddrPort) (*Fence, error) { return nil, ErrNone }

// Close ends the fence.
func (*Fence) Close() error { return nil }
