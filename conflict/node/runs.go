package node

import (
	"bytes"
	"slices"
	"strings"
)

// selecting are the options with which package managers and Turborepo run tasks of other
// packages, and the beginnings of commands of Nx, which name projects anywhere.
var (
	selecting = []string{"--filter", "--workspace", "--scope", " -w", "'-w", "\"-w", " -F", "yarn workspace"}
	commandNx = []string{" nx ", "\"nx ", "'nx ", "`nx ", "\nnx "}
	listNx    = []string{"\"nx\"", "'nx'"}
)

// maxCommand bounds how much of a command is looked at.
const maxCommand = 200

// runsIn returns the names of packages that commands in a text select, sorted: a test may
// have `pnpm --filter web dev` serve what it looks at.
func runsIn(src []byte) []string {
	var names []string
	each(src, selecting, func(rest []byte) {
		rest = bytes.TrimLeft(rest, " =,'\"\t\\")
		if name := strings.Trim(string(rest[:nameEnd(rest)]), ".^"); name != "" {
			names = append(names, name)
		}
	})
	words := func(end string) func(rest []byte) {
		return func(rest []byte) {
			if i := bytes.IndexAny(rest, end); i >= 0 {
				rest = rest[:i]
			}
			names = append(names, strings.FieldsFunc(string(rest), func(r rune) bool { return strings.ContainsRune(" :,='\"`\t\n[(", r) })...)
		}
	}
	each(src, commandNx, words("&|;\n\"`"))
	each(src, listNx, words("])"))
	slices.Sort(names)
	return slices.Clip(slices.Compact(names))
}

// each calls f with what is behind each place of some words in a text.
func each(src []byte, words []string, f func(rest []byte)) {
	for _, word := range words {
		for at := 0; ; {
			i := bytes.Index(src[at:], []byte(word))
			if i < 0 {
				break
			}
			at += i + len(word)
			f(src[at:min(len(src), at+maxCommand)])
		}
	}
}

// nameEnd returns where a name of a package at the beginning of a text ends.
func nameEnd(text []byte) int {
	for i, c := range text {
		if !wordByte(c) && strings.IndexByte("@./-^", c) < 0 {
			return i
		}
	}
	return len(text)
}
