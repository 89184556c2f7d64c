package docs

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"strings"
	"sync"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

//go:embed *.md
var files embed.FS

// Images holds the pictures of the pages, in the folder img.
//
//go:embed img
var Images embed.FS

// Home is the name of the first page.
const Home = ""

// contents are the pages in the order of the list, with their names and their labels in
// it.
var contents = []struct{ name, label string }{
	{Home, "Documentation"},
	{"install", "Install"},
	{"install-gitlab", "Install on GitLab"},
	{"move-gitlab", "Move to it on GitLab"},
	{"runners", "Runners"},
	{"configure", "Configure"},
	{"keys", "Every key"},
	{"commands", "Commands"},
	{"decide", "How it decides"},
	{"operate", "Operate"},
	{"troubleshoot", "Troubleshoot"},
	{"reasons", "Every reason"},
	{"api", "API"},
	{"measure", "Measure"},
	{"glossary", "Glossary"},
}

// Page is one page of the documentation.
type Page struct {
	Name     string        // as in its address, e.g. "install"; Home
	Label    string        // in the list of pages
	Title    string        // its heading of the first level
	HTML     template.HTML // from our own files alone, without raw HTML
	Sections []Section     // in order; the first is the text below the title
}

// Section is the text below one heading.
type Section struct {
	Page   string // name of its page
	Anchor string // of its heading
	Title  string // its heading, as plain text
	Level  int    // of its heading, from 1
	Text   string // without markup, its lines joined by spaces
}

// Address returns where the server shows a section.
func (s Section) Address() string { return Address(s.Page + "#" + s.Anchor) }

// Address returns where a server shows the page or section that a reference names:
// "reasons#red-main" is at /docs/reasons#red-main.
func Address(ref string) string {
	if ref == Home || strings.HasPrefix(ref, "#") {
		return "/docs" + ref
	}
	return "/docs/" + ref
}

// Link returns the absolute address of a reference on a server that people reach at base,
// and "" where base is empty.
func Link(base, ref string) string {
	if base == "" || ref == "" {
		return ""
	}
	return strings.TrimRight(base, "/") + Address(ref)
}

// Online returns where people read a reference without a server: in the source repository.
func Online(ref string) string {
	if ref == "" {
		return ""
	}
	name, anchor, cut := strings.Cut(ref, "#")
	address := repository + "app/docs/" + fileOf(name)
	if cut {
		address += "#" + anchor
	}
	return address
}

// Has reports whether the documentation has the page or section that a reference names.
func Has(ref string) bool {
	name, anchor, _ := strings.Cut(ref, "#")
	p, ok := Find(name)
	if !ok || anchor == "" {
		return ok
	}
	for _, s := range p.Sections {
		if s.Anchor == anchor {
			return true
		}
	}
	return false
}

// All returns the pages in order. Callers must not write to them.
var All = sync.OnceValue(func() []Page {
	pages := make([]Page, 0, len(contents))
	for _, c := range contents {
		source, err := files.ReadFile(fileOf(c.name))
		if err != nil {
			panic(err) // the folder is embedded above
		}
		p, err := render(c.name, source)
		if err != nil {
			panic(err)
		}
		p.Label = c.label
		pages = append(pages, p)
	}
	return pages
})

// Find returns the page of a name.
func Find(name string) (Page, bool) {
	for _, p := range All() {
		if p.Name == name {
			return p, true
		}
	}
	return Page{}, false
}

func fileOf(name string) string {
	if name == Home {
		return "README.md"
	}
	return name + ".md"
}

// render makes a page of its source.
func render(name string, source []byte) (Page, error) {
	md := goldmark.New(
		goldmark.WithExtensions(extension.Table),
		goldmark.WithParserOptions(parser.WithAutoHeadingID(), parser.WithASTTransformers(util.Prioritized(links{}, 100))),
	)
	root := md.Parser().Parse(text.NewReader(source), parser.WithContext(parser.NewContext(parser.WithIDs(slugs{}))))
	var b bytes.Buffer
	if err := md.Renderer().Render(&b, source, root); err != nil {
		return Page{}, fmt.Errorf("docs: page %q: %w", name, err)
	}
	p := Page{Name: name, HTML: template.HTML(b.String()), Sections: sections(name, source, root)}
	if len(p.Sections) > 0 {
		p.Title = p.Sections[0].Title
	}
	return p, nil
}

// sections cuts a page at its headings.
func sections(name string, source []byte, root ast.Node) (all []Section) {
	for n := root.FirstChild(); n != nil; n = n.NextSibling() {
		if h, ok := n.(*ast.Heading); ok {
			anchor, _ := h.AttributeString("id")
			id, _ := anchor.([]byte)
			all = append(all, Section{Page: name, Anchor: string(id), Title: plain(source, h), Level: h.Level})
		} else if len(all) > 0 {
			s := &all[len(all)-1]
			s.Text = strings.TrimSpace(s.Text + " " + plain(source, n))
		}
	}
	return all
}

// plain returns the words of a node.
func plain(source []byte, node ast.Node) string {
	var b strings.Builder
	_ = ast.Walk(node, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			if n.Type() == ast.TypeBlock {
				b.WriteByte(' ')
			}
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Text:
			b.Write(n.Segment.Value(source))
			if n.SoftLineBreak() || n.HardLineBreak() {
				b.WriteByte(' ')
			}
		case *ast.FencedCodeBlock:
			b.Write(n.Lines().Value(source))
		}
		return ast.WalkContinue, nil
	})
	return strings.Join(strings.Fields(b.String()), " ")
}
