package gn

import (
	"fmt"
	"path"
	"strings"
)

// makeDotfile makes the .gn that GN reads from the tree's .gn, and returns the
// path of the build configuration. See the package's documentation.
func makeDotfile(src string) (dotfile, buildconfig string, err error) {
	list, err := tokens(src)
	if err != nil {
		return "", "", fmt.Errorf("//.gn: %w", err)
	}
	var b strings.Builder
	b.WriteString("exec_script_whitelist = []\n")
	seen := map[string]bool{}
	for len(list) > 0 {
		name := list[0]
		value, rest, err := assignment(list)
		if err != nil {
			return "", "", fmt.Errorf("//.gn: line %d: %w", name.line, err)
		}
		list = rest
		if seen[name.text] {
			return "", "", fmt.Errorf("//.gn: line %d: %s is set twice", name.line, name.text)
		}
		seen[name.text] = true
		switch name.text {
		case "buildconfig", "root":
			if len(value) != 1 || value[0].kind != text {
				return "", "", fmt.Errorf("//.gn: line %d: %s is not one string", name.line, name.text)
			}
			if name.text == "buildconfig" {
				buildconfig = value[0].text
			}
		case "default_args":
		case "secondary_source", "build_file_extension":
			return "", "", fmt.Errorf("//.gn: line %d: %s is not supported by this analyzer", name.line, name.text)
		default:
			continue // it does not shape the graph, or must not
		}
		b.WriteString(name.text + " = " + written(value) + "\n")
	}
	file, ok := strings.CutPrefix(buildconfig, "//")
	if !ok || path.Clean(file) != file || strings.HasPrefix(file, "../") || !definition(file) {
		return "", "", fmt.Errorf("//.gn: buildconfig is not the name of a *.gn in the tree")
	}
	return b.String(), file, nil
}

// assignment takes `name = value` off a list. The value is a literal: it ends
// where its brackets are closed, and holds no call.
func assignment(list []token) (value, rest []token, err error) {
	if len(list) < 3 || list[0].kind != word || list[1].text != "=" || list[1].kind != sign {
		return nil, nil, fmt.Errorf("%s is not an assignment", list[0].text)
	}
	depth := 0
	for i, t := range list[2:] {
		switch {
		case t.kind == text && !plain(t.text):
			return nil, nil, fmt.Errorf("the string %q is not plain", t.text)
		case t.kind != sign:
		case strings.Contains("[{", t.text):
			depth++
		case strings.Contains("]}", t.text):
			depth--
		case !strings.Contains("=,+-", t.text):
			return nil, nil, fmt.Errorf("%s has the sign %s: only plain values are supported", list[0].text, t.text)
		}
		if depth < 0 {
			return nil, nil, fmt.Errorf("%s has a bracket too many", list[0].text)
		}
		next := i + 3
		if depth == 0 && (next == len(list) || list[next].kind != sign) && (t.kind != sign || strings.Contains("]}", t.text)) {
			return list[2:next], list[next:], nil
		}
	}
	return nil, nil, fmt.Errorf("%s does not end", list[0].text)
}

// written writes tokens, one a line, so that none merges with the next.
func written(list []token) string {
	var b strings.Builder
	for _, t := range list {
		if t.kind == text {
			b.WriteString(`"` + t.text + `"`)
		} else {
			b.WriteString(t.text)
		}
		if t.kind != sign || t.text != "-" { // the sign of a number
			b.WriteByte('\n')
		}
	}
	return b.String()
}
