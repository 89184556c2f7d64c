package queue

import (
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
)

// PlainLand is the command that asks to land and for nothing else.
const PlainLand = "/land"

// Verbs with something behind them (command_verbs.go).
const (
	CommandNow        Verb = "now"        // lands it before all others; Text: why
	CommandDelegate   Verb = "delegate"   // lets User land it
	CommandUndelegate Verb = "undelegate" // takes that back, from everybody where no User is named
	CommandFreeze     Verb = "freeze"     // a pause that ends by itself; Text: until when, and why
	CommandForget     Verb = "forget"     // takes passes back; Text: which (ParseForgotten)
	CommandBlame      Verb = "blame"      // says what has turned main red
)

// Command is one command of a comment.
type Command struct {
	Verb Verb   `json:"verb"`
	Text string `json:"text,omitempty"` // the reason of a pause; what was read, of an unknown one; hostile text
	Lane string `json:"lane,omitempty"` // to land in; empty: none was named; hostile text
	User string `json:"user,omitempty"` // to delegate to; hostile text
	Near string `json:"near,omitempty"` // of an unknown one: how it was probably meant

	Method string `json:"method,omitempty"` // to land by; empty: none was named; hostile text
}

// maxCommands bounds what one comment can ask for.
const maxCommands = 8

// ParseCommands returns the commands of a comment, in order: one per line, at
// the line's beginning. Quoted lines, code (fenced, indented, inline) and HTML
// comments hold none. Commands of other bots (`/assign`) are not ours and are
// left out; what begins like ours and is not known is CommandUnknown.
func ParseCommands(body string) []Command {
	var out []Command
	fence := ""
	comment := false
	for _, line := range strings.Split(strings.ReplaceAll(body, "\r\n", "\n"), "\n") {
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
		if c, ok := parseCommand(trimmed); ok && len(out) < maxCommands {
			if c.Verb == CommandUnknown {
				c.Near = rightly(strings.Fields(trimmed))
			}
			out = append(out, c)
		}
	}
	return out
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

func parseCommand(line string) (Command, bool) {
	words := strings.Fields(line)
	if len(words) == 0 {
		return Command{}, false
	}
	unknown := Command{Verb: CommandUnknown, Text: spell.Clip(line, 80)}
	switch head := strings.ToLower(words[0]); {
	case head == "/land" && hasVerb(words):
		if c, ok := parseVerb(words[1:]); ok {
			return c, true
		}
		return unknown, true
	case head == "/land":
		if c, ok := parseLand(words[1:]); ok {
			return c, true
		}
		return unknown, true
	case head == "/queue":
		if len(words) > 1 {
			switch strings.ToLower(words[1]) {
			case "pause":
				return Command{Verb: CommandPause, Text: spell.Clip(strings.Join(words[2:], " "), 200)}, true
			case "resume":
				return Command{Verb: CommandResume}, true
			case "blame":
				return Command{Verb: CommandBlame}, true
			case "forget":
				if f, ok := ParseForgotten(strings.Join(words[2:], " ")); ok {
					return Command{Verb: CommandForget, Text: f.String()}, true
				}
			case "freeze":
				if _, _, ok := ParseUntil(words[2:], 0); ok {
					return Command{Verb: CommandFreeze, Text: spell.Clip(strings.Join(words[2:], " "), 200)}, true
				}
			}
		}
		return unknown, true
	case nearMiss(head):
		return unknown, true
	}
	return Command{}, false
}

// parseLand reads what follows /land: a verb, then options of landing.
func parseLand(words []string) (Command, bool) {
	c := Command{Verb: CommandLand}
	for i, w := range words {
		w = strings.ToLower(w)
		if lane, ok := strings.CutPrefix(w, "priority="); ok && lane != "" && c.Lane == "" {
			c.Lane = spell.Clip(lane, 40)
			continue
		}
		if method, ok := strings.CutPrefix(w, "method="); ok && method != "" && c.Method == "" {
			c.Method = spell.Clip(method, 40)
			continue
		}
		switch v := Verb(w); v {
		case CommandCancel, CommandStatus, CommandRetry, CommandHelp, CommandTry, CommandExplain:
			if i > 0 {
				return c, false
			}
			c.Verb = v
		default:
			return c, false
		}
	}
	return c, (c.Lane == "" || c.Verb == CommandLand || c.Verb == CommandRetry) && (c.Method == "" || c.Verb == CommandLand || c.Verb == CommandTry || c.Verb == CommandExplain)
}

// nearMiss reports whether a word looks like /land or /queue misspelt.
func nearMiss(word string) bool {
	return strings.HasPrefix(word, "/") && (closeTo(word, "/land") || len(word) > 4 && spell.Distance(word, "/queue") == 1)
}
