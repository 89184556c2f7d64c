// Package chaos runs the product as its users do: a server in a separate process, beside
// a real Redis and a real repository. Simulated authors ask to land changes all the time.
// It injects the faults that servers meet: kills, stops, cut networks, lost writes of
// Redis, damage of the mirror, full disks, pushes past the queue. It judges the outcome
// from outside, by git and by the answers of the API:
//
//	every commit of main is green, by the test's own rule
//	no change is on main twice, and none at a head that nobody asked for
//	no sound change is rejected
//	once the faults have ended, nothing is without a verdict for longer than Options.Settle
//	the server ends well when it is told to, and leaves no process behind
//
// # A worked example
//
//	report, err := chaos.Run(ctx, chaos.Options{Program: "submitqueue", Dir: dir, Seed: 7, For: 2 * time.Minute, Out: os.Stdout})
//	// 0:03.1  kill the server
//	// 0:07.9  cut Redis off for 2.4 s
//	// ...
//	// report.Violations is empty
//
// The draws follow from the seed: which changes, which faults, and when. The results do
// not: the timing of processes and of the disk varies.
package chaos
