// Package markdown shows comments on the pages of a simulated forge, as a forge does.
package markdown

import (
	"regexp"
	"strings"
)

// Templates define "text", which shows blocks, and "spans".
const Templates = `{{define "text"}}{{range .}}{{if eq .Kind "heading"}}<h3>{{template "spans" .Spans}}</h3>
{{else if eq .Kind "item"}}<p>• {{template "spans" .Spans}}</p>
{{else if eq .Kind "code"}}<pre>{{.Text}}</pre>
{{else if eq .Kind "rule"}}<hr>
{{else}}<p>{{template "spans" .Spans}}</p>
{{end}}{{end}}{{end}}

{{define "spans"}}{{range .}}{{if .Link}}<a href="{{.Link}}" rel="noreferrer">{{end}}{{if .Bold}}<strong>{{end}}{{if .Code}}<code><bdi>{{.Text}}</bdi></code>{{else}}{{.Text}}{{end}}{{if .Bold}}</strong>{{end}}{{if .Link}}</a>{{end}}{{end}}{{end}}`

// Block is a paragraph of a comment, as a page shows it.
type Block struct {
	Kind  string // "heading", "item", "code", "rule" or ""
	Text  string // of "code"
	Spans []Span // of the others
}

// Span is a stretch of text in one style.
type Span struct {
	Text string
	Bold bool
	Code bool
	Link string // http or https; empty: none
}

// Blocks reads as much Markdown as the comments of a bot need: headings, items,
// fenced code, rules, bold, code spans and links. HTML comments are left out, and
// everything else is shown as it was written. Nothing in the result is markup.
func Blocks(text string) []Block {
	var list []Block
	var open []string // lines of the paragraph so far
	closeOpen := func() {
		if len(open) > 0 {
			list = append(list, Block{Spans: spansOf(strings.Join(open, "\n"))})
			open = nil
		}
	}
	lines := strings.Split(hidden().ReplaceAllString(strings.ReplaceAll(text, "\r\n", "\n"), "$2"), "\n")
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		mark := strings.TrimLeft(line, "#")
		item, isItem := strings.CutPrefix(line, "- ")
		switch fence := line[:len(line)-len(strings.TrimLeft(line, "`"))]; {
		case len(fence) >= 3:
			closeOpen()
			start := i + 1
			for i++; i < len(lines) && strings.TrimSpace(lines[i]) != fence; {
				i++
			}
			list = append(list, Block{Kind: "code", Text: strings.Join(lines[start:min(i, len(lines))], "\n")})
		case strings.TrimSpace(line) == "":
			closeOpen()
		case line == "---":
			closeOpen()
			list = append(list, Block{Kind: "rule"})
		case isItem:
			closeOpen()
			list = append(list, Block{Kind: "item", Spans: spansOf(item)})
		case len(mark) < len(line) && strings.HasPrefix(mark, " "):
			closeOpen()
			list = append(list, Block{Kind: "heading", Spans: spansOf(strings.TrimSpace(mark))})
		default:
			open = append(open, line)
		}
	}
	closeOpen()
	return list
}

// hidden finds comments of HTML: a line of its own, or the end of an item, as the box of a
// queue's comment has one.
func hidden() *regexp.Regexp {
	return regexp.MustCompile("(?m)^()<!--.*?-->[ \\t]*$|^(- .*?)[ \\t]*<!--[^`\n]*?-->[ \\t]*$")
}

func links() *regexp.Regexp {
	return regexp.MustCompile("^\\[((?:[^\\[\\]`]|`[^`]*`)+)\\]\\((https?://[^\\s()<>\"]+)\\)")
}

// spansOf reads the styles within a paragraph.
func spansOf(text string) []Span {
	var list []Span
	link := links()
	style := Span{}
	var read func(text string)
	add := func(text string, code bool) {
		if text == "" {
			return
		}
		s := style
		s.Text, s.Code = text, code
		list = append(list, s)
	}
	read = func(text string) {
		for text != "" {
			i := strings.IndexAny(text, "`*[")
			if i < 0 {
				break
			}
			add(text[:i], false)
			text = text[i:]
			fence := text[:len(text)-len(strings.TrimLeft(text, "`"))]
			if fence != "" {
				code, rest, closed := strings.Cut(text[len(fence):], fence)
				if !closed {
					add(fence, false)
					text = text[len(fence):]
					continue
				}
				if padded := strings.TrimSpace(code); strings.HasPrefix(padded, "`") || strings.HasSuffix(padded, "`") {
					code = padded
				}
				add(code, true)
				text = rest
				continue
			}
			if m := link.FindStringSubmatch(text); m != nil && style.Link == "" {
				style.Link = m[2]
				read(m[1])
				style.Link = ""
				text = text[len(m[0]):]
				continue
			}
			if rest, ok := strings.CutPrefix(text, "**"); ok && (style.Bold || strings.Contains(rest, "**")) {
				style.Bold = !style.Bold
				text = rest
				continue
			}
			add(text[:1], false)
			text = text[1:]
		}
		add(text, false)
	}
	read(text)
	return list
}
