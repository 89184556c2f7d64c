package gitlab

import (
	"context"
	"regexp"
	"strings"

	"github.com/submitqueue/submitqueue/queue/config"
)

// Messages implements forge.Accustomed: the project's templates for the commits of merges
// and of squashed merge requests, in the queue's own terms. What only GitLab knows at the
// moment of a merge (who has approved, which issues are closed) is left out, with its line
// where nothing else is on it.
func (f *Forge) Messages(ctx context.Context, branch string) (config.Messages, error) {
	p, err := f.settings(ctx)
	if err != nil {
		return config.Messages{}, failure(ctx, "read the templates of commit messages", err)
	}
	return config.Messages{
		Merge:  messageOf(p.MergeCommitTemplate, p.PathWithNamespace, branch),
		Squash: messageOf(p.SquashCommitTemplate, p.PathWithNamespace, branch),
	}, nil
}

// templateVariable is what GitLab fills in.
var templateVariable = regexp.MustCompile(`%\{[a-z_]+\}`)

// emptyLines are more than one after the other, as where a line was left out.
var emptyLines = regexp.MustCompile(`\n{3,}`)

// messageOf is a template of GitLab's as one of the queue; zero where there is none.
func messageOf(template, project, branch string) config.Message {
	values := map[string]string{
		"%{title}": "{title}", "%{description}": "{body}", "%{source_branch}": "{branch}", "%{target_branch}": literal(branch),
		"%{reference}": literal(project) + Mark + "{number}", "%{local_reference}": Mark + "{number}", "%{url}": "{url}",
		"%{co_authored_by}": "{co_authors}", "%{all_commits}": "{commits}", "%{merge_request_author}": "{author}",
	}
	var lines []string
	for line := range strings.Lines(strings.ReplaceAll(template, "\r", "")) {
		line = strings.TrimRight(line, "\n")
		var b strings.Builder
		rest, known := line, false
		for {
			at := templateVariable.FindStringIndex(rest)
			if at == nil {
				break
			}
			value := values[rest[at[0]:at[1]]]
			known = known || value != ""
			b.WriteString(literal(rest[:at[0]]) + value)
			rest = rest[at[1]:]
		}
		b.WriteString(literal(rest))
		if text := b.String(); known || text == literal(line) || strings.TrimSpace(text) != "" {
			lines = append(lines, text)
		}
	}
	title, body, _ := strings.Cut(strings.TrimSpace(config.Unskipped(emptyLines.ReplaceAllString(strings.Join(lines, "\n"), "\n\n"))), "\n")
	if title == "" {
		return config.Message{}
	}
	if body = strings.TrimSpace(body); body == "" {
		body = " " // none, not the usual one
	}
	return config.Message{Title: title, Body: body}
}

// literal has text stand in a template for itself.
func literal(text string) string { return strings.NewReplacer("{", "{{", "}", "}}").Replace(text) }

// TemplateGaps returns the variables of a template that the queue leaves out, each once.
func TemplateGaps(template string) (out []string) {
	for _, v := range templateVariable.FindAllString(template, -1) {
		if messageOf(v, "p", "b") == (config.Message{}) && !strings.Contains(strings.Join(out, " "), v) {
			out = append(out, v)
		}
	}
	return out
}
