package forgetest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"time"
)

func appRoutes() []route {
	return []route{
		{pattern: "GET /app", need: "app", f: func(c *call) (any, error) { return c.s.App.appJSON(), nil }},
		{pattern: "POST /app/installations/{id}/access_tokens", need: "app", f: createToken},
		{pattern: "GET /app/hook/deliveries", need: "app", f: listDeliveries},
		{pattern: "GET /app/hook/deliveries/{id}", need: "app", f: getDelivery},
		{pattern: "POST /app/hook/deliveries/{id}/attempts", need: "app", f: redeliver},
		{pattern: "GET /rate_limit", f: rateLimit},
		{pattern: "GET /repos/{owner}/{repo}/installation", need: "app", f: repositoryInstallation},
	}
}

func createToken(c *call) (any, error) {
	from := c.s.App.installationByID(c.number("id"))
	if from == nil {
		return nil, notFound()
	}
	if err := c.s.App.admitted(from.id); err != nil {
		return nil, err
	}
	var in struct {
		Repositories  []string          `json:"repositories"`
		RepositoryIDs []int64           `json:"repository_ids"`
		Permissions   map[string]string `json:"permissions"`
	}
	if err := c.read(&in); err != nil {
		return nil, err
	}
	t := &token{
		user:        c.s.users[strings.ToLower(c.s.Bot())],
		permissions: maps.Clone(c.s.opts.Permissions),
		expires:     time.Now().Add(c.s.opts.TokenLife),
		install:     from.id,
	}
	if in.Permissions != nil {
		for name, access := range in.Permissions {
			if have := c.s.opts.Permissions[name]; have != access && have != "write" {
				return nil, &problem{status: 422, message: "The permissions requested are not granted to this installation."}
			}
		}
		t.permissions = in.Permissions
	}
	if in.Repositories != nil || in.RepositoryIDs != nil {
		t.repos = map[string]bool{}
		for key, r := range c.s.repos {
			for _, name := range in.Repositories {
				t.repos[key] = t.repos[key] || strings.EqualFold(name, r.name)
			}
			for _, id := range in.RepositoryIDs {
				t.repos[key] = t.repos[key] || id == r.id
			}
		}
	}
	body := obj{
		"token": c.s.addToken("ghs_", t), "expires_at": stamp(t.expires.UTC()),
		"permissions": t.permissions, "repository_selection": "all",
	}
	if t.repos != nil {
		list := []obj{}
		for _, r := range c.s.App.reached(from) {
			if t.covers(r) {
				list = append(list, r.shapes.json())
			}
		}
		body["repositories"], body["repository_selection"] = list, "selected"
	}
	return answer{http.StatusCreated, body}, nil
}

func (d *Delivery) json() obj {
	return obj{
		"id": d.ID, "guid": d.GUID, "delivered_at": stamp(d.at), "redelivery": d.Redelivery,
		"duration": d.took.Seconds(), "status": d.Status, "status_code": d.StatusCode,
		"event": d.Event, "action": orNil(d.Action), "installation_id": installationID, "repository_id": d.repo,
	}
}

// listDeliveries pages by cursor, newest first, as GitHub does.
func listDeliveries(c *call) (any, error) {
	list := []obj{}
	cursor := c.r.URL.Query().Get("cursor")
	for i := len(c.s.hooks.log) - 1; i >= 0; i-- {
		d := c.s.hooks.log[i]
		if cursor != "" {
			if fmt.Sprint(d.ID) != cursor {
				continue
			}
			cursor = ""
		}
		if len(list) == 100 {
			c.next.Set("Link", fmt.Sprintf(`<%s/api/v3/app/hook/deliveries?per_page=100&cursor=%d>; rel="next"`, c.s.url, d.ID))
			break
		}
		list = append(list, d.json())
	}
	return list, nil
}

func (c *call) delivery() (*Delivery, error) {
	for _, d := range c.s.hooks.log {
		if d.ID == c.number("id") {
			return d, nil
		}
	}
	return nil, notFound()
}

func getDelivery(c *call) (any, error) {
	d, err := c.delivery()
	if err != nil {
		return nil, err
	}
	body := d.json()
	body["request"] = obj{"headers": obj{"X-GitHub-Delivery": d.GUID}, "payload": json.RawMessage(d.Payload)}
	body["response"] = obj{"headers": obj{}, "payload": nil}
	return body, nil
}

func redeliver(c *call) (any, error) {
	d, err := c.delivery()
	if err != nil {
		return nil, err
	}
	c.s.again(d)
	return answer{http.StatusAccepted, obj{}}, nil
}
