package app

import "syscall"

// giveWay gives the calling thread the lowest priority. Where that is refused it keeps its own.
func giveWay() { _ = syscall.Setpriority(syscall.PRIO_PROCESS, syscall.Gettid(), 19) }
