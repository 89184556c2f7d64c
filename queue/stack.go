package queue

// MaxStack is how many pull requests may be below one.
const MaxStack = 50

// Stack has the pull requests below a pull request, as the forge shows them: open ones, each
// with a head branch that is the base of the one before.
type Stack struct {
	Below  []int  `json:"below,omitempty"`  // the nearest first
	Foot   string `json:"foot,omitempty"`   // the base of the last; the queue's branch where the stack stands on it. Hostile text
	Kept   bool   `json:"kept,omitempty"`   // Foot is a protected branch, one that stays: pull requests for it are not meant for another
	Circle bool   `json:"circle,omitempty"` // the last leads back to the first or to the pull request itself: there is no end
	Deep   bool   `json:"deep,omitempty"`   // there are more than MaxStack
	Native int    `json:"native,omitempty"` // the number of the forge's own stack that it is in: only the forge changes what it asks for. 0: none
}

// Parent returns the pull request that is next below, or 0.
func (s Stack) Parent() int {
	if len(s.Below) == 0 {
		return 0
	}
	return s.Below[0]
}
