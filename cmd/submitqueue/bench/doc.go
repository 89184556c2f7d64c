// Package bench is `submitqueue bench`: figures of this build on this machine, each
// an answer to what somebody asks who runs a queue. What only somebody who changes
// the code asks is a benchmark beside that code (go test -bench).
package bench
