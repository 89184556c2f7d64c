package queue

import (
	"fmt"
	"slices"
	"strings"
)

// Method is how a change gets onto the branch.
type Method string

// The methods. A change without one lands by merge.
const (
	MethodMerge       Method = "merge"        // one commit, whose parents are the branch and the head
	MethodSquash      Method = "squash"       // the same tree in one commit, whose parent is the branch
	MethodRebase      Method = "rebase"       // the change's own commits, made anew on the branch
	MethodFastForward Method = "fast-forward" // the change's own commits as they are, which must stand on the branch as it is
)

// Methods returns all of them.
func Methods() []Method {
	return []Method{MethodMerge, MethodSquash, MethodRebase, MethodFastForward}
}

// Keeps reports whether what a change was made of is on the branch under its own
// name once it has landed: its head is an ancestor of the commit that it landed
// as.
func (m Method) Keeps() bool { return m == "" || m == MethodMerge || m == MethodFastForward }

// ByCommit reports whether each of a change's own commits is on the branch's line
// once it has landed.
func (m Method) ByCommit() bool { return m == MethodRebase || m == MethodFastForward }

// Allowed returns the methods that a change may ask for: the default one first.
func (q Rules) Allowed() []Method {
	out := []Method{q.Method}
	if q.Method == "" {
		out[0] = MethodMerge
	}
	for _, m := range q.Methods {
		if !slices.Contains(out, m) {
			out = append(out, m)
		}
	}
	return out
}

// MethodFor returns the method that a command asks for ("": none), and whether
// it may. Merge is returned as "", as it is stored.
func (q Rules) MethodFor(asked string) (Method, bool) {
	allowed := q.Allowed()
	m := allowed[0]
	if asked != "" {
		m = Method(asked)
	}
	ok := slices.Contains(allowed, m)
	if m == MethodMerge {
		m = ""
	}
	return m, ok
}

// Intermediate says what becomes of the commits before the last of a change that
// lands as several.
type Intermediate string

// The policies for them.
const (
	IntermediateVerify Intermediate = "verify" // each adds only keys that have passed
	IntermediateSkip   Intermediate = "skip"   // nobody looks at them
)

// Wording is what the commits say that a change lands as. It is fixed when the
// change comes, so that the same merge always makes the same commit. All of it is
// hostile text.
type Wording struct {
	Text    string `json:"text,omitempty"`    // title and body; empty: the usual line
	Credits string `json:"credits,omitempty"` // trailers, a line each: co-authors and sign-offs
	Author  string `json:"author,omitempty"`  // "Name <address>"; empty: the queue
}

// Message is the template of a commit that the queue makes. {title}, {number},
// {author}, {body}, {head}, {branch}, {url} and {commits} stand for what they say
// of the pull request, {co_authors} for the trailers of everybody who wrote a part
// of it; {{ is a brace.
type Message struct {
	// Title is the template of the first line.
	Title string `json:"title,omitempty" yaml:"title,omitempty" jsonschema:"minLength=1,maxLength=300"`
	// Body is the template of what follows it; "{body}" is the pull request's description. An empty one is written as " ".
	Body string `json:"body,omitempty" yaml:"body,omitempty" jsonschema:"minLength=1,maxLength=4000"`
}

// Messages are the templates of the commits that the queue makes, by method.
// Rebase and fast-forward keep the messages that the commits have.
type Messages struct {
	// Merge is the message of a merge commit. Default title "Merge #{number}: {title}", and no body.
	Merge Message `json:"merge,omitzero" yaml:"merge,omitempty"`
	// Squash is the message of a squashed change. Default title "{title} (#{number})", body "{body}".
	Squash Message `json:"squash,omitzero" yaml:"squash,omitempty"`
}

// Worded is what a template can speak of. All of it is hostile text.
type Worded struct {
	Title, Author, Body, Branch, URL string
	Number                           int
	Head                             CommitID
	Commits                          []string // first lines, the oldest first
	CoAuthors                        []string // trailers
}

