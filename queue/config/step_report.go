package config

import (
	"slices"
	"strings"
)

// ReportRow is one way to read a step's results, and what it asks of the step. Package
// workers/report reads them.
type ReportRow struct {
	Name Report
	// Noun is what one of the targets is called that it names, as in "no package has
	// passed", and Of what they are, as in "Go packages"; "": it names none, and the exit
	// status stands for all. Analyzer is the one whose targets they are.
	Noun, Of, Analyzer string
	// Reports says whether a simple command, in words, is one whose output is the report.
	Reports func(words []string) bool
	// Ending is how a command ends that reports, and Example one that does; for people.
	Ending, Example string
}

// Reports returns the ways to read a step's results.
func Reports() []ReportRow {
	return []ReportRow{
		{Name: ReportExitCode},
		{Name: ReportGoTestJSON, Noun: "package", Of: "Go packages", Analyzer: AnalyzerGo, Reports: isGoTestJSON,
			Ending: "go test -json", Example: "go vet {targets} && go test -json {targets}"},
	}
}

// row returns the row of a report; for one that is not known, that of exit codes.
func (r Report) row() ReportRow {
	for _, row := range Reports() {
		if row.Name == r {
			return row
		}
	}
	return ReportRow{Name: r}
}

// NamesTargets reports whether results are read for each target: a failure of several
// changes' targets can then be told apart.
func (r ReportRow) NamesTargets() bool { return r.Of != "" }

// NamesTargets is that of the step's report.
func (s Step) NamesTargets() bool { return s.Report.row().NamesTargets() }

// Unread returns, for people, what no failed run of the step passes though its report
// names them, since its command is none that Reporter can split, and what to do; "": there
// is nothing of the kind.
func (s Step) Unread() (what, instead string) {
	row := s.Report.row()
	if _, _, ok := s.Reporter(); ok || !row.NamesTargets() {
		return "", ""
	}
	return row.Noun, "end the command with " + row.Ending + ", after && (" + row.Example + ")"
}

// isGoTestJSON recognises `go test` with -json.
func isGoTestJSON(words []string) bool {
	return len(words) >= 3 && words[0] == "go" && words[1] == "test" && slices.Contains(words, "-json") && !slices.Contains(words, "-args")
}

// checkReport refuses a report that cannot name the targets of its step.
func checkReport(d *document, path string, s Step, a Analysis, row ReportRow) {
	if !row.NamesTargets() {
		return
	}
	p, _ := a.part(s)
	known := d.read("analysis")
	switch {
	case s.Scope == ScopeRepository:
		d.report(path+".report", "%s.report %s needs scope: targets, found scope: repository", path, row.Name)
	case a.of(s) != row.Analyzer && known:
		instead := "set analysis.analyzer to " + row.Analyzer
		if len(a.Analyzers) > 0 {
			instead = "let the step verify the targets of an analyzer " + row.Analyzer
		}
		d.report(path+".report", "%s.report %s names %s: %s, or use report: exit-code", path, row.Name, row.Of, instead)
	}
	if dir := s.Dir; dir != "" && dir != p.Under && (dir != "." || p.Under != "") && known {
		d.report(path+".dir", "%s.dir is not the folder that the step's analyzer is under, and its %ss are named from there: "+
			"delete dir, or use report: exit-code", path, row.Noun)
	}
}

// Reporter splits the command of a step with a report into what it runs first and the
// one that reports, its last: Run is the same as `before && last`, or as last where
// before is empty. It returns false where it cannot tell that Run is so: then, when the
// command fails, nobody knows whether all of it was run for the targets that a report
// calls passed.
//
// It reads a small part of the shell's language: simple commands joined by `&&`, of
// plain and quoted words and of variables. The last one must be a command that reports.
func (s Step) Reporter() (before, last string, ok bool) {
	commands, starts, ok := andList(s.Run)
	report := s.Report.row()
	if !ok || !report.NamesTargets() {
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
	if !report.Reports(words) {
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
