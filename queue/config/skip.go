package config

import (
	"regexp"
	"slices"
	"strings"
)

var (
	// skipWords match the markers in a commit's message for which GitHub
	// Actions starts nothing; many other CIs know the first two.
	skipWords = regexp.MustCompile(`(?i)\[[ \t]*(skip[ \t]+ci|ci[ \t]+skip|no[ \t]+ci|skip[ \t]+actions|actions[ \t]+skip)[ \t]*\]`)
	// skipTrailer matches the trailer for which GitHub asks no App for checks of the commit.
	skipTrailer = regexp.MustCompile(`(?im)^[ \t]*skip-checks[ \t]*:[ \t]*true[ \t]*\r?$`)
)

// Skips returns the marker in a commit's message for which GitHub starts no
// workflow when the commit is pushed as the tip of a branch, as people write it;
// "" where there is none. sure tells whether it is spelled just as GitHub
// documents it.
func Skips(message string) (marker string, sure bool) {
	if all := skipWords.FindAllString(message, -1); len(all) > 0 {
		for _, m := range all {
			if slices.Contains([]string{"[skip ci]", "[ci skip]", "[no ci]", "[skip actions]", "[actions skip]"}, m) {
				return m, true
			}
		}
		return strings.Join(strings.Fields(all[0]), " "), false
	}
	text := strings.TrimSpace(strings.ReplaceAll(message, "\r\n", "\n"))
	if skipTrailer.MatchString(text[strings.LastIndex("\n\n"+text, "\n\n"):]) {
		return "skip-checks: true", false
	}
	return "", false
}

// Unskipped puts such markers into round brackets: a title or a description is
// not to keep the CI from looking at a commit that the queue makes.
func Unskipped(text string) string {
	text = skipWords.ReplaceAllStringFunc(text, func(m string) string { return "(" + strings.TrimSpace(m[1:len(m)-1]) + ")" })
	return skipTrailer.ReplaceAllStringFunc(text, func(m string) string { return "(" + strings.TrimSpace(m) + ")" })
}

// checkSkips reports templates with such markers where a step waits for GitHub
// Actions, which would never begin.
func checkSkips(d *document, c *Config) {
	actions := func(s Step) bool {
		return slices.ContainsFunc(s.Checks, func(c Check) bool { return c.App == AppActions })
	}
	if !slices.ContainsFunc(c.Steps, actions) {
		return
	}
	for path, text := range map[string]string{
		"queue.messages.merge.title": c.Queue.Messages.Merge.Title, "queue.messages.merge.body": c.Queue.Messages.Merge.Body,
		"queue.messages.squash.title": c.Queue.Messages.Squash.Title, "queue.messages.squash.body": c.Queue.Messages.Squash.Body,
	} {
		if marker, _ := Skips(text); marker != "" {
			d.report(path, "%s has %s, for which GitHub Actions starts no workflow, and a step waits for its checks: take it out", path, quoted(marker))
		}
	}
}