const (
	maxTitle = 200  // characters of a title in a message
	maxBody  = 8000 // bytes of a whole message
)

// templateNames are what may stand in braces.
var templateNames = []string{"author", "body", "branch", "co_authors", "commits", "head", "number", "title", "url"}

func (w Worded) value(name string) string {
	switch name {
	case "author":
		return oneLine(w.Author)
	case "body":
		return strings.TrimSpace(withoutComments(printable(w.Body)))
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
		return string(w.Head)
	case "number":
		return fmt.Sprint(w.Number)
	case "title":
		return clip(oneLine(w.Title), maxTitle)
	case "url":
		return oneLine(w.URL)
	}
	return ""
}

// oneLine makes hostile text one printable line.
func oneLine(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\u2028' || r == '\u2029' }), " ")
}

// printable takes out whatever is no text; git makes no commit that says it.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r == 0x7f {
			return -1
		}
		return r
	}, s)
}

// withoutComments takes out HTML comments, which are for who writes the
// description.
func withoutComments(s string) string {
	for {
		from := strings.Index(s, "<!--")
		if from < 0 {
			return s
		}
		length := strings.Index(s[from:], "-->")
		if length < 0 {
			return s[:from]
		}
		s = s[:from] + s[from+length+len("-->"):]
	}
}

// Of returns the template for a method and whether there is one: where nobody has
// written one for merge, the usual line is kept.
func (m Messages) Of(method Method) (Message, bool) {
	switch method {
	case "", MethodMerge:
		out := m.Merge
		if out == (Message{}) {
			return out, false
		}
		if out.Title == "" {
			out.Title = "Merge #{number}: {title}"
		}
		return out, true
	case MethodSquash:
		out := m.Squash
		if out.Title == "" {
			out.Title = "{title} (#{number})"
		}
		if out.Body == "" {
			out.Body = "{body}"
		}
		return out, true
	}
	return Message{}, false
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
// name is empty. The error says what is wrong with the first brace that is.
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
			if near = nearest(name, templateNames); near != "" {
				near = " (did you mean {" + near + "}?)"
			}
			return fmt.Errorf("names {%s}, which there is not%s: there are {%s}, and {{ is a brace", clip(name, 40), near, strings.Join(templateNames, "}, {"))
		}
		take(text.String(), name)
		text.Reset()
		rest = after
	}
}

// checkMethods reports what single fields of landing cannot show.
func checkMethods(r *configReader, q *Rules) {
	for i, m := range q.Methods {
		path := fmt.Sprintf("queue.methods[%d]", i)
		switch {
		case r.bad[path]:
		case !slices.Contains(Methods(), m):
			var names []string
			for _, x := range Methods() {
				names = append(names, string(x))
			}
			r.report(path, "%s is none of %s, found %s%s", path, strings.Join(names, ", "), quoted(string(m)), didYouMean(string(m), names))
		case slices.Contains(q.Methods[:i], m):
			r.report(path, "%s is %s, which stands there already: take it out", path, quoted(string(m)))
		}
	}
	for _, x := range []struct {
		path string
		text string
	}{
		{"queue.messages.merge.title", q.Messages.Merge.Title}, {"queue.messages.merge.body", q.Messages.Merge.Body},
		{"queue.messages.squash.title", q.Messages.Squash.Title}, {"queue.messages.squash.body", q.Messages.Squash.Body},
	} {
		if r.bad[x.path] || x.text == "" {
			continue
		}
		if err := eachPart(x.text, func(string, string) {}); err != nil {
			r.report(x.path, "%s %s", x.path, err)
		} else if strings.HasSuffix(x.path, ".title") && strings.ContainsAny(strings.TrimSpace(x.text), "\r\n") {
			r.report(x.path, "%s must be one line", x.path)
		}
	}
}
