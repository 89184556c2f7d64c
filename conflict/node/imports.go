package node

import (
	"bytes"
	"path"
	"regexp"
	"slices"
	"strings"
)

// specifiers are the strings of a file that may lead to another package. They
// are found without a parser of the language: every string that looks like one
// counts, in comments, too.
type specifiers struct {
	bare []string // "react", "@acme/ui/button", "~/x": packages and aliases
	up   []string // "../../ui/src": paths that leave the file's directory
	runs []string // packages of which commands run tasks
}

// scannable reports whether a file of this name may import other files.
func scannable(file string) bool {
	switch path.Ext(file) {
	case ".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts", ".vue", ".svelte", ".astro", ".mdx",
		".css", ".scss", ".sass", ".less", ".styl", ".html", ".graphql", ".gql", ".coffee",
		".njk", ".hbs", ".handlebars", ".mustache", ".ejs", ".pug", ".liquid", ".twig", ".pcss", ".postcss", ".prisma",
		".json", ".jsonc", ".json5", ".yaml", ".yml", ".toml", ".sh", ".bash", ".proto":
		return true
	}
	return false
}

// maxSpecifier bounds the length of a specifier: a longer one is data.
const maxSpecifier = 300

// scanImports reads one file. Every quote counts as an opening one, so that an
// apostrophe in a comment does not hide the text after it.
func scanImports(src []byte) specifiers {
	var s specifiers
	for i := 0; i < len(src); i++ {
		switch src[i] {
		case '"', '\'', '`':
			word := quoted(src[i:])
			if word != "" && bareStart(word) && (strings.HasPrefix(word, "@") || strings.HasPrefix(word, "~@") || imported(src[:i])) {
				s.bare = append(s.bare, word)
				if pkg, ok := strings.CutPrefix(word, "~"); ok && pkg != "" && bareStart(pkg) { // of a style sheet; else an alias
					s.bare = append(s.bare, pkg)
				}
			}
		case '.':
			if bytes.HasPrefix(src[i:], []byte("..")) && (i == 0 || src[i-1] != '.') {
				if i > 0 {
					if m := joined.Find(src[i-1:]); m != nil {
						s.up = append(s.up, together(m))
					}
				}
				if word := pathAt(src[i:]); word != "" {
					i += len(word) - 1
					if i+1 < len(src) && (src[i+1] == '*' || src[i+1] == '{') {
						word += "*"
					}
					s.up = append(s.up, word)
				}
			}
		}
	}
	slices.Sort(s.bare)
	slices.Sort(s.up)
	s.bare, s.up, s.runs = slices.Compact(s.bare), slices.Compact(s.up), runsIn(src)
	return s
}

// joined matches strings that a call puts together, the first of which leads up, as in
// path.join(__dirname, '..', '..', 'data').
var joined = regexp.MustCompile("\\A[\"'`]\\.\\.(?:/\\.\\.)*/?[\"'`](?:\\s*,\\s*[\"'`][^\"'`\\s\\\\$]+[\"'`]){1,8}")

// together returns the path that the strings of a piece of code make, up to a wildcard.
func together(code []byte) string {
	at := path.Join(strings.FieldsFunc(string(code), func(r rune) bool { return strings.ContainsRune("\"'`, \t\r\n", r) })...)
	if i := strings.IndexAny(at, "*?[{"); i >= 0 {
		at = path.Clean(at[:strings.LastIndexByte("/"+at[:i], '/')]) + "/*"
	}
	return at
}

// quoted returns the text between the quote that src begins with and the next
// one, "" if that is not on the line. For a template it is the text before the
// first value.
func quoted(src []byte) string {
	for j := 1; j < len(src) && j <= maxSpecifier; j++ {
		switch c := src[j]; {
		case c == src[0], c == '$' && src[0] == '`' && j+1 < len(src) && src[j+1] == '{':
			return string(src[1:j])
		case c == '\n', c <= ' ', c == '\\':
			return ""
		}
	}
	return ""
}

// bareStart reports whether a word may name a package or an alias of one.
func bareStart(word string) bool {
	c := word[0]
	return c == '@' && strings.Contains(word, "/") || c == '#' || c == '/' || c == '~' || c == '_' || c == '-' || c == '$' ||
		'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

// importers are the words that stand before an imported name.
var importers = []string{"from", "import", "require", "resolve", "mock", "doMock", "unmock", "requireActual", "requireMock",
	"importActual", "importMock", "use", "forward", "types=", "path=", "src=", "extends", "extends:", "reference", "module", "presets", "plugins", "preset", "preset:"}

// imported reports whether a quote after this text opens an imported name.
func imported(before []byte) bool {
	before = trimComment(before)
	for len(before) > 0 && (before[len(before)-1] == '(' || before[len(before)-1] == '[') {
		before = trimComment(before[:len(before)-1])
	}
	if key, ok := bytes.CutSuffix(before, []byte(`":`)); ok { // of JSON
		return bytes.HasSuffix(key, []byte(`"extends`)) || bytes.HasSuffix(key, []byte(`"presets`)) ||
			bytes.HasSuffix(key, []byte(`"preset`)) || bytes.HasSuffix(key, []byte(`"plugins`))
	}
	end := len(before)
	for end > 0 && end > len(before)-16 && (wordByte(before[end-1]) || before[end-1] == '=' || before[end-1] == ':') {
		end--
	}
	return slices.Contains(importers, string(before[end:]))
}

func trimComment(b []byte) []byte {
	for {
		b = bytes.TrimRight(b, " \t\r\n")
		if !bytes.HasSuffix(b, []byte("*/")) {
			return b
		}
		open := bytes.LastIndex(b[max(0, len(b)-1000):], []byte("/*"))
		if open < 0 {
			return b
		}
		b = b[:max(0, len(b)-1000)+open]
	}
}

func wordByte(c byte) bool {
	return c == '_' || c == '$' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

// pathAt returns the path that src begins with, "" if it is no path.
func pathAt(src []byte) string {
	n := 0
	for n < len(src) && n < maxSpecifier && (wordByte(src[n]) || strings.IndexByte("./@+-[]", src[n]) >= 0) {
		n++
	}
	if n < 3 || src[2] != '/' {
		if n != 2 {
			return "" // "...": a spread
		}
	}
	return string(src[:n])
}
