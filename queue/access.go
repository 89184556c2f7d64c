package queue

// Access says that we may not reach the repository any more, that we may again,
// or that it is somewhere else by now.
type Access struct {
	Lost  string `json:"lost,omitempty"`  // why, and what to do about it; empty: it can be reached, or it is worth a try
	Moved bool   `json:"moved,omitempty"` // it was renamed or transferred, or has another default branch
}

func (Access) event() {}
