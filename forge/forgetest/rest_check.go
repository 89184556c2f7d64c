package forgetest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

func checkRoutes() []route {
	const base = "/repos/{owner}/{repo}"
	return []route{
		{pattern: "POST " + base + "/check-runs", need: "checks:write", f: createRun},
		{pattern: "PATCH " + base + "/check-runs/{id}", need: "checks:write", f: updateRun},
		{pattern: "GET " + base + "/check-runs/{id}", need: "checks:read", f: getRun},
		{pattern: "GET " + base + "/commits/{ref}/check-runs", need: "checks:read", f: listRuns},
	}
}

// runInput is the body of both creating and updating a check run.
type runInput struct {
	Name        *string `json:"name"`
	HeadSHA     *string `json:"head_sha"`
	DetailsURL  *string `json:"details_url"`
	ExternalID  *string `json:"external_id"`
	Status      *string `json:"status"`
	Conclusion  *string `json:"conclusion"`
	StartedAt   *string `json:"started_at"`
	CompletedAt *string `json:"completed_at"`
	Output      *struct {
		Title       *string `json:"title"`
		Summary     *string `json:"summary"`
		Text        *string `json:"text"`
		Annotations []struct {
			Path            string `json:"path"`
			StartLine       int    `json:"start_line"`
			EndLine         int    `json:"end_line"`
			StartColumn     *int   `json:"start_column"`
			EndColumn       *int   `json:"end_column"`
			AnnotationLevel string `json:"annotation_level"`
			Message         string `json:"message"`
			Title           string `json:"title"`
			RawDetails      string `json:"raw_details"`
		} `json:"annotations"`
		Images []any `json:"images"`
	} `json:"output"`
	Actions []struct {
		Label       string `json:"label"`
		Description string `json:"description"`
		Identifier  string `json:"identifier"`
	} `json:"actions"`
}

var (
	runStatuses    = []string{"queued", "in_progress", "completed"}
	runConclusions = []string{
		"action_required", "cancelled", "failure", "neutral", "success", "skipped", "stale", "timed_out",
	}
)

// check finds the errors that GitHub would refuse.
func (in *runInput) check() error {
	var errs []obj
	bad := func(field, code, message string) {
		errs = append(errs, obj{"resource": "CheckRun", "field": field, "code": code, "message": message})
	}
	if in.Status != nil && !slices.Contains(runStatuses, *in.Status) {
		bad("status", "invalid", "no such status")
	}
	if in.Conclusion != nil && !slices.Contains(runConclusions, *in.Conclusion) {
		bad("conclusion", "invalid", "no such conclusion")
	}
	if in.Status != nil && *in.Status == "completed" && in.Conclusion == nil {
		bad("conclusion", "missing_field", "a completed check run needs a conclusion")
	}
	if in.Status != nil && *in.Status != "completed" && in.Conclusion != nil {
		bad("conclusion", "invalid", "only a completed check run has a conclusion")
	}
	if in.DetailsURL != nil && !strings.HasPrefix(*in.DetailsURL, "http://") && !strings.HasPrefix(*in.DetailsURL, "https://") {
		bad("details_url", "invalid", "details_url must use http or https scheme")
	}
	for field, at := range map[string]*string{"started_at": in.StartedAt, "completed_at": in.CompletedAt} {
		if at != nil {
			if _, err := time.Parse(time.RFC3339, *at); err != nil {
				bad(field, "invalid", err.Error())
			}
		}
	}
	if out := in.Output; out != nil {
		if out.Title == nil || out.Summary == nil {
			bad("output", "missing_field", "output needs title and summary")
		}
		for field, text := range map[string]*string{"summary": out.Summary, "text": out.Text} {
			if text != nil && utf8.RuneCountInString(*text) > 65_535 {
				bad(field, "invalid", field+" exceeds a maximum character limit of 65535")
			}
		}
		if len(out.Annotations) > 50 {
			bad("annotations", "invalid", "at most 50 annotations")
		}
	}
	if len(in.Actions) > 3 {
		bad("actions", "invalid", "at most 3 actions")
	}
	for _, a := range in.Actions {
		if utf8.RuneCountInString(a.Label) > 20 || utf8.RuneCountInString(a.Description) > 40 || utf8.RuneCountInString(a.Identifier) > 20 {
			bad("actions", "invalid", fmt.Sprintf("action %q is too long", a.Label))
		}
	}
	if errs != nil {
		return invalid(errs...)
	}
	return nil
}

func set(to *string, from *string) {
	if from != nil {
		*to = *from
	}
}

