package config

import (
	"slices"
	"strings"
)

// Reporter splits the command of a step with a report into the commands that it runs
// first and its last one, which reports: Run is the same as `before && last`, or as
// last where before is empty. It returns false where it cannot tell that Run is so:
// then, when the command fails, nobody knows whether all of it was run for the targets
// that a report calls passed.
//
// It reads a small part of the shell's language: simple commands joined by `&&`, of
// plain and quoted words and of variables, the last one a command that reports; and the
// loop over {targets} that shellLoop describes.
func (s Step) Reporter() (before, last string, ok bool) {
	report := s.Report.row()
	if !report.NamesTargets() {
		return "", "", false
	}
	if before, last, ok = shellLoop(s.Run, report); ok {
		return before, last, true
	}
	run, excused := s.Run, ""
	if s.Report == ReportBazelBEP {
		if rest, found := strings.CutSuffix(strings.TrimRight(run, " \t\n"), noTests); found {
			run, excused = rest, noTests
		}
	}
	commands, starts, ok := andList(run)
	if !ok || !reports(commands, report) {
		return "", "", false
	}
	at := starts[len(starts)-1]
	before = strings.TrimSpace(run[:at])
	return strings.TrimSpace(strings.TrimSuffix(before, "&&")), strings.TrimSpace(run[at:]) + excused, true
}

// noTests ends a command of Bazel for which status 4 (there was no test) is no failure.
const noTests = " || [ $? = 4 ]"

// reports says whether all commands of a list are simple, and the last of them reports.
func reports(commands [][]string, report ReportRow) bool {
	for _, words := range commands {
		if len(words) == 0 || slices.Contains(notSimple, words[0]) {
			return false
		}
	}
	words := commands[len(commands)-1]
	for len(words) > 0 && assigns(words[0]) {
		words = words[1:]
	}
	return report.Reports(words)
}

// shellLoop splits a command that does the same for each target and goes on after a
// failure:
//
//	npm ci || exit 1
//	failed=0
//	for t in {targets}; do
//	  case $t in
//	    ./...) cargo test --message-format json ;;
//	    *) cargo test --message-format json -p "$t" ;;
//	  esac || failed=1
//	done
//	exit $failed
//
// with any number of the first line, and with one command instead of case: lines of
// commands joined by `&&`, the last of which reports.
func shellLoop(run string, report ReportRow) (before, last string, ok bool) {
	lines := strings.Split(strings.TrimRight(run, " \t\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	at := slices.Index(lines, "failed=0")
	if n := len(lines); at < 0 || n < at+5 || lines[at+1] != "for t in {targets}; do" || lines[n-2] != "done" || lines[n-1] != "exit $failed" {
		return "", "", false
	}
	whole := func(line, end string, does ReportRow) bool {
		command, found := strings.CutSuffix(line, end)
		commands, _, plain := andList(command)
		return found && plain && reports(commands, does)
	}
	anything := ReportRow{Reports: func(words []string) bool { return len(words) > 0 }}
	for _, line := range lines[:at] {
		if !whole(line, " || exit 1", anything) {
			return "", "", false
		}
	}
	body := lines[at+2 : len(lines)-2]
	switch n := len(body); {
	case n == 1:
		if !whole(body[0], " || failed=1", report) {
			return "", "", false
		}
	case body[0] != "case $t in" || body[n-1] != "esac || failed=1":
		return "", "", false
	default:
		for _, line := range body[1 : n-1] {
			pattern, command, found := strings.Cut(line, ")")
			if !found || strings.ContainsAny(pattern, " ($`;&\"\\") || !whole(command, " ;;", report) {
				return "", "", false
			}
		}
	}
	return strings.Join(lines[:at], "\n"), strings.Join(lines[at:], "\n"), true
}

// notSimple are words that begin something other than a simple command, or a command
// that affects those after it.
var notSimple = []string{"!", "{", "}", "[[", "if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac", "in",
	"function", "select", "time", "coproc", "trap", "eval", ".", "source", "exec", "exit", "return", "alias", "set", "command", "builtin"}

// assigns reports whether a word sets a variable for the command after it.
func assigns(word string) bool {
	name, _, ok := strings.Cut(word, "=")
	return ok && name != "" && strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789") == ""
}

// andList reads a list of commands joined by `&&`: their words, without quotes, and
// where each begins. It returns false at anything else that the shell may
// understand.
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
