package docs

import (
	"path"
	"strings"
	"unicode"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// repository is where files outside this folder are read.
const repository = "https://github.com/submitqueue/submitqueue/blob/main/"

// links replaces the relative links of a page by their addresses on a server.
type links struct{}

// Transform implements parser.ASTTransformer.
func (links) Transform(root *ast.Document, _ text.Reader, _ parser.Context) {
	_ = ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			switch n := n.(type) {
			case *ast.Link:
				n.Destination = []byte(served(string(n.Destination)))
			case *ast.Image:
				n.Destination = []byte(served(string(n.Destination)))
			}
		}
		return ast.WalkContinue, nil
	})
}

// served returns the server's address of the target of a relative link.
func served(to string) string {
	file, anchor, cut := strings.Cut(to, "#")
	switch {
	case file == "" || strings.Contains(file, ":"):
		return to
	case strings.HasPrefix(file, "img/"):
		return "/docs/" + file
	case strings.HasPrefix(file, "../"):
		return repository + path.Join("app/docs", file)
	}
	name := strings.TrimSuffix(file, ".md")
	if file == fileOf(Home) {
		name = Home
	}
	if cut {
		return Address(name + "#" + anchor)
	}
	return Address(name)
}

// slugs makes the anchors of one page's headings as GitHub does.
type slugs map[string]bool

// Generate implements parser.IDs. A page does not repeat a heading, so anchors need no
// number: a test checks that.
func (s slugs) Generate(heading []byte, _ ast.NodeKind) []byte {
	var b strings.Builder
	for _, r := range strings.ToLower(strings.TrimSpace(string(heading))) {
		switch {
		case r == ' ':
			b.WriteByte('-')
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			b.WriteRune(r)
		}
	}
	return []byte(b.String())
}

// Put implements parser.IDs.
func (s slugs) Put(anchor []byte) { s[string(anchor)] = true }
