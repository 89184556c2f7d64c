package bench

import (
	"syscall"
	"time"
	"unsafe"
)

// clockThreadCPU is CLOCK_THREAD_CPUTIME_ID of clock_gettime(2).
const clockThreadCPU = 3

// threadCPU is the CPU time of this thread, which other work on the machine
// lengthens less than the time on the wall. The caller keeps to the thread.
func threadCPU() time.Duration {
	var t syscall.Timespec
	if _, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockThreadCPU, uintptr(unsafe.Pointer(&t)), 0); errno != 0 {
		return time.Since(started)
	}
	return time.Duration(t.Nano())
}
