package queue

import (
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/queue/spell"
)

// verbs returns the words that may follow a command's first one.
func (t CommandTable) verbs(head string) []string {
	var out []string
	for _, row := range t {
		if verb, ok := strings.CutPrefix(row.Words, head+" "); ok {
			out = append(out, verb)
		}
	}
	return out
}

// rightly returns the command that a misspelt line probably stands for: the
// line with its first two words corrected, if that is a command; "" where
// nobody can tell.
func (t CommandTable) rightly(words []string) string {
	head := ""
	for _, want := range commandHeads {
		if w := strings.ToLower(words[0]); w == want || closeTo(w, want) {
			head = want
		}
	}
	if head == "" {
		return ""
	}
	fixed := append([]string{head}, words[1:]...)
	if verbs := t.verbs(head); len(words) > 1 && !slices.Contains(verbs, strings.ToLower(words[1])) {
		word := strings.Trim(strings.ToLower(words[1]), ".,;:!?")
		for _, v := range verbs {
			if closeTo(word, v) || word == v {
				fixed[1] = v
			}
		}
	}
	if row, rest, ok := t.spelt(fixed); ok && row.Near != "" && (!row.Keeps || len(rest) == 0) {
		return row.Near
	}
	line := strings.Join(fixed, " ")
	if c, ok := t.parseLine(line); ok && c.Verb != CommandUnknown {
		return spell.Clip(line, 80)
	}
	return ""
}

// closeTo reports whether a word looks like another misspelt: one letter
// missing, wrong or too many, two neighbours swapped, or, where it is long, two
// such letters.
func closeTo(word, want string) bool {
	if d := len(word) - len(want); d < -2 || d > 2 {
		return false
	}
	for i := 0; i+1 < len(want); i++ {
		if word == want[:i]+want[i+1:i+2]+want[i:i+1]+want[i+2:] {
			return true
		}
	}
	most := 1
	if len(want) > 5 {
		most = 2
	}
	return spell.Distance(word, want) <= most
}