func (in *runInput) apply(c *run, now time.Time) {
	set(&c.Name, in.Name)
	set(&c.ExternalID, in.ExternalID)
	set(&c.DetailsURL, in.DetailsURL)
	switch {
	case in.Conclusion != nil:
		c.Status, c.Conclusion, c.completed = "completed", *in.Conclusion, now
	case in.Status != nil:
		c.Status, c.Conclusion, c.completed = *in.Status, "", time.Time{}
	}
	if out := in.Output; out != nil {
		set(&c.Title, out.Title)
		set(&c.Summary, out.Summary)
		set(&c.Text, out.Text)
		for _, a := range out.Annotations {
			c.annotations = append(c.annotations, Annotation{a.Path, a.StartLine, a.AnnotationLevel, a.Title, a.Message, a.RawDetails})
		}
	}
	if in.Actions != nil {
		c.actions = nil
		for _, a := range in.Actions {
			c.actions = append(c.actions, a)
		}
	}
}

func (c *run) write(kind string) Write {
	return Write{Kind: kind, Head: c.Head, Text: strings.Trim(c.Status+"/"+c.Conclusion, "/") + " " + c.Title}
}

func createRun(c *call) (any, error) {
	if !c.who.installation() {
		return nil, refused("You must authenticate via a GitHub App.")
	}
	var in runInput
	if err := c.read(&in); err != nil {
		return nil, err
	}
	if in.Name == nil || *in.Name == "" || in.HeadSHA == nil {
		return nil, invalid(obj{"resource": "CheckRun", "code": "missing_field", "message": "name and head_sha are required"})
	}
	if err := in.check(); err != nil {
		return nil, err
	}
	if !c.repo.store.hasObject(*in.HeadSHA) {
		return nil, &problem{status: 422, message: "No commit found for SHA: " + *in.HeadSHA}
	}
	now := c.s.now()
	m := &run{
		CheckRun: CheckRun{ID: c.s.nextID(), Head: *in.HeadSHA, Status: "queued", App: c.s.opts.Slug},
		app:      appID, started: now,
	}
	in.apply(m, now)
	c.repo.CI.runs = append(c.repo.CI.runs, m)
	c.repo.wrote(c.who.user, m.write("check run"))
	c.repo.CI.tellRun(c.who.user, m)
	return answer{http.StatusCreated, c.repo.CI.runJSON(m)}, nil
}

func updateRun(c *call) (any, error) {
	m, err := c.run()
	if err != nil {
		return nil, err
	}
	if m.app != appID || !c.who.installation() {
		return nil, refused("Invalid app_id `1001` - check run can only be modified by the GitHub App that created it.")
	}
	var in runInput
	if err := c.read(&in); err != nil {
		return nil, err
	}
	if in.HeadSHA != nil {
		return nil, invalid(obj{"resource": "CheckRun", "field": "head_sha", "code": "invalid"})
	}
	if err := in.check(); err != nil {
		return nil, err
	}
	was := m.Status
	in.apply(m, c.s.now())
	m.Updates++
	c.repo.wrote(c.who.user, m.write("check run update"))
	if m.Status == "completed" && was != "completed" {
		c.repo.CI.tellRun(c.who.user, m)
	}
	return c.repo.CI.runJSON(m), nil
}

func (c *call) run() (*run, error) {
	for _, m := range c.repo.CI.runs {
		if m.ID == c.number("id") {
			return m, nil
		}
	}
	return nil, notFound()
}

func getRun(c *call) (any, error) {
	m, err := c.run()
	if err != nil {
		return nil, err
	}
	return c.repo.CI.runJSON(m), nil
}

// listRuns lists newest first; filter=latest (the default) keeps the newest run
// of each name and App.
func listRuns(c *call) (any, error) {
	q := c.r.URL.Query()
	head := c.repo.store.resolve(c.r.PathValue("ref"))
	if !c.repo.store.hasObject(head) {
		return nil, &problem{status: 422, message: "No commit found for SHA: " + head}
	}
	seen := map[string]bool{}
	var list []*run
	for _, m := range slices.Backward(c.repo.CI.runs) {
		key := fmt.Sprint(m.app, m.App, m.Name)
		if m.Head != head || q.Get("check_name") != "" && m.Name != q.Get("check_name") ||
			q.Get("app_id") != "" && q.Get("app_id") != fmt.Sprint(m.app) ||
			q.Get("status") != "" && m.Status != q.Get("status") ||
			q.Get("filter") != "all" && seen[key] {
			continue
		}
		seen[key] = true
		list = append(list, m)
	}
	out := []obj{}
	for _, m := range paged(c, list) {
		out = append(out, c.repo.CI.runJSON(m))
	}
	return obj{"total_count": len(list), "check_runs": out}, nil
}
