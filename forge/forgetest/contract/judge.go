package contract

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/submitqueue/submitqueue/forge/forgetest"
	"github.com/submitqueue/submitqueue/queue/storetest"
)

// anyError is the schema of errors that any request can get.
const anyError = "basic-error"

// For returns a judge that fails the test if an exchange is not as GitHub describes
// it; nil if the description does not exist and is not demanded.
func For(t testing.TB) forgetest.Judge {
	t.Helper()
	if !There() {
		if storetest.Required("contracts") {
			t.Fatal("contracts are required by SUBMITQUEUE_REQUIRE and GitHub's OpenAPI document is not in the folder SUBMITQUEUE_CONTRACTS")
		}
		return nil
	}
	d, err := load()
	if err != nil {
		t.Fatal(err)
	}
	return &judge{t: t, document: d, schema: schemaFor(t)}
}

// Wrong is For where requests are wrong on purpose: it leaves them to the server,
// and demands that the server refuses requests that do not fit the description.
func Wrong(t testing.TB) forgetest.Judge {
	t.Helper()
	j, ok := For(t).(*judge)
	if !ok {
		return nil
	}
	j.wrong = &sync.Map{}
	return j
}

type judge struct {
	*document
	t      testing.TB
	schema *ast.Schema // of GraphQL; nil: queries are not checked
	wrong  *sync.Map   // *http.Request to error; nil: no request may be wrong
}

var options = &openapi3filter.Options{
	AuthenticationFunc:  openapi3filter.NoopAuthenticationFunc,
	SkipSettingDefaults: true,
	MultiError:          true,
}

// Request implements forgetest.Judge.
func (j *judge) Request(route string, r *http.Request, body []byte) error {
	err := j.request(route, r, body)
	if err != nil && j.wrong != nil {
		j.wrong.Store(r, err)
		return nil
	}
	if err != nil {
		j.t.Errorf("GitHub would not take %s %s\n%s\n%v", r.Method, r.URL, body, short(err))
	}
	return err
}

// Answer implements forgetest.Judge.
func (j *judge) Answer(route string, r *http.Request, a forgetest.Answer) {
	if j.wrong != nil {
		if err, ok := j.wrong.LoadAndDelete(r); ok && a.Status < 400 {
			j.t.Errorf("%s %s: %d, which GitHub refuses: %v", r.Method, r.URL, a.Status, err)
		}
	}
	if err := j.answer(route, r, a); err != nil {
		j.t.Errorf("GitHub would not answer %s %s with %d\n%s\n%v", r.Method, r.URL, a.Status, clip(a.Body), short(err))
	}
}

// Webhook implements forgetest.Judge.
func (j *judge) Webhook(event, action string, payload []byte) {
	if err := j.webhook(event, action, payload); err != nil {
		j.t.Errorf("GitHub would not send %s %s\n%s\n%v", event, action, clip(payload), short(err))
	}
}

func (d *document) webhook(event, action string, payload []byte) error {
	if !slices.Contains(events, event) {
		return errors.New("the list of events does not have it: add it there")
	}
	schema := d.spec.Components.Schemas[payloadOf(event, action)]
	if schema == nil {
		return errors.New("GitHub's description has no such event")
	}
	payload = withForks(payload)
	return errors.Join(visit(schema, payload), strangers(schema, payload))
}

func clip(b []byte) string {
	if len(b) > 2000 {
		return string(b[:2000]) + "..."
	}
	return string(b)
}

// short drops the schemas that kin-openapi prints with each error.
func short(err error) string {
	var lines []string
	skip := false
	for line := range strings.Lines(err.Error()) {
		if strings.HasPrefix(line, "Schema:") || strings.HasPrefix(line, "Value:") {
			skip = true
		}
		if !skip && strings.TrimSpace(line) != "" {
			lines = append(lines, strings.TrimRight(line, "\n"))
		}
		if skip && !strings.HasPrefix(line, " ") && !strings.HasPrefix(line, "Schema:") && !strings.HasPrefix(line, "Value:") && strings.TrimSpace(line) != "" {
			skip = false
			lines = append(lines, strings.TrimRight(line, "\n"))
		}
	}
	return strings.Join(lines, "\n")
}

func (d *document) input(route string, r *http.Request) (*operation, *openapi3filter.RequestValidationInput, error) {
	o := d.routes[route]
	if o == nil {
		return nil, nil, errors.New("GitHub's description has no such endpoint")
	}
	params := map[string]string{}
	for _, name := range o.names {
		params[name[1]] = r.PathValue(name[0])
	}
	return o, &openapi3filter.RequestValidationInput{
		Request: r, PathParams: params, Options: options,
		Route: &routers.Route{Spec: d.spec, Path: o.path, PathItem: o.item, Method: o.method, Operation: o.op},
	}, nil
}

