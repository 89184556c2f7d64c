package queue

import (
	"iter"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/queue/spell"
)

// Verb is what a command asks for.
type Verb string

// The verbs. CommandUnknown is a near miss, answered with the right spelling.
const (
	CommandLand    Verb = "land"
	CommandCancel  Verb = "cancel"
	CommandStatus  Verb = "status"
	CommandRetry   Verb = "retry"
	CommandPause   Verb = "pause"
	CommandResume  Verb = "resume"
	CommandHelp    Verb = "help"
	CommandTry     Verb = "try"     // builds it on main, and never lands it
	CommandExplain Verb = "explain" // says what would become of it, and why
	CommandUnknown Verb = "unknown"
	CommandRecheck Verb = "recheck" // the queue's own: nobody can type it
	CommandAuto    Verb = "auto"    // the queue's own: looks whether a rule of `auto` enters it
)

// PlainLand is the command that asks to land and for nothing else.
const PlainLand = "/land"

// Verbs with something behind them (command_words.go).
const (
	CommandNow        Verb = "now"        // lands it before all others; Text: why
	CommandDelegate   Verb = "delegate"   // lets User land it
	CommandUndelegate Verb = "undelegate" // takes that back, from everybody where no User is named
	CommandFreeze     Verb = "freeze"     // a pause that ends on its own; Text: until when, and why
	CommandForget     Verb = "forget"     // takes passes back; Text: which (ParseForgotten)
	CommandBlame      Verb = "blame"      // says what has turned main red
	CommandModel      Verb = "model"      // chooses the model that is planned with; Text: a version, ModelNone, ModelNewest or ModelLearn
)

// Command is one command of a comment.
type Command struct {
	Verb Verb   `json:"verb"`
	Text string `json:"text,omitempty"` // the reason of a pause; the text of an unknown command; hostile text
	Lane string `json:"lane,omitempty"` // to land in; empty: none was named; hostile text
	User string `json:"user,omitempty"` // to delegate to; hostile text
	Near string `json:"near,omitempty"` // of an unknown one: how it was probably meant

	Method string `json:"method,omitempty"` // to land by; empty: none was named; hostile text
}

// commandHeads are the first words of all commands.
var commandHeads = []string{"/land", "/queue"}

// maxCommands bounds what one comment can ask for.
const maxCommands = 8

// ParseCommands returns the commands of a comment, in order: one per line, at
// the line's beginning. Quoted lines, code (fenced, indented, inline) and HTML
// comments hold none. Commands of other bots (`/assign`) are not ours and are
// left out; one that begins like ours and is not known is CommandUnknown.
func ParseCommands(body string) []Command { return commands.Parse(body) }

// Parse is ParseCommands with the commands of a table.
func (t CommandTable) Parse(body string) []Command {
	var out []Command
	for line := range plainLines(body) {
		if c, ok := t.parseLine(line); ok && len(out) < maxCommands {
			if c.Verb == CommandUnknown {
				c.Near = t.rightly(strings.Fields(line))
			}
			out = append(out, c)
		}
	}
	return out
}

// plainLines are the lines of a Markdown text, without the space around them, that are
// in no code and do not begin inside an HTML comment.
func plainLines(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		fence, comment := "", false
		for line := range strings.SplitSeq(strings.ReplaceAll(text, "\r\n", "\n"), "\n") {
			trimmed := strings.TrimSpace(line)
			if fence != "" {
				if strings.HasPrefix(trimmed, fence) && strings.Trim(trimmed, fence[:1]) == "" {
					fence = ""
				}
				continue
			}
			if comment {
				_, rest, closed := strings.Cut(line, "-->")
				comment = !closed || opensComment(rest)
				continue
			}
			if indented(line) {
				continue
			}
			if f := fenceOf(trimmed); f != "" {
				fence = f
				continue
			}
			comment = opensComment(trimmed)
			if !yield(trimmed) {
				return
			}
		}
	}
}

// opensComment reports whether a line ends inside an HTML comment.
func opensComment(line string) bool {
	i := strings.LastIndex(line, "<!--")
	return i >= 0 && !strings.Contains(line[i:], "-->")
}

// indented reports whether a line begins at column four or later: code.
func indented(line string) bool {
	column := 0
	for _, c := range line {
		switch c {
		case ' ':
			column++
		case '\t':
			column += 4 - column%4
		default:
			return column >= 4
		}
	}
	return false
}

func fenceOf(line string) string {
	for _, c := range []string{"`", "~"} {
		rest := strings.TrimLeft(line, c)
		if n := len(line) - len(rest); n >= 3 && (c == "~" || !strings.Contains(rest, c)) {
			return strings.Repeat(c, n)
		}
	}
	return ""
}

func (t CommandTable) parseLine(line string) (Command, bool) {
	words := strings.Fields(line)
	if len(words) == 0 {
		return Command{}, false
	}
	head := strings.ToLower(words[0])
	if row, rest, ok := t.spelt(words); ok {
		c := Command{Verb: row.Verb}
		if row.Takes == nil && len(rest) == 0 || row.Takes != nil && row.Takes(&c, rest) {
			return c, true
		}
	} else if !slices.Contains(commandHeads, head) && !nearMiss(head) {
		return Command{}, false
	}
	return Command{Verb: CommandUnknown, Text: spell.Clip(line, 80)}, true
}

// nearMiss reports whether a word looks like /land or /queue misspelt.
func nearMiss(word string) bool {
	return strings.HasPrefix(word, "/") && (closeTo(word, "/land") || len(word) > 4 && spell.Distance(word, "/queue") == 1)
}
