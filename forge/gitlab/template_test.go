package gitlab

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/submitqueue/submitqueue/queue/config"
)

// A template of GitLab's says in the queue's terms what it says there.
func TestTemplates(t *testing.T) {
	t.Parallel()
	words := config.Worded{Title: "Pay twice", Author: "ann", Body: "Why {not}.", Branch: "topic", URL: "https://g/7", Number: 7, Commits: []string{"one", "two"}, CoAuthors: []string{"Co-authored-by: Bob <b@x>"}}
	for name, c := range map[string]struct{ template, want string }{
		"GitLab's own": {"Merge branch '%{source_branch}' into '%{target_branch}'\n\n%{title}\n\n%{issues}\n\nSee merge request %{reference}",
			"Merge branch 'topic' into 'main'\n\nPay twice\n\nSee merge request group/shop!7"},
		"a title alone":        {"%{title} (%{local_reference})", "Pay twice (!7)"},
		"Windows lines":        {"%{title}\r\n\r\n%{description}\r\n", "Pay twice\n\nWhy {not}."},
		"co-authors":           {"%{title}\n\n%{all_commits}\n\n%{co_authored_by}", "Pay twice\n\n* one\n* two\n\nCo-authored-by: Bob <b@x>"},
		"approvals":            {"%{title}\n\nby %{merge_request_author}\n%{approved_by}\nApproved: %{approved_by}\n%{url}", "Pay twice\n\nby ann\nApproved: \nhttps://g/7"},
		"braces":               {"{%{title}} {number}", "{Pay twice} {number}"},
		"no variable of ours":  {"100 % {sure}", "100 % {sure}"},
		"a marker for the CI":  {"[ci skip] %{title}", "(ci skip) Pay twice"},
		"an unknown variable":  {"%{title}\n%{nothing}", "Pay twice"},
		"nothing that we know": {"%{issues}", ""},
		"none":                 {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			m := messageOf(c.template, "group/shop", "main")
			got := ""
			if m != (config.Message{}) {
				got = m.Render(words)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
		})
	}
	if d := cmp.Diff([]string{"%{issues}", "%{approved_by}"}, TemplateGaps("%{issues} %{title}\n%{approved_by} %{issues}")); d != "" {
		t.Error(d)
	}
}
