package mirror

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"sort"
	"strconv"
	"strings"

	"github.com/submitqueue/submitqueue/queue"
)

// AttributeError is a line of a .gitattributes file that the mirror cannot
// merge by.
type AttributeError struct {
	Path string // of the .gitattributes file
	Line int    // from 1
	Text string // of the line: hostile text
	Why  string
}

func (e *AttributeError) Error() string {
	return fmt.Sprintf("%s:%d: %s: %.200q", e.Path, e.Line, e.Why, e.Text)
}

// attributeLineLimit is where git stops reading a line of attributes.
const attributeLineLimit = 2048

func (m *Merges) attributesPath() string { return filepath.Join(m.repo.dir, "info", "attributes") }

// WriteAttributes makes the mirror merge by the .gitattributes files of a tree,
// the target branch's: git 2.39 does not read them in a bare repository. Only the attributes that
// affect merging are taken over. Merge drivers other than git's own are programs that the mirror
// does not have: an *AttributeError names the first line with such a driver, and its files are
// merged as text, as git does where it does not know a driver. The driver lfs, which only marks
// files of Git LFS, is merged as text without an error. So merges follow from the tree alone,
// whatever attributes the mirror used before. Merges made before are made again when asked for.
func (m *Merges) WriteAttributes(ctx context.Context, tree queue.TreeID) error {
	files, err := m.objects.files(ctx, tree)
	if err != nil {
		return err
	}
	var found []File
	for _, f := range files {
		if strings.HasSuffix(f.Path, ".gitattributes") && path.Base(f.Path) == ".gitattributes" &&
			strings.HasPrefix(f.Mode, "100") {
			found = append(found, f)
		}
	}
	sort.SliceStable(found, func(i, j int) bool {
		return strings.Count(found[i].Path, "/") < strings.Count(found[j].Path, "/")
	})
	var text strings.Builder
	macros := map[string][]string{"binary": {"-merge"}}
	t := &Tree{m.objects, tree}
	var bad error // the first
	for _, f := range found {
		content, err := t.Blob(ctx, f.OID)
		if err != nil {
			return fmt.Errorf("reading %s: %w", f.Path, err)
		}
		if err := mergeAttributes(&text, f.Path, string(content), macros); bad == nil {
			bad = err
		}
	}
	if err := m.setAttributes(text.String()); err != nil {
		return err
	}
	return bad
}

func (m *Merges) setAttributes(text string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if text == m.attributes {
		return nil
	}
	next := filepath.Join(filepath.Dir(m.attributesPath()), "tmp_attributes")
	err := os.WriteFile(next, []byte(text), 0o644)
	if err == nil {
		err = os.Rename(next, m.attributesPath())
	}
	if err != nil {
		return fmt.Errorf("writing the mirror's merge attributes: %w", err)
	}
	m.attributes = text
	m.ruled++
	m.merger.stop() // it has read the old ones
	return nil
}

// rules returns the version of the attributes that merges use now.
func (m *Merges) rules() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ruled
}

// mergeAttributes writes the lines of one .gitattributes file that bear on
// merging, with patterns that mean the same from the root. Later lines win, so
// files must come from the root downwards, as git ranks them. An error names the
// first line that cannot be followed; the other lines are written all the same.
func mergeAttributes(out *strings.Builder, file, content string, macros map[string][]string) error {
	var bad error
	dir := path.Dir(file)
	content = strings.TrimPrefix(content, "\ufeff")
	n := 0
	for line := range strings.SplitSeq(content, "\n") {
		n++
		fail := func(why string) {
			if bad == nil {
				bad = &AttributeError{Path: file, Line: n, Text: line, Why: why}
			}
		}
		pattern, rest, ok := attributePattern(line)
		if !ok || len(line) > attributeLineLimit {
			continue
		}
		states, err := mergeStates(strings.Fields(rest), macros)
		if err != nil {
			fail(err.Error())
		}
		if name, ok := strings.CutPrefix(pattern, "[attr]"); ok {
			if dir == "." { // elsewhere git does not read them
				macros[name] = states
			}
			continue
		}
		if len(states) == 0 || strings.HasPrefix(pattern, "!") || strings.HasSuffix(pattern, "/") {
			continue
		}
		if dir != "." {
			pattern = below(dir, pattern)
		}
		made := quotePattern(pattern) + " " + strings.Join(states, " ") + "\n"
		if len(made) > attributeLineLimit {
			fail("the pattern is too long to be written with its directory")
			continue
		}
		out.WriteString(made)
	}
	return bad
}

// attributePattern splits a line into its pattern, unquoted, and the rest.
func attributePattern(line string) (pattern, rest string, ok bool) {
	line = strings.Trim(line, " \t\r")
	if line == "" || line[0] == '#' {
		return "", "", false
	}
	if line[0] == '"' {
		for end := 1; end < len(line); end++ {
			if line[end] == '\\' {
				end++
			} else if line[end] == '"' {
				if unquoted, err := strconv.Unquote(line[:end+1]); err == nil {
					return unquoted, line[end+1:], true
				}
				break
			}
		}
	}
	end := strings.IndexAny(line, " \t\r")
	if end < 0 {
		return "", "", false
	}
	return line[:end], line[end:], true
}

var errDriver = errors.New("merge drivers other than text, binary and union are programs that the queue does not have; " +
	"until one of these is there instead, such files are merged as text")

// mergeStates returns the attributes among words that affect merging, with macros
// expanded. The error says that a driver which is not git's own was replaced by
// text.
func mergeStates(words []string, macros map[string][]string) ([]string, error) {
	var states []string
	var bad error
	for _, w := range words {
		name, value, valued := strings.Cut(strings.TrimLeft(w, "-!"), "=")
		switch {
		case name == "merge" && valued:
			switch value {
			case "text", "binary", "union":
			case "lfs": // `git lfs track` writes it; two different pointers conflict as text
				w = "merge=text"
			default:
				w, bad = "merge=text", errDriver
			}
			states = append(states, w)
		case name == "merge", name == "conflict-marker-size":
			states = append(states, w)
		case w == name:
			states = append(states, macros[name]...)
		}
	}
	return states, bad
}

// below makes a pattern of a directory's file mean the same from the root.
func below(dir, pattern string) string {
	var escaped strings.Builder
	for _, r := range dir {
		if strings.ContainsRune(`*?[]\`, r) {
			escaped.WriteByte('\\')
		}
		escaped.WriteRune(r)
	}
	if !strings.Contains(pattern, "/") {
		return escaped.String() + "/**/" + pattern
	}
	return escaped.String() + "/" + strings.TrimPrefix(pattern, "/")
}

// quotePattern quotes a pattern for git, if it needs quotes.
func quotePattern(pattern string) string {
	if !strings.ContainsAny(pattern, " \t\r\"") && pattern[0] != '#' {
		return pattern
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\t", `\t`, "\r", `\r`).Replace(pattern) + `"`
}
