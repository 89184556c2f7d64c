package app

import "syscall"

// giveWay gives the calling thread the lowest priority. Where that is refused, the thread keeps
// its priority.
func giveWay() { _ = syscall.Setpriority(syscall.PRIO_PROCESS, syscall.Gettid(), 19) }
