package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// What the README tells people to type can be typed: each command line of its blocks
// is understood, and each flag that its text names is one of some command.
func TestCommandsOfTheReadme(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
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
	if lines < 20 {
		t.Errorf("only %d command lines were found", lines)
	}

	parser, err := newParser()
	if err != nil {
		t.Fatal(err)
	}
	flags := flagsOf(parser.Model.Node)
	for _, span := range regexp.MustCompile("`[^`\n]+`").FindAllString(string(text), -1) {
		for _, m := range regexp.MustCompile(`(?:^|[ \x60])--([a-z][a-z-]*)`).FindAllStringSubmatch(span, -1) {
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

// typed splits a command line of the README as a shell would: its quotes are single,
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
