package demo

// Check is how a commit is verified without asking the queue.
type Check struct {
	Command string // for sh, run at the root of the commit; empty: there is none
	Workers int    // commits checked at once, in separate folders; 0: one
	Note    string // where it comes from, or why there is none
}

// GoCheck verifies a Go module as a whole.
func GoCheck() Check { return Check{Command: "go vet ./... && go test ./..."} }