func (d *document) request(route string, r *http.Request, body []byte) error {
	o, in, err := d.input(route, r)
	if err != nil {
		return err
	}
	r = r.Clone(r.Context())
	// GitHub takes JSON without a content type, and null in place of no body:
	// ghinstallation asks for tokens in this way.
	if r.Header.Get("Content-Type") == "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if string(bytes.TrimSpace(body)) == "null" {
		body = nil
	}
	// "You can also pass an array of labels directly": only the prose says it.
	if strings.HasSuffix(o.path, "/labels") && bytes.HasPrefix(body, []byte("[")) {
		body = fmt.Appendf(nil, `{"labels":%s}`, body)
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	if len(body) == 0 {
		r.Body = http.NoBody
	}
	in.Request = r
	errs := []error{openapi3filter.ValidateRequest(context.Background(), in)}
	for name := range r.URL.Query() {
		if o.op.Parameters.GetByInAndName("query", name) == nil && o.item.Parameters.GetByInAndName("query", name) == nil {
			errs = append(errs, fmt.Errorf("there is no query parameter %q", name))
		}
	}
	if len(body) > 0 {
		if o.op.RequestBody == nil {
			errs = append(errs, errors.New("it has no body"))
		} else if media := o.op.RequestBody.Value.Content.Get("application/json"); media != nil {
			errs = append(errs, strangers(media.Schema, body))
		}
	}
	return errors.Join(errs...)
}

func (d *document) answer(route string, r *http.Request, a forgetest.Answer) error {
	o, in, err := d.input(route, r)
	if err != nil {
		return err
	}
	if a.Status == http.StatusNotModified {
		if len(a.Body) > 0 {
			return errors.New("304 has no body")
		}
		return nil
	}
	if strings.HasSuffix(o.path, "/rules/branches/{branch}") {
		a.Body = d.knownRules(a.Body)
	}
	documented := o.op.Responses.Status(a.Status)
	if a.Status == http.StatusMovedPermanently {
		// Any endpoint redirects from a repository's former name; only a few document it.
		return errors.Join(moved(a), visit(d.spec.Components.Schemas[anyError], a.Body))
	}
	if documented == nil && a.Status < 400 {
		return errors.New("that status is not documented")
	}
	var media *openapi3.MediaType
	if documented != nil {
		media = documented.Value.Content.Get("application/json")
	}
	if media == nil && a.Status >= 400 {
		// Errors of authentication, of limits and of the server are not documented for each
		// endpoint; where an error is documented, its body often is not.
		return visit(d.spec.Components.Schemas[anyError], a.Body)
	}
	if media == nil {
		if len(documented.Value.Content) == 0 && len(a.Body) > 0 {
			return errors.New("that status has no body")
		}
		return nil
	}
	a.Body = withForks(a.Body)
	err = openapi3filter.ValidateResponse(context.Background(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: in, Status: a.Status, Header: a.Header,
		Body: io.NopCloser(bytes.NewReader(a.Body)), Options: options,
	})
	if a.Status >= 400 {
		return err
	}
	return errors.Join(err, strangers(media.Schema, a.Body))
}

// moved checks that a redirect leads somewhere, and that its body says the same.
func moved(a forgetest.Answer) error {
	var body struct {
		URL string `json:"url"`
	}
	if err := json.Unmarshal(a.Body, &body); err != nil {
		return err
	}
	if to := a.Header.Get("Location"); to == "" || to != body.URL {
		return fmt.Errorf("the redirect is to %q, and its body says %q", to, body.URL)
	}
	return nil
}

// withForks fills in the base's repository and user if the head of a pull request has
// none, since its fork was deleted. Only the description's schemas of some webhooks
// say that they are null then (webhook-pull-request-review-dismissed).
func withForks(body []byte) []byte {
	if !bytes.Contains(body, []byte(`"repo":null`)) {
		return body
	}
	var v any
	if json.Unmarshal(body, &v) != nil {
		return body
	}
	var fill func(v any)
	fill = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				fill(e)
			}
		case map[string]any:
			head, _ := v["head"].(map[string]any)
			base, _ := v["base"].(map[string]any)
			if head != nil && base != nil && head["repo"] == nil {
				head["repo"], head["user"] = base["repo"], base["user"]
			}
			for _, e := range v {
				fill(e)
			}
		}
	}
	fill(v)
	filled, err := json.Marshal(v)
	if err != nil {
		return body
	}
	return filled
}

// knownRules drops rules of types that the description does not have: GitHub adds
// types every year, and a client must cope with them.
func (d *document) knownRules(body []byte) []byte {
	var rules []map[string]any
	if json.Unmarshal(body, &rules) != nil {
		return body
	}
	known, err := json.Marshal(slices.DeleteFunc(rules, func(r map[string]any) bool {
		kind, _ := r["type"].(string)
		return d.spec.Components.Schemas["repository-rule-"+strings.ReplaceAll(kind, "_", "-")] == nil
	}))
	if err != nil {
		return body
	}
	return known
}

// visit checks a body against a schema.
func visit(schema *openapi3.SchemaRef, body []byte) error {
	var v any
	if err := json.Unmarshal(body, &v); err != nil {
		return err
	}
	return schema.Value.VisitJSON(v, openapi3.MultiErrors())
}
