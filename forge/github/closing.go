package github

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// mostClosed bounds the issues that one description closes: whoever names more has not
// written it by hand.
const mostClosed = 50

// GitHub's closing keywords, with or without a colon, before one issue each ("Linking a
// pull request to an issue", GitHub's documentation). What is in code or in an HTML comment
// is no reference.
var (
	keyword  = regexp.MustCompile(`(?i)(?:^|[^\pL\pN_])(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?):?[ \t]+(\S+)`)
	issueRef = regexp.MustCompile(`^(?:([A-Za-z0-9-]+/[A-Za-z0-9._-]+)?#|(https?://[^\s#?]+)/issues/)([0-9]{1,9})(?:[^\pL\pN_]|$)`)
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
	for _, m := range keyword.FindAllStringSubmatch(text, -1) {
		ref := issueRef.FindStringSubmatch(m[1])
		if ref == nil || ref[1] != "" && !strings.EqualFold(ref[1], name) || ref[2] != "" && !strings.EqualFold(ref[2], page) {
			continue
		}
		n, err := strconv.Atoi(ref[3])
		if err == nil && n > 0 && !slices.Contains(out, n) && len(out) < mostClosed {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return out
}

// outsideFences leaves out the blocks of code between fences; one that nothing ends goes to
// the end.
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
