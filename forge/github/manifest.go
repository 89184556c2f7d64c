package github

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/forge"
)

// Registration is an App that GitHub has made of a manifest. Its holder can
// act as the App.
type Registration struct {
	ID            int64  `json:"id"`
	Slug          string `json:"slug"`
	HTMLURL       string `json:"html_url"`
	ClientID      string `json:"client_id"`
	ClientSecret  string `json:"client_secret"`
	WebhookSecret string `json:"webhook_secret"`
	PEM           string `json:"pem"`
}

// ManifestOptions are the settings in which our Apps differ.
type ManifestOptions struct {
	Name   string // people may change it at GitHub, where it must be the only one
	Server string // URL under which GitHub reaches the server
	Back   string // URL to which GitHub sends the maker of the App
	Public bool   // other accounts than the owner may install it
}

// Manifest returns the manifest from which GitHub makes an App: its webhook, and
// the permissions and events of Needs and EventNeeds.
func Manifest(o ManifestOptions) ([]byte, error) {
	server := strings.TrimSuffix(o.Server, "/")
	permissions, events := map[string]string{}, []string{}
	for _, n := range Needs() {
		permissions[n.Name] = n.Access
	}
	for _, n := range EventNeeds() {
		events = append(events, n.Name)
	}
	return json.Marshal(map[string]any{
		"name": o.Name, "url": server, "description": "A merge queue that keeps main green at every commit: comment /land on a pull request.",
		"hook_attributes": map[string]any{"url": server + "/webhook", "active": true},
		"redirect_url":    o.Back, "setup_url": server + "/", "public": o.Public,
		"default_permissions": permissions, "default_events": events,
	})
}

// Site takes the address of a GitHub server that a person has typed: a host or a
// URL. It returns its URL without a final slash, and the address of its REST
// interface. An empty text is github.com.
func Site(text string) (site, api string, err error) {
	text = strings.TrimSuffix(strings.TrimSpace(text), "/")
	if text == "" {
		text = "https://github.com"
	}
	if !strings.Contains(text, "://") {
		text = "https://" + text
	}
	text = strings.TrimSuffix(text, "/api/v3")
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil || u.Path != "" || u.RawQuery != "" || u.Fragment != "" || u.Scheme != "https" && u.Scheme != "http" ||
		strings.ContainsAny(u.Host, ";,'\" *") {
		return "", "", fmt.Errorf("%q is not the address of a GitHub: write https://HOST", text)
	}
	host := strings.ToLower(u.Host)
	switch {
	case host == "github.com" || host == "www.github.com" || host == "api.github.com":
		return "https://github.com", "https://api.github.com/", nil
	case strings.HasSuffix(host, ".ghe.com"): // Enterprise Cloud with data residency
		host = strings.TrimPrefix(host, "api.")
		return u.Scheme + "://" + host, u.Scheme + "://api." + host + "/", nil
	}
	return u.Scheme + "://" + host, u.Scheme + "://" + host + "/api/v3/", nil
}

// NewAppPage returns the address where GitHub takes a manifest, as a form's field
// of that name: for an organization, or for the person logged in there.
func NewAppPage(site, organization, state string) string {
	path := "/settings/apps/new"
	if organization != "" {
		path = "/organizations/" + url.PathEscape(organization) + path
	}
	return site + path + "?state=" + url.QueryEscape(state)
}

// Register exchanges the code with which GitHub sends a person back for the App
// that it stands for. GitHub takes the code once, within an hour: ErrNotFound
// afterwards. transport may be nil.
func Register(ctx context.Context, api, code string, transport http.RoundTripper) (Registration, error) {
	const doing = "make the App"
	var r Registration
	if code == "" || strings.ContainsAny(code, "/?#.%") {
		return r, fmt.Errorf("github: %s: %w: the code is not one of GitHub's", doing, forge.ErrNotFound)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(api, "/")+"/app-manifests/"+code+"/conversions", nil)
	if err != nil {
		return r, err
	}
	req.Header.Set("Accept", "application/vnd.github+json")
	req.Header.Set("X-GitHub-Api-Version", "2022-11-28")
	resp, err := (&http.Client{Transport: transport, Timeout: time.Minute}).Do(req)
	var request *url.Error
	if errors.As(err, &request) {
		request.URL = api // without the code, which is as good as the credentials
	}
	if err != nil {
		return r, failure(ctx, doing, unaddressed(err))
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusCreated {
		return r, byStatus(doing, resp, "", errors.New(resp.Status))
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&r); err != nil {
		return r, fmt.Errorf("github: %s: the answer cannot be read: %w", doing, err)
	}
	if r.ID == 0 || r.PEM == "" || r.WebhookSecret == "" {
		return r, fmt.Errorf("github: %s: the answer lacks the App's id, key or webhook secret", doing)
	}
	return r, nil
}
