// Package bench is `submitqueue bench`: figures of this build on this machine, each an
// answer to a question of people who run a queue. For questions of people who change
// the code, there are benchmarks beside that code (go test -bench).
package bench
