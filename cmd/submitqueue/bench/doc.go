// Package bench is `submitqueue bench`: figures of this build on this machine, each
// an answer to a question of people who run a queue. Questions of people who change
// the code have a benchmark beside that code (go test -bench).
package bench
