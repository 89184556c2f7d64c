package gitlabci

import (
	"regexp"
	"strings"
)

// Starts says whether there is a pipeline for a run.
func (f File) Starts(r Run) Answer {
	if !f.governed {
		return Yes
	}
	answer, _ := first(f.workflow, f.known(r, nil, nil))
	return answer
}

// Has says whether a job is in the pipeline of a run, if there is one, and whether somebody
// has to start it.
func (f File) Has(j Job, r Run) (in Answer, manual bool) {
	if j.ruled {
		return first(j.rules, f.known(r, f.varied, j.vars))
	}
	in = Yes
	if len(j.only) > 0 {
		in = fits(j.only, r)
	}
	if len(j.except) > 0 {
		in = min(in, Yes-fits(j.except, r))
	}
	if j.limited {
		in = min(in, Maybe)
	}
	return in, j.Manual
}

// first returns the decision of the first rule that holds. If it is not known which rule that
// is, the decision is known only if all candidates agree.
func first(rules []rule, vars variables) (answer Answer, manual bool) {
	for i, r := range rules {
		holds := Yes
		if r.If != "" {
			holds = evaluate(r.If, vars)
		}
		if r.unknown {
			holds = min(holds, Maybe)
		}
		decides := Yes
		if r.when == "never" {
			decides = No
		}
		switch holds {
		case Yes:
			return decides, r.when == "manual"
		case Maybe:
			rest, byHand := first(rules[i+1:], vars)
			if rest == decides {
				return decides, r.when == "manual" || byHand
			}
			return Maybe, r.when == "manual" || byHand
		}
	}
	return No, false
}

// fits says whether only or except name a run.
func fits(refs []string, r Run) Answer {
	answer := No
	for _, ref := range refs {
		switch ref {
		case "branches":
			return Yes
		case "pushes":
			if r.Source == "push" {
				return Yes
			}
		case "api":
			if r.Source == "api" {
				return Yes
			}
		case "tags", "merge_requests", "schedules", "triggers", "web", "pipelines", "external", "external_pull_requests", "chat":
		default:
			if ref == r.Branch {
				return Yes
			}
			if re, ok := pattern(ref); ok && re.MatchString(r.Branch) {
				return Yes
			} else if !ok && strings.HasPrefix(ref, "/") || strings.Contains(ref, "@") {
				answer = Maybe
			}
		}
	}
	return answer
}

// pattern is a regular expression as GitLab writes one: /.../ and flags.
func pattern(text string) (*regexp.Regexp, bool) {
	end := strings.LastIndexByte(text, '/')
	if len(text) < 2 || text[0] != '/' || end == 0 {
		return nil, false
	}
	flags := ""
	for _, c := range text[end+1:] {
		if !strings.ContainsRune("imsU", c) {
			return nil, false
		}
		flags += string(c)
	}
	body := strings.ReplaceAll(text[1:end], `\/`, "/")
	if flags != "" {
		body = "(?" + flags + ")" + body
	}
	re, err := regexp.Compile(body)
	return re, err == nil
}

// variables are the variables with known values; nil is null.
type variables map[string]*string

// nulls are variables that pipelines of branches do not have.
var nulls = regexp.MustCompile(`^CI_(MERGE_REQUEST_|EXTERNAL_PULL_REQUEST_)|^CI_(COMMIT_TAG|COMMIT_TAG_MESSAGE|OPEN_MERGE_REQUESTS|PIPELINE_TRIGGERED)$`)

var unslug = regexp.MustCompile(`[^a-z0-9]`)

// known returns the variables with known values. Variables of the file that are in varied have
// other values, and those in more come before them.
func (f File) known(r Run, varied []string, more map[string]*string) variables {
	text := func(s string) *string { return &s }
	slug := unslug.ReplaceAllString(strings.ToLower(r.Branch), "-")
	out := variables{}
	add := func(set map[string]*string) {
		for name, v := range set {
			if out[name] = v; strings.Contains(*v, "$") {
				delete(out, name) // made of other variables
			}
		}
	}
	add(f.vars)
	for _, name := range varied {
		delete(out, name)
	}
	add(more)
	for name, v := range map[string]string{"CI": "true", "GITLAB_CI": "true", "CI_COMMIT_BRANCH": r.Branch, "CI_COMMIT_REF_NAME": r.Branch,
		"CI_COMMIT_REF_SLUG": strings.Trim(slug[:min(len(slug), 63)], "-"), "CI_PIPELINE_SOURCE": r.Source, "CI_DEFAULT_BRANCH": r.Default} {
		out[name] = text(v)
	}
	return out
}
