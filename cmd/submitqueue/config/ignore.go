package config

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"
	"github.com/submitqueue/submitqueue/queue/config"
)

// leaf is a kind of file that often no step reads.
type leaf struct {
	glob string
	are  func(file string) bool
	name *regexp.Regexp // matches the name of such a file in code that reads one
}

var leaves = []leaf{
	{"docs/**", func(file string) bool { return strings.HasPrefix(file, "docs/") }, regexp.MustCompile(`\bdocs\b`)},
	{"**/*.md", func(file string) bool { return path.Ext(file) == ".md" }, regexp.MustCompile(`\.md\b`)},
}

// prose are endings of files that people read, and of large files that name no others.
var prose = []string{".md", ".txt", ".rst", ".adoc", ".svg", ".png", ".jpg", ".gif", ".ico", ".pdf", ".sum", ".lock"}

// lists are files that name other files although no step reads those.
var lists = []string{config.Path, ".gitignore", ".gitattributes", ".dockerignore", "CODEOWNERS"}

// maxSearched bounds how many bytes are searched for names.
const maxSearched = 64 << 20

// ignoreHint is the text that init writes about ignore, as a comment: the globs of
// files that nothing in the repository names, and why the other globs are left out. A
// name in the code is only a hint; submitqueue audit inputs finds out which files are
// read.
func (t tree) ignoreHint(analyzer string) string {
	if analyzer == "none" {
		return ""
	}
	var globs []string
	out := ""
	for _, l := range leaves {
		if !slices.ContainsFunc(t.Files, l.are) {
			continue
		}
		if at := t.naming(l.name); at != "" {
			out += fmt.Sprintf("  # Not suggested for ignore: %s, as %s names such a file.\n", l.glob, print.OneLine(at))
			continue
		}
		globs = append(globs, fmt.Sprintf("%q", l.glob))
	}
	if len(globs) > 0 {
		out += "  # ignore: [" + strings.Join(globs, ", ") + "]    # who edits only these runs no step: right where no step reads them\n"
	}
	return out + "  # What steps read beyond their targets, and no hash has: submitqueue audit inputs\n"
}

// naming returns a place (file and line) in code or in a build's definition that the
// pattern matches; "": there is none. Where there is too much to search, it returns the
// first file that was not searched: init suggests nothing without a full search.
func (t tree) naming(pattern *regexp.Regexp) string {
	left := maxSearched
	for _, file := range t.Files {
		if slices.ContainsFunc(leaves, func(l leaf) bool { return l.are(file) }) || slices.Contains(prose, path.Ext(file)) || slices.Contains(lists, path.Base(file)) {
			continue
		}
		text := t.Read(file)
		if left -= len(text); left < 0 {
			return file + ", or one after it,"
		}
		at := pattern.FindStringIndex(text)
		if at != nil && !strings.Contains(text[:min(len(text), 8000)], "\x00") {
			return fmt.Sprintf("%s:%d", file, 1+strings.Count(text[:at[0]], "\n"))
		}
	}
	return ""
}
