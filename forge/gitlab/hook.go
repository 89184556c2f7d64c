package gitlab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/xanzy/go-gitlab"

	"github.com/submitqueue/submitqueue/forge"
)

// HookName is the name of the webhooks that we make.
const HookName = "SubmitQueue"

// HookPath is where a server takes webhooks of GitLab.
const HookPath = "/webhook/gitlab"

// HookFacts are a webhook, as GitLab shows it: never its secrets.
type HookFacts struct {
	ID       int        `json:"id"`
	URL      string     `json:"url"`
	Name     string     `json:"name"`
	Alert    string     `json:"alert_status"`   // "executable", "temporarily_disabled" or "disabled"
	Off      *time.Time `json:"disabled_until"` // when GitLab tries again
	Push     bool       `json:"push_events"`
	Requests bool       `json:"merge_requests_events"`
	Notes    bool       `json:"note_events"`
	Jobs     bool       `json:"job_events"`
	Lines    bool       `json:"pipeline_events"`
	TLS      bool       `json:"enable_ssl_verification"`
	Filter   string     `json:"push_events_branch_filter"`
	Template string     `json:"custom_webhook_template"`
	Token    *bool      `json:"token_present"`         // nil: the instance does not tell (before 19)
	Signed   *bool      `json:"signing_token_present"` // nil: the instance cannot sign
	Group    string     `json:"-"`                     // the group that has it; "": the project has it
}

// HookNeed is an event that a webhook has to send.
type HookNeed struct {
	Field string // of the REST interface
	Name  string // on GitLab's page
	Why   string
	Told  func(HookFacts) bool
}

// HookNeeds returns the events that the server needs.
func HookNeeds() []HookNeed {
	return []HookNeed{
		{"push_events", "Push events", "the target branch has moved", func(h HookFacts) bool { return h.Push }},
		{"note_events", "Comments", "commands", func(h HookFacts) bool { return h.Notes }},
		{"merge_requests_events", "Merge request events", "heads, labels and approvals", func(h HookFacts) bool { return h.Requests }},
		{"job_events", "Job events", "results of CI", func(h HookFacts) bool { return h.Jobs }},
		{"pipeline_events", "Pipeline events", "builds of CI that have ended", func(h HookFacts) bool { return h.Lines }},
	}
}

// Secret reports whether the webhook has any secret, as far as the instance tells.
func (h HookFacts) Secret() (has, told bool) {
	if h.Token == nil && h.Signed == nil {
		return false, false
	}
	return h.Token != nil && *h.Token || h.Signed != nil && *h.Signed, true
}

// Until returns when GitLab tries again a hook that it has switched off for a
// while.
func (h HookFacts) Until() time.Time { return stamped(h.Off) }

// LeadsTo reports whether a hook's address is that of the server at url.
func (h HookFacts) LeadsTo(url string) bool {
	return strings.EqualFold(strings.TrimSuffix(h.URL, "/"), strings.TrimSuffix(url, "/")+HookPath)
}

// Ours reports whether a hook looks like a hook of a queue's server, at any
// address.
func (h HookFacts) Ours() bool {
	return h.Name == HookName || strings.HasSuffix(strings.TrimSuffix(h.URL, "/"), HookPath)
}

// DeliveryFacts are one webhook that was sent.
type DeliveryFacts struct {
	ID      int       `json:"id"`
	Trigger string    `json:"trigger"`
	Status  string    `json:"response_status"` // a number, or "internal error"
	At      time.Time `json:"created_at"`
}

// Arrived reports whether the receiver took the webhook.
func (d DeliveryFacts) Arrived() bool {
	return len(d.Status) == 3 && (d.Status[0] == '2' || d.Status[0] == '3')
}

// HookPlace is where a webhook belongs: to a project, by its number, or to a group,
// by its path.
type HookPlace struct {
	Project int
	Group   string
}

func (p HookPlace) path() string {
	if p.Group != "" {
		return "groups/" + gitlab.PathEscape(p.Group) + "/hooks"
	}
	return "projects/" + strconv.Itoa(p.Project) + "/hooks"
}

// ErrTier means that a group has no webhooks because its tier has none.
var ErrTier = errors.New("gitlab: webhooks of groups need the Premium tier")

