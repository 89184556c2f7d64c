package gitlab

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/queue/config"
)

// Messages implements forge.Accustomed: the project's templates for the commits of merges
// and of squashed merge requests, in the queue's own terms. Variables are left out, with
// their line if nothing else is on it, where only GitLab knows the values at the moment
// of a merge (the approvers, the issues that are closed).
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

// templateVariable matches a variable that GitLab fills in, and quotedVariable the same
// after literal.
var (
	templateVariable = regexp.MustCompile(`%\{([a-z_]+)\}`)
	quotedVariable   = regexp.MustCompile(`%\{\{[a-z_]+\}\}`)
)

// emptyLines are more than one after the other, as where a line was left out.
var emptyLines = regexp.MustCompile(`\n{3,}`)

// templateValues are the variables that the queue knows, in its own terms.
func templateValues(project, branch string) map[string]string {
	return map[string]string{
		"title": "{title}", "description": "{body}", "source_branch": "{branch}", "target_branch": literal(branch),
		"reference": literal(project) + Mark + "{number}", "local_reference": Mark + "{number}", "url": "{url}",
		"co_authored_by": "{co_authors}", "all_commits": "{commits}", "merge_request_author": "{author}",
	}
}

// messageOf turns a template of GitLab into one of the queue; zero if there is none.
func messageOf(template, project, branch string) config.Message {
	values := templateValues(project, branch)
	var lines []string
	for line := range strings.Lines(strings.ReplaceAll(template, "\r", "")) {
		line = strings.TrimRight(line, "\n")
		text := quotedVariable.ReplaceAllStringFunc(literal(line), func(v string) string { return values[strings.Trim(v, "%{}")] })
		if strings.TrimSpace(text) != "" || strings.TrimSpace(line) == "" {
			lines = append(lines, text)
		}
	}
	text := emptyLines.ReplaceAllString(strings.Join(lines, "\n"), "\n\n")
	title, body, _ := strings.Cut(strings.TrimSpace(config.Unskipped(text)), "\n")
	if title == "" {
		return config.Message{}
	}
	if body = strings.TrimSpace(body); body == "" {
		body = " " // no body, not the usual one
	}
	return config.Message{Title: title, Body: body}
}

// literal quotes a text so that a template shows it as it is.
func literal(text string) string { return strings.NewReplacer("{", "{{", "}", "}}").Replace(text) }

// TemplateGaps returns the variables of a template that the queue leaves out, each once.
func TemplateGaps(template string) (out []string) {
	known := templateValues("", "")
	for _, v := range templateVariable.FindAllStringSubmatch(template, -1) {
		if _, ok := known[v[1]]; !ok && !slices.Contains(out, v[0]) {
			out = append(out, v[0])
		}
	}
	return out
}
