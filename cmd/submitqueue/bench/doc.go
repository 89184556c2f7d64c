// Package bench is `submitqueue bench`: figures of this build on this machine, each an
// answer to a question of operators of a queue. For questions of developers of the code,
// there are benchmarks beside that code (go test -bench).
package bench
