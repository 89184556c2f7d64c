package gitlab

import (
	"encoding/json"
	"slices"
	"strings"
)

func getUsers(c *call) (any, *refused) {
	var list []any
	if u := c.s.users[strings.ToLower(c.text("username"))]; u != nil {
		list = append(list, u.json())
	}
	return c.page(list)
}

func getMember(c *call) (any, *refused) {
	u := c.s.userByID(c.id("user"))
	if u == nil || c.p.members[u.ID] == 0 {
		return nil, notFound("Member")
	}
	return u.json().with(obj{"access_level": c.p.members[u.ID]}), nil
}

func getGroupMembers(c *call) (any, *refused) {
	ids, ok := c.s.groups[strings.ToLower(c.vars["group"])]
	if !ok {
		return nil, notFound("Group")
	}
	var list []any
	for _, id := range ids {
		if u := c.s.userByID(id); u != nil && (!c.given("user_ids") || slices.Contains(strings.Split(c.text("user_ids"), ","), itoa(id))) {
			list = append(list, u.json().with(obj{"access_level": 30}))
		}
	}
	return c.page(list)
}

func getHookEvents(c *call) (any, *refused) {
	h, no := c.hook()
	if no != nil {
		return nil, no
	}
	var list []any
	for _, d := range slices.Backward(h.deliverd) {
		status := itoa(d.status)
		if d.status == 0 {
			status = "internal error"
		}
		list = append(list, obj{"id": d.id, "url": h.URL, "trigger": strings.ToLower(strings.ReplaceAll(d.kind, " ", "_")) + "s", "response_status": status,
			"request_headers": obj{"Idempotency-Key": d.key, "X-Gitlab-Event": d.kind}, "request_data": json.RawMessage(d.body), "execution_duration": 0.1, "created_at": stamp(d.at)})
	}
	return c.page(list)
}

// resendHook sends an earlier webhook again, under the same key.
func resendHook(c *call) (any, *refused) {
	h, no := c.hook()
	if no != nil {
		return nil, no
	}
	for _, d := range h.deliverd {
		if d.id == c.id("event") {
			c.s.letters = append(c.s.letters, &letter{h, d.key, d.kind, d.body})
			c.status = 201
			return obj{"response_status": 200}, nil
		}
	}
	return nil, notFound("Event")
}
