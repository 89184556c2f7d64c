package forge

// Annotation points from a check run to a place in the commit. All texts are
// plain; they may be hostile, and the forge shows them as they are.
type Annotation struct {
	Path    string // from the repository's root
	Line    int    // from 1
	Title   string // one line
	Message string
	Details string // more of the same; may be empty
}

// MostAnnotations is how many one check run has: forges take no more at once.
const MostAnnotations = 50

// Button is something that people can ask for at a check run.
type Button struct {
	ID    string // at most 20 characters
	Label string // at most 20
	Hint  string // at most 40
}

// The buttons of our check runs, by id.
const (
	ButtonCancel = "cancel"
	ButtonRetry  = "retry"
)
