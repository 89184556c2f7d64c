package golang

import (
	"bytes"
	"go/ast"
	"go/build"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"io"
	"slices"
	"strconv"
	"strings"
)

// scan has the parts of one Go file that the graph needs.
type scan struct {
	imports  []string
	embeds   []string // patterns of //go:embed
	away     []string // paths in strings that lead out of the directory
	includes []string // names that the C code of it, or of the C file that it is, includes
	broken   bool     // the imports cannot be read, or it names too many paths
	script   bool     // built only under the tag "ignore": run by hand
	builds   bool     // its constraint lets it build on the platform
}

// platform evaluates build constraints.
type platform struct {
	os, arch string
	context  build.Context
}

func newPlatform(os, arch string) platform {
	return platform{os, arch, build.Context{GOOS: os, GOARCH: arch, Compiler: "gc", CgoEnabled: true,
		OpenFile: func(string) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("package p\n")), nil }}}
}

// named reports whether a file's name lets it build.
func (p *platform) named(base string) bool {
	if name, _, _ := strings.Cut(base, "."); !strings.Contains(name, "_") {
		return true
	}
	ok, err := p.context.MatchFile("", base)
	return ok && err == nil
}

// tag reports whether a build tag holds. Tags for versions of Go always do.
func (p *platform) tag(t string) bool {
	switch t {
	case p.os, p.arch, "gc", "cgo":
		return true
	case "unix":
		return p.os != "windows" && p.os != "plan9" && p.os != "js" && p.os != "wasip1"
	case "linux":
		return p.os == "android"
	case "darwin":
		return p.os == "ios"
	}
	return strings.HasPrefix(t, "go1.")
}

// scan reads one file, the strings of which matter if it is a test's or helps tests. It never fails: a file
// that it cannot read is broken.
func (p *platform) scan(src []byte, test bool) scan {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "", src, parser.ImportsOnly|parser.ParseComments|parser.SkipObjectResolution)
	if err != nil || f == nil {
		return scan{broken: true, builds: true}
	}
	s := scan{builds: true}
	end := f.Name.End()
	for _, i := range f.Imports {
		end = i.End()
		imp, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			return scan{broken: true, builds: true}
		}
		s.imports = append(s.imports, imp)
		switch imp {
		case "embed":
			s.embeds = embedPatterns(src)
		case "C":
			s.includes = includesOf(src)
		}
	}
	if test || slices.Contains(s.imports, "testing") {
		s.away = awayPaths(src[fset.Position(end).Offset:])
	}
	if len(s.away) > mostAway {
		s.away, s.broken = nil, true
	}
	if x := buildLine(fset, f); x != nil {
		s.builds = x.Eval(p.tag)
		s.script = needsIgnore(x)
	}
	return s
}

// buildLine returns the file's constraint: its //go:build line or, without one, all
// its lines of the former kind, // +build, which the go command still obeys. These
// count above a blank line, and above every other kind of comment.
func buildLine(fset *token.FileSet, f *ast.File) constraint.Expr {
	var former constraint.Expr
	ended := false
	for _, group := range f.Comments {
		if group.Pos() >= f.Package {
			break
		}
		ended = ended || fset.Position(group.End()).Line+1 >= fset.Position(f.Package).Line ||
			slices.ContainsFunc(group.List, func(c *ast.Comment) bool { return strings.HasPrefix(c.Text, "/*") })
		for _, c := range group.List {
			if !constraint.IsGoBuild(c.Text) && (ended || !constraint.IsPlusBuild(c.Text)) {
				continue
			}
			x, err := constraint.Parse(c.Text)
			switch {
			case err != nil:
			case constraint.IsGoBuild(c.Text):
				return x
			case former == nil:
				former = x
			default:
				former = &constraint.AndExpr{X: former, Y: x}
			}
		}
	}
	return former
}

// needsIgnore reports whether the constraint holds only where the tag
// "ignore" is set.
func needsIgnore(x constraint.Expr) bool {
	switch x := x.(type) {
	case *constraint.TagExpr:
		return x.Tag == "ignore"
	case *constraint.AndExpr:
		return needsIgnore(x.X) || needsIgnore(x.Y)
	case *constraint.OrExpr:
		return needsIgnore(x.X) && needsIgnore(x.Y)
	}
	return false
}

// embedPatterns returns the patterns of all lines that look like //go:embed. A
// line inside a string or comment counts, too: more inputs are safe.
func embedPatterns(src []byte) []string {
	var patterns []string
	for line := range bytes.Lines(src) {
		rest, ok := bytes.CutPrefix(bytes.TrimLeft(line, " \t"), []byte("//go:embed"))
		if !ok || len(rest) == 0 || rest[0] != ' ' && rest[0] != '\t' {
			continue
		}
		patterns = append(patterns, embedArgs(string(rest))...)
	}
	return patterns
}

// embedArgs splits the arguments of //go:embed: words, each bare or quoted.
func embedArgs(args string) []string {
	var words []string
	for args = strings.TrimSpace(args); args != ""; args = strings.TrimSpace(args) {
		end := strings.IndexAny(args, " \t")
		if args[0] == '"' || args[0] == '`' {
			q, err := strconv.QuotedPrefix(args)
			if err != nil {
				return words
			}
			word, err := strconv.Unquote(q)
			if err != nil {
				return words
			}
			words, args = append(words, word), args[len(q):]
			continue
		}
		if end < 0 {
			end = len(args)
		}
		words, args = append(words, args[:end]), args[end:]
	}
	return words
}
