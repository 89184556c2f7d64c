package config

import (
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/submitqueue/submitqueue/queue/spell"
)

// Bounds on a configuration file. They keep hostile files cheap: the YAML
// parser's time grows with the square of keys and of nesting.
const (
	maxSize  = 256 << 10
	maxKeys  = 5000
	maxDepth = 16
)

// Parse reads a configuration file strictly and fills in the documented
// defaults. file is its name in messages. The error is a Errors with all
// independent mistakes, by line; a file of another version has that one error.
func Parse(file string, data []byte) (*Config, error) {
	if len(data) > maxSize {
		r := newFindings(file, "")
		r.add(position{1, 1}, "the file has %d bytes; a configuration may have at most %d: make it smaller", len(data), maxSize)
		return nil, r.result()
	}
	text := strings.TrimPrefix(string(data), "\ufeff")
	r := newFindings(file, text)
	root := parseYAML(r, text)
	if len(r.errs) > 0 {
		return nil, r.result()
	}
	if root == nil {
		r.add(position{1, 1}, "the file is empty: write \"version: 1\" and at least one step")
		return nil, r.result()
	}
	c := &Config{}
	reader := newReader(r)
	if reader.otherVersion(root) {
		return nil, r.result()
	}
	reader.document(root, c)
	checkAll(reader, c)
	if err := r.result(); err != nil {
		return nil, err
	}
	if _, written := reader.at["queue.retries"]; !written {
		c.Queue.Retries = DefaultRetries
	}
	c.Defaults()
	return c, nil
}

// DefaultRetries is Rules.Retries where the file does not say it: nobody is
// rejected for what has happened once.
const DefaultRetries = 1

// parseYAML returns the one document of the file, or nil when there is none or
// an error was reported.
func parseYAML(r *findings, text string) (root ast.Node) {
	// Files of pull requests come here too. The YAML library has had inputs it
	// panicked on; one such file must not stop everybody's queue.
	defer func() {
		if p := recover(); p != nil {
			r.add(position{1, 1}, "this YAML cannot be read: write it in a plainer way")
			root = nil
		}
	}()
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
		at, message := position{1, 1}, err.Error()
		var located yaml.Error
		if errors.As(err, &located) {
			message = located.GetMessage()
			at = tokenPos(located.GetToken())
		}
		if strings.Contains(message, "\t") {
			message = "a tab cannot indent, use spaces"
		}
		r.add(at, "this is not valid YAML: %s", spell.Clip(strings.Join(strings.Fields(message), " "), 200))
		return nil
	}
	for _, d := range file.Docs {
		if d.Body != nil {
			return d.Body
		}
	}
	return nil
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

// DefaultProtected returns the globs of paths that need an administrator's
// approval where the configuration names none.
func DefaultProtected() []string {
	return []string{".github/**", ".gitlab-ci.yml", Path, "CODEOWNERS", ".github/CODEOWNERS", "docs/CODEOWNERS"}
}

// Defaults fills in the documented default of each field that is not set. Rules.External
// stays empty: its default depends on the branch's protection. Rules.Retries stays what
// it is: 0 is a value that means something.
func (c *Config) Defaults() {
	for i := range c.Steps {
		s := &c.Steps[i]
		orDefault(&s.Scope, ScopeTargets)
		orDefault(&s.Report, ReportExitCode)
		orDefault(&s.Timeout, time.Hour)
		s.checkDefaults()
		if !s.ByForge() {
			orDefault(&s.Environment, c.Environment)
			orDefault(&s.Checkout.Submodules, c.Checkout.Submodules)
			orDefault(&s.Checkout.LFS, c.Checkout.LFS)
		}
	}
	if len(c.Analysis.Analyzers) == 0 {
		orDefault(&c.Analysis.Analyzer, AnalyzerNone)
	}
	c.partDefaults()
	orDefault(&c.Analysis.Unowned, UnownedAll)
	q := &c.Queue
	orDefault(&q.Label, "land")
	orDefault(&q.Order, OrderFinish)
	orDefault(&q.Method, MethodMerge)
	orDefault(&q.Intermediate, IntermediateVerify)
	orDefault(&q.InfraRetries, 3)
	orDefault(&q.BuildsPerChange, 20)
	orDefault(&q.MaxOvertake, 4*time.Hour)
	orDefault(&q.VerifyMain, "24h")
	orDefault(&q.RedMain.Revert, RevertPrepare)
	orDefault(&q.Margin, 0.4)
	orDefault(&q.LaneMaxWait, 2*time.Hour)
	orDefault(&q.RequireChecks, ChecksWait)
	orDefault(&q.RequireResolved, ResolveAuto)
	orDefault(&q.ParkedLimit, 168*time.Hour)
	orDefault(&q.Threshold, 0.3)
	orDefault(&q.Spare, SpareAuto)
	orDefault(&q.Batch, BatchOff)
	orDefault(&q.BatchMax, DefaultBatchMax)
	orDefault(&c.Permissions.Land, "write")
	orDefault(&c.Permissions.Queue, "maintain")
	if len(c.Permissions.Protected) == 0 {
		c.Permissions.Protected = DefaultProtected()
	}
	c.laneDefaults()
}

func orDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
