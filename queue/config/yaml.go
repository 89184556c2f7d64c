package config

import (
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/submitqueue/submitqueue/queue/spell"
)

// MaxSize is how many bytes a configuration file may have.
const MaxSize = 256 << 10

// More bounds on a configuration file. They keep hostile files cheap: the YAML
// parser's time grows with the square of keys and of nesting.
const (
	maxKeys  = 5000
	maxDepth = 16
)

// parseYAML returns the one document of the file, or nil when there is none or
// an error was reported.
func parseYAML(r *findings, text string) ast.Node {
	if !utf8.ValidString(text) {
		line := 1 + strings.Count(text[:invalidAt(text)], "\n")
		r.add(position{line, 1}, "the file is not UTF-8 text: save it as UTF-8")
		return nil
	}
	if strings.ContainsRune(text, 0) {
		line := 1 + strings.Count(text[:strings.IndexByte(text, 0)], "\n")
		r.add(position{line, 1}, "the file holds a NUL byte: is it a text file?")
		return nil
	}
	if !bracketsShallow(r, text) {
		return nil
	}
	tokens := lexer.Tokenize(text)
	checkTokens(r, tokens)
	if len(r.errs) > 0 {
		return nil
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		at, message := located(err)
		r.add(at, "this is not valid YAML: %s", message)
		return nil
	}
	for _, d := range file.Docs {
		if d.Body != nil {
			return d.Body
		}
	}
	return nil
}

// located returns the mistake that the YAML library found, and its place.
func located(err error) (position, string) {
	at, message := position{1, 1}, err.Error()
	var found yaml.Error
	if errors.As(err, &found) {
		message = found.GetMessage()
		at = tokenPos(found.GetToken())
	}
	if strings.Contains(message, "\t") {
		message = "a tab cannot indent, use spaces"
	}
	return at, spell.Clip(strings.Join(strings.Fields(message), " "), 200)
}

// invalidAt returns where the first byte is that is not part of UTF-8.
func invalidAt(s string) int {
	i := 0
	for i < len(s) {
		c, n := utf8.DecodeRuneInString(s[i:])
		if c == utf8.RuneError && n == 1 {
			break
		}
		i += n
	}
	return i
}

// bracketsShallow refuses lines that open far more brackets than they close,
// before the lexer sees them: its time grows with the square of that number.
// Text in quotes and comments counts too; no sensible line comes near the bound.
func bracketsShallow(r *findings, text string) bool {
	const most = 200
	open := 0
	line := 1
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '[', '{':
			open++
		case ']', '}':
			open = max(open-1, 0)
		case '\n':
			line++
		}
		if open > most {
			r.add(position{line, 1}, "%d brackets are open here: a configuration needs a few", open)
			return false
		}
	}
	return true
}

// checkTokens refuses the parts of YAML that a configuration does not need and
// that make files hard to read or costly to parse.
func checkTokens(r *findings, tokens token.Tokens) {
	depth, keys := 0, 0
	content, directive := false, false
	entries, entryLine := 0, 0
	for _, t := range tokens {
		at := tokenPos(t)
		switch t.Type {
		case token.AnchorType, token.AliasType, token.MergeKeyType:
			r.add(at, "anchors, aliases and merge keys are not supported: write the value out")
		case token.TagType:
			r.add(at, "YAML tags such as %s are not supported: write the plain value", quoted(t.Value))
		case token.DirectiveType:
			r.add(at, "YAML directives are not supported: delete the line")
			directive = true
		case token.MappingKeyType:
			r.add(at, "keys with \"?\" are not supported: write \"key: value\"")
		case token.DocumentHeaderType:
			if content {
				r.add(at, "the file holds several documents: keep one and delete \"---\"")
			}
			directive = false
		case token.MappingStartType, token.SequenceStartType:
			depth++
			if depth == maxDepth+1 {
				r.add(at, "brackets are nested deeper than %d here: a configuration needs a few levels", maxDepth)
			}
		case token.MappingEndType, token.SequenceEndType:
			depth--
		case token.MappingValueType:
			keys++
			if keys == maxKeys+1 {
				r.add(at, "the file has more than %d keys: make it smaller", maxKeys)
			}
		case token.SequenceEntryType:
			if entryLine != at.line {
				entries, entryLine = 0, at.line
			}
			entries++
			if entries == maxDepth+1 {
				r.add(at, "lists are nested deeper than %d here: a configuration needs a few levels", maxDepth)
			}
		}
		if len(r.errs) >= maxShownErrors {
			return
		}
		if t.Type != token.CommentType && t.Type != token.DocumentHeaderType && !directive {
			content = true
		}
	}
}

func tokenPos(t *token.Token) position {
	return position{t.Position.Line, t.Position.Column}
}
