package config

import (
	"slices"
	"strings"
)

// Reporter splits the command of a step with a report into what it runs first and the
// one that reports, its last: Run is the same as `before && last`, or as last where
// before is empty. It returns false where it cannot tell that Run is so: then, when the
// command fails, nobody knows whether all of it was run for the targets that a report
// calls passed.
//
// It reads a small part of the shell's language: simple commands joined by `&&`, of
// plain and quoted words and of variables. The last one must be `go test` with -json.
func (s Step) Reporter() (before, last string, ok bool) {
	commands, starts, ok := andList(s.Run)
	if !ok || s.Report != ReportGoTestJSON {
		return "", "", false
	}
	for _, words := range commands {
		if len(words) == 0 || slices.Contains(notSimple, words[0]) {
			return "", "", false
		}
	}
	words := commands[len(commands)-1]
	for len(words) > 0 && assigns(words[0]) {
		words = words[1:]
	}
	if len(words) < 3 || words[0] != "go" || words[1] != "test" || !slices.Contains(words, "-json") || slices.Contains(words, "-args") {
		return "", "", false
	}
	at := starts[len(starts)-1]
	before = strings.TrimSpace(s.Run[:at])
	return strings.TrimSpace(strings.TrimSuffix(before, "&&")), strings.TrimSpace(s.Run[at:]), true
}

// notSimple are words with which something begins that is no simple command, or that
// has effects on those after it.
var notSimple = []string{"!", "{", "}", "[[", "if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac", "in",
	"function", "select", "time", "coproc", "trap", "eval", ".", "source", "exec", "exit", "return", "alias", "set", "command", "builtin"}

// assigns reports whether a word sets a variable for the command after it.
func assigns(word string) bool {
	name, _, ok := strings.Cut(word, "=")
	return ok && name != "" && strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789") == ""
}

// andList reads a list of commands joined by `&&`: their words, without quotes, and
// where each begins. It returns false at whatever else the shell may understand.
func andList(run string) (commands [][]string, starts []int, ok bool) {
	run = strings.TrimRight(run, " \t\n")
	words, start := []string{}, 0
	word, inWord := "", false
	end := func() {
		if inWord {
			words = append(words, word)
		}
		word, inWord = "", false
	}
	for i := 0; i < len(run); i++ {
		c := run[i]
		switch {
		case strings.HasPrefix(run[i:], "{targets}"):
			word, inWord = word+"{targets}", true
			i += len("{targets}") - 1
		case c == '\\' && i+1 < len(run) && run[i+1] == '\n': // the line goes on
			i++
		case c == ' ' || c == '\t':
			end()
		case c == '\n' && len(words) == 0 && !inWord: // before the first, or after &&
		case strings.HasPrefix(run[i:], "&&"):
			end()
			commands, starts = append(commands, words), append(starts, start)
			words, start = []string{}, i+2
			i++
		case c == '\'' || c == '"':
			n := strings.IndexByte(run[i+1:], c)
			if n < 0 || c == '"' && strings.ContainsAny(run[i+1:i+1+n], "\\`(") {
				return nil, nil, false
			}
			word, inWord = word+run[i+1:i+1+n], true
			i += n + 1
		case c == '$' && i+1 < len(run) && (assigns(run[i+1:i+2] + "=")):
			word, inWord = word+"$", true
		case c >= 0x80, strings.IndexByte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+=./,:@%^~*?[]", c) >= 0:
			word, inWord = word+string(c), true
		default:
			return nil, nil, false
		}
	}
	end()
	return append(commands, words), append(starts, start), true
}
