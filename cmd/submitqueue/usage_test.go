package main

import (
	"bytes"
	"go/ast"
	goparser "go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"

	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// What the README and the documentation tell people to type can be typed: each command
// line of their blocks is understood, and each flag that a text names is one of some command.
func TestCommandsOfTheReadme(t *testing.T) {
	pages, err := filepath.Glob("../../app/docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	var text []byte
	for _, page := range append(pages, "../../README.md") {
		one, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		text = append(append(text, one...), '\n')
	}
	lines := 0
	command := regexp.MustCompile(`^(?:go run \./cmd/)?submitqueue (.*)`)
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		for line := range strings.Lines(block[1]) {
			line, _, _ = strings.Cut(strings.TrimSpace(line), " #")
			if m := command.FindStringSubmatch(line); m != nil {
				lines++
				parses(t, typed(m[1]))
			}
		}
	}
	if lines < 60 {
		t.Errorf("only %d command lines were found", lines)
	}

	parser, err := newParser()
	if err != nil {
		t.Fatal(err)
	}
	flags := flagsOf(parser.Model.Node)
	others := regexp.MustCompile("^`(cargo|bazel|npx|jest|pytest|gotestsum|node) ") // tools that write reports
	for _, span := range regexp.MustCompile("`[^`\n]+`").FindAllString(string(text), -1) {
		if others.MatchString(span) {
			continue
		}
		for _, m := range regexp.MustCompile(`(?:^|[ \x60])--([a-z][a-z0-9-]*)`).FindAllStringSubmatch(span, -1) {
			if !flags[m[1]] {
				t.Errorf("no command has the flag --%s of %s", m[1], span)
			}
		}
	}
}

func parses(t *testing.T, args []string) {
	t.Helper()
	parser, err := newParser()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.Parse(args); err != nil {
		t.Errorf("submitqueue %s: %v", strings.Join(args, " "), err)
	}
}

// typed splits a command line of a page as a shell would: its quotes are single,
// and what is in brackets may be left out.
func typed(line string) (args []string) {
	for _, m := range regexp.MustCompile(`'[^']*'|\[[^\]]*\]|\S+`).FindAllString(line, -1) {
		if !strings.HasPrefix(m, "[") {
			args = append(args, strings.Trim(m, "'"))
		}
	}
	return args
}

func flagsOf(n *kong.Node) map[string]bool {
	names := map[string]bool{}
	for _, f := range n.Flags {
		names[f.Name] = true
	}
	for _, child := range n.Children {
		for name := range flagsOf(child) {
			names[name] = true
		}
	}
	return names
}

// Whatever a command line lacks, the help that is named is that of its command, by the
// whole of its path, and it is there.
func TestUsageNamesTheCommand(t *testing.T) {
	parser, err := newParser()
	if err != nil {
		t.Fatal(err)
	}
	var check func(n *kong.Node, path []string)
	check = func(n *kong.Node, path []string) {
		var out bytes.Buffer
		if code := usage(&out, parser, mustFail(t, parser, append(path, "--no-such-flag"))); code != print.ExitUsage {
			t.Errorf("%v: exit status %d", path, code)
		}
		want := strings.Join(append([]string{"See: submitqueue"}, append(path, "--help\n")...), " ")
		if !strings.HasSuffix(out.String(), want) {
			t.Errorf("%v: it says %q", path, out.String())
		}
		for _, child := range n.Children {
			check(child, append(slices.Clone(path), child.Name))
		}
	}
	check(parser.Model.Node, nil)
}

func mustFail(t *testing.T, parser *kong.Kong, args []string) error {
	t.Helper()
	_, err := parser.Parse(args)
	if err == nil {
		t.Fatalf("%v: understood", args)
	}
	return err
}

// The commands that the program's own words name are there: what stands behind
// "submitqueue" in a text is a command of it, with its flags.
func TestCommandsInTexts(t *testing.T) {
	parser, err := newParser()
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`\bsubmitqueue ([a-z]+)((?: [a-z]+)*)([^.;,:"\n]*)`)
	flag := regexp.MustCompile(` --([a-z][a-z0-9-]*)`)
	seen := 0
	for _, text := range textsOf(t, filepath.Join("..", "..")) {
		for _, m := range named.FindAllStringSubmatch(text.says, -1) {
			if m[1] == "server" || m[1] == "is" { // the product
				continue
			}
			at := childOf(parser.Model.Node, m[1])
			if at == nil {
				t.Errorf("%s: there is no command %q: %q", text.file, m[1], m[0])
				continue
			}
			seen++
			for _, word := range strings.Fields(m[2]) {
				if next := childOf(at, word); next != nil {
					at = next
				}
			}
			flags := flagsOf(at)
			for _, f := range flag.FindAllStringSubmatch(m[3], -1) {
				if !flags[f[1]] {
					t.Errorf("%s: %s has no flag --%s: %q", text.file, at.FullPath(), f[1], m[0])
				}
			}
		}
	}
	if seen < 40 {
		t.Errorf("only %d commands are named", seen)
	}
}

func childOf(n *kong.Node, name string) *kong.Node {
	for _, c := range n.Children {
		if c.Name == name {
			return c
		}
	}
	return nil
}

type textIn struct{ file, says string }

// textsOf returns the strings of the program, without those of its tests.
func textsOf(t *testing.T, root string) (all []textIn) {
	t.Helper()
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), "_") || strings.HasPrefix(d.Name(), ".") && d.Name() != ".."):
			return fs.SkipDir
		case !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go"):
			return nil
		}
		f, err := goparser.ParseFile(token.NewFileSet(), file, nil, goparser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
				if text, err := strconv.Unquote(l.Value); err == nil {
					all = append(all, textIn{file, text})
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
