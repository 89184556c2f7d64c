package config

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/queue/spell"
)

// Message is the template of a commit that the queue makes. {title}, {number},
// {author}, {body}, {head}, {branch}, {url} and {commits} stand for these facts of
// the pull request, {co_authors} for the trailers of all authors of its parts; {{
// is a brace.
type Message struct {
	// Title is the template of the first line.
	Title string `json:"title,omitempty" yaml:"title,omitempty" jsonschema:"minLength=1,maxLength=300"`
	// Body is the template of the text below the title; "{body}" is the pull request's description. An empty one is written as " ".
	Body string `json:"body,omitempty" yaml:"body,omitempty" jsonschema:"minLength=1,maxLength=4000"`
}

// Messages are the templates of the commits that the queue makes, by method.
// Rebase and fast-forward keep the messages that the commits have.
type Messages struct {
	// Merge is the message of a merge commit, by merge or semi-linear. Default title "Merge #{number}: {title}", with ! for # at GitLab, and no body; at GitLab the project's own template, if it has one.
	Merge Message `json:"merge,omitzero" yaml:"merge,omitempty"`
	// Squash is the message of a squashed change. Default title "{title} (#{number})", with ! for # at GitLab, body "{body}"; at GitLab the project's own template, if it has one.
	Squash Message `json:"squash,omitzero" yaml:"squash,omitempty"`
}

// Worded has the facts that a template can use. All of it is hostile text.
type Worded struct {
	Title, Author, Body, Branch, URL string
	Number                           int
	Head                             string
	Commits                          []string // first lines, the oldest first
	CoAuthors                        []string // trailers
}

const (
	maxTitle = 200  // characters of a title in a message
	maxBody  = 8000 // bytes of a whole message
)

// templateNames are the names that may stand in braces.
var templateNames = []string{"author", "body", "branch", "co_authors", "commits", "head", "number", "title", "url"}

func (w Worded) value(name string) string {
	switch name {
	case "author":
		return oneLine(w.Author)
	case "body":
		return w.Description()
	case "branch":
		return oneLine(w.Branch)
	case "co_authors":
		return strings.Join(w.CoAuthors, "\n")
	case "commits":
		var b strings.Builder
		for _, c := range w.Commits {
			b.WriteString("* " + oneLine(c) + "\n")
		}
		return strings.TrimSpace(b.String())
	case "head":
		return w.Head
	case "number":
		return fmt.Sprint(w.Number)
	case "title":
		return spell.Clip(oneLine(w.Title), maxTitle)
	case "url":
		return oneLine(w.URL)
	}
	return ""
}

// Description returns the description as messages have it: without the HTML comments that forges
// do not show, and without control characters. It is still hostile text.
func (w Worded) Description() string {
	return strings.TrimSpace(withoutComments(printable(w.Body)))
}

// oneLine makes hostile text one printable line.
func oneLine(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\u2028' || r == '\u2029' }), " ")
}

// printable takes out control characters that are no text; git makes no commit with them.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0x7f {
			return -1
		}
		return r
	}, s)
}

// withoutComments takes out HTML comments, which are for the author of the
// description, also those that come together where another one is taken out.
func withoutComments(s string) string {
	var out []byte
	for i := 0; i < len(s); i++ {
		if out = append(out, s[i]); !bytes.HasSuffix(out, []byte("<!--")) {
			continue
		}
		out = out[:len(out)-len("<!--")]
		switch rest := s[i+1:]; {
		case strings.HasPrefix(rest, ">"):
			i++
		case strings.HasPrefix(rest, "->"):
			i += len("->")
		default:
			length := strings.Index(rest, "-->")
			if length < 0 {
				return string(out)
			}
			i += length + len("-->")
		}
	}
	return string(out)
}

// Of returns the template for a method and whether there is one: where nobody has written
// one for merge, the usual line is kept. mark is the sign that the forge writes before
// the number of a change, in titles that nobody has written.
func (m Messages) Of(method Method, mark string) (Message, bool) {
	switch method {
	case "", MethodMerge, MethodSemiLinear:
		out := m.Merge
		if out == (Message{}) {
			return out, false
		}
		if out.Title == "" {
			out.Title = "Merge " + mark + "{number}: {title}"
		}
		return out, true
	case MethodSquash:
		out := m.Squash
		if out.Title == "" {
			out.Title = "{title} (" + mark + "{number})"
		}
		if out.Body == "" {
			out.Body = "{body}"
		}
		return out, true
	}
	return Message{}, false
}

// Saying returns the configuration for a repository with templates in its own settings:
// they apply where the file has none.
func (c *Config) Saying(m Messages) *Config {
	out := *c
	own := &out.Queue.Messages
	if own.Merge == (Message{}) {
		own.Merge = m.Merge
	}
	if own.Squash == (Message{}) {
		own.Squash = m.Squash
	}
	return &out
}

// Render returns a message: the title, and where there is a body, an empty line
// and the body. It is never empty, and the same for the same words. Markers that
// keep a CI from looking at the commit are Unskipped, unless the template itself
// has one.
func (m Message) Render(w Worded) string {
	title := oneLine(fill(m.Title, w))
	if strings.TrimSpace(title) == "" {
		title = fmt.Sprintf("#%d", w.Number)
	}
	text := strings.TrimSpace(title)
	if body := strings.TrimSpace(printable(fill(m.Body, w))); body != "" {
		text += "\n\n" + body
	}
	if own, _ := Skips(m.Title + "\n\n" + m.Body); own == "" {
		text = Unskipped(text)
	}
	if len(text) > maxBody {
		text = strings.ToValidUTF8(text[:maxBody], "") + "…"
	}
	return text
}

func fill(template string, w Worded) string {
	var b strings.Builder
	_ = eachPart(template, func(text, name string) {
		b.WriteString(text)
		if name != "" {
			b.WriteString(w.value(name))
		}
	})
	return b.String()
}

// eachPart goes through a template: text, then a name that is in braces; the last
// name is empty. The error says what is wrong with the first bad brace.
func eachPart(template string, take func(text, name string)) error {
	var text strings.Builder
	for rest := template; ; {
		at := strings.IndexByte(rest, '{')
		if at < 0 {
			text.WriteString(strings.ReplaceAll(rest, "}}", "}"))
			take(text.String(), "")
			return nil
		}
		text.WriteString(strings.ReplaceAll(rest[:at], "}}", "}"))
		rest = rest[at+1:]
		if strings.HasPrefix(rest, "{") {
			text.WriteByte('{')
			rest = rest[1:]
			continue
		}
		name, after, closed := strings.Cut(rest, "}")
		switch {
		case !closed:
			return fmt.Errorf("has a { that is not closed: write {{ for a brace")
		case !slices.Contains(templateNames, name):
			near := ""
			if near = spell.Nearest(name, templateNames); near != "" {
				near = " (did you mean {" + near + "}?)"
			}
			return fmt.Errorf("names {%s}, which there is not%s: there are {%s}, and {{ is a brace", spell.Clip(name, 40), near, strings.Join(templateNames, "}, {"))
		}
		take(text.String(), name)
		text.Reset()
		rest = after
	}
}