// ListHooks lists the webhooks of a project or a group. ErrTier: the tier of the group has
// none, or the account may not see them, which GitLab does not tell apart.
func (f *Forge) ListHooks(ctx context.Context, at HookPlace) ([]HookFacts, error) {
	list, err := readAll[HookFacts](ctx, f, "list the webhooks", at.path())
	if at.Group != "" && (errors.Is(err, forge.ErrNotFound) || errors.Is(err, forge.ErrForbidden)) {
		return nil, fmt.Errorf("%w: %w", ErrTier, err)
	}
	for i := range list {
		list[i].Group = at.Group
	}
	return list, err
}

// HookWish says how a webhook is to be set.
type HookWish struct {
	URL    string
	Secret Secret // empty: it stays as it was
}

// SetHook makes a webhook, or changes one, as a HookWish says, with the events that the
// server needs. An instance that cannot sign drops a signing key without an error: Signed
// in the answer tells.
func (f *Forge) SetHook(ctx context.Context, at HookPlace, id int, w HookWish) (HookFacts, error) {
	body := map[string]any{"url": w.URL, "name": HookName, "push_events_branch_filter": "", "custom_webhook_template": ""}
	for _, n := range HookNeeds() {
		body[n.Field] = true
	}
	for _, other := range []string{"issues_events", "confidential_issues_events", "confidential_note_events", "tag_push_events", "wiki_page_events", "deployment_events", "releases_events"} {
		body[other] = false
	}
	if !strings.HasPrefix(w.URL, "http://") {
		body["enable_ssl_verification"] = true
	}
	switch {
	case w.Secret.Signing != "": // a token beside it would be sent in clear text without need
		body["signing_token"], body["token"] = w.Secret.Signing, ""
	case w.Secret.Token != "":
		body["token"] = w.Secret.Token
	}
	doing, method, path := "make the webhook", http.MethodPost, at.path()
	if id != 0 {
		doing, method, path = "mend the webhook", http.MethodPut, path+"/"+strconv.Itoa(id)
	}
	var out HookFacts
	err := f.ask(ctx, doing, method, path, body, &out)
	if err != nil && says(err, "is blocked", "local network", "invalid url given") {
		err = fmt.Errorf("%w; GitLab does not send webhooks to this address: where it is one of your own network, an administrator allows it under Admin > Settings > Network > Outbound requests", err)
	}
	out.Group = at.Group
	return out, err
}

// TestHook has GitLab send a push event to a webhook at once. If the event does not
// arrive, it returns the reason that GitLab gives; if it arrives, a webhook that was
// switched off is on again.
func (f *Forge) TestHook(ctx context.Context, at HookPlace, id int) error {
	return f.ask(ctx, "send a webhook as a test", http.MethodPost, at.path()+"/"+strconv.Itoa(id)+"/test/push_events", nil, nil)
}

// surveyHooks reads the webhooks that may tell a server of the project. GitLab shows
// webhooks of groups only to the groups' owners.
func (f *Forge) surveyHooks(ctx context.Context, s *Survey) {
	s.Hooks, s.HooksErr = f.ListHooks(ctx, HookPlace{Project: s.Repo.ID})
	if s.HooksErr != nil {
		return
	}
	for _, h := range s.Hooks {
		if !h.Ours() {
			continue
		}
		list, err := f.deliveries(ctx, s.Repo.ID, h.ID)
		if errors.Is(err, forge.ErrNotFound) { // before 17.3
			continue
		}
		if err != nil {
			s.DeliveriesErr = err
			continue
		}
		s.Deliveries[h.ID] = list
	}
	for group := parentOf(s.Project); group != ""; group = parentOf(group) {
		list, err := f.ListHooks(ctx, HookPlace{Group: group})
		if err != nil {
			break
		}
		s.Hooks = append(s.Hooks, list...)
	}
}

// deliveries lists the newest webhooks that were sent to a hook, without their
// content.
func (f *Forge) deliveries(ctx context.Context, project, hook int) ([]DeliveryFacts, error) {
	path := fmt.Sprintf("projects/%d/hooks/%d/events?per_page=20", project, hook)
	var raw []json.RawMessage
	if err := f.ask(ctx, "list which webhooks have arrived", http.MethodGet, path, nil, &raw); err != nil {
		return nil, err
	}
	list := make([]DeliveryFacts, 0, len(raw))
	for _, one := range raw {
		var d DeliveryFacts
		if json.Unmarshal(one, &d) == nil {
			list = append(list, d)
		}
	}
	return list, nil
}

// parentOf returns the group that contains a project or a group; "": none.
func parentOf(path string) string {
	return path[:max(0, strings.LastIndex(path, "/"))]
}
