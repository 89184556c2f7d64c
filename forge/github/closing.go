package github

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// mostClosed bounds the issues that one description closes: a description that names
// more was not written by hand.
const mostClosed = 50

// GitHub's closing keywords, with or without a colon, before one issue each ("Linking a
// pull request to an issue", GitHub's documentation). A number in code or in an HTML comment
// is no reference.
var (
	keyword = regexp.MustCompile(`(?i)(?:^|[^\pL\pN_])(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?):?[ \t]+` +
		`(?:([a-z0-9-]+/[a-z0-9._-]+)?#|(https?://[^\s#?]+)/issues/)([0-9]{1,9})`)
	comments = regexp.MustCompile(`(?s)<!--.*?(?:-->|$)`)
	fences   = regexp.MustCompile("(?m)^ {0,3}(```+|~~~+)[^\n]*$")
	spans    = regexp.MustCompile("``[^`\n].*?``|`[^`\n]+`")
)

// closing returns the issues that a merge of a pull request with this description closes
// in its own repository, by number, each once, at most mostClosed. The repository is given
// by its full name and the address of its page.
func closing(description, name, page string) []int {
	text := spans.ReplaceAllString(outsideFences(comments.ReplaceAllString(description, " ")), " ")
	var out []int
	group := func(m []int, i int) string { return text[max(m[2*i], 0):max(m[2*i+1], 0)] }
	for _, m := range keyword.FindAllStringSubmatchIndex(text, -1) {
		next, _ := utf8.DecodeRuneInString(text[m[1]:])
		if next == '_' || unicode.IsLetter(next) || unicode.IsNumber(next) {
			continue
		}
		if repo, at := group(m, 1), group(m, 2); repo != "" && !strings.EqualFold(repo, name) || at != "" && !strings.EqualFold(at, page) {
			continue
		}
		n, err := strconv.Atoi(group(m, 3))
		if err == nil && n > 0 && !slices.Contains(out, n) && len(out) < mostClosed {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out
}

// outsideFences leaves out the blocks of code between fences; a block without a closing
// fence goes to the end of the text.
func outsideFences(text string) string {
	var out strings.Builder
	for text != "" {
		at := fences.FindStringSubmatchIndex(text)
		if at == nil {
			out.WriteString(text)
			break
		}
		out.WriteString(text[:at[0]])
		fence, rest := text[at[2]:at[3]], text[at[1]:]
		text = ""
		for _, m := range fences.FindAllStringSubmatchIndex(rest, -1) {
			if got := rest[m[2]:m[3]]; got[0] == fence[0] && len(got) >= len(fence) && strings.TrimSpace(rest[m[3]:m[1]]) == "" {
				text = rest[m[1]:]
				break
			}
		}
	}
	return out.String()
}
