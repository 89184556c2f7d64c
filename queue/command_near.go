package queue

import (
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/queue/spell"
)

// verbs returns the words that may follow a command's first one.
func verbs(head string) []string {
	if head == "/queue" {
		return []string{"pause", "resume", "freeze", "forget", "blame"}
	}
	return []string{string(CommandCancel), string(CommandStatus), string(CommandRetry), string(CommandTry), string(CommandExplain), string(CommandNow),
		string(CommandDelegate), string(CommandUndelegate), string(CommandHelp)}
}

// rightly returns how a line that is no command was probably meant: its first
// two words corrected, if it is a command then. "" where there is no telling.
func rightly(words []string) string {
	head := ""
	for _, want := range []string{"/land", "/queue"} {
		if w := strings.ToLower(words[0]); w == want || closeTo(w, want) {
			head = want
		}
	}
	if head == "" {
		return ""
	}
	fixed := append([]string{head}, words[1:]...)
	if len(words) > 1 && !slices.Contains(verbs(head), strings.ToLower(words[1])) {
		word := strings.Trim(strings.ToLower(words[1]), ".,;:!?")
		for _, v := range verbs(head) {
			if closeTo(word, v) || word == v {
				fixed[1] = v
			}
		}
	}
	line := strings.Join(fixed, " ")
	if len(fixed) > 1 {
		switch {
		case line == "/land now":
			return "/land now REASON"
		case fixed[0] == "/land" && fixed[1] == "delegate":
			line = "/land delegate @user"
		case fixed[0] == "/queue" && fixed[1] == "freeze":
			return "/queue freeze UNTIL"
		case fixed[0] == "/queue" && fixed[1] == "forget":
			return "/queue forget TARGET"
		}
	}
	if c, ok := parseCommand(line); ok && c.Verb != CommandUnknown {
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
