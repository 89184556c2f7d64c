package queue

// Author is what is remembered of an author of changes that have had verdicts here. It
// is for models, and is forgotten after a while without a verdict.
type Author struct {
	Name    string             `json:"name"`           // as in Change.Author
	Since   Instant            `json:"since"`          // arrival of the first change
	At      Instant            `json:"at"`             // of the latest verdict
	Changes int                `json:"changes"`        // that have ended, in any way
	Success Rate               `json:"success"`        // of those that were built to a verdict: landed, not turned down for a failure
	Dirs    map[string]float64 `json:"dirs,omitempty"` // by directory, "" the root: changes that have landed there, as weights at At
}

// Area is what is remembered of a directory: with which other directories it was
// changed. It is for models, and is forgotten after a while without a landing.
type Area struct {
	Dir    string             `json:"dir"`            // "" is the root
	At     Instant            `json:"at"`             // of the latest landing
	Weight float64            `json:"weight"`         // of the changes that have landed there, at At
	With   map[string]float64 `json:"with,omitempty"` // by directory: of these, those that changed that one, too
}
