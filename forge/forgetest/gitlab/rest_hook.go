package gitlab

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// hookEvents are the kinds of webhooks, with the names of their switches.
var hookEvents = []struct{ field, kind string }{
	{"push_events", PushHook}, {"merge_requests_events", MergeHook}, {"note_events", NoteHook}, {"pipeline_events", PipelineHook}, {"job_events", JobHook},
}

func (h *hook) json(s *Server) obj {
	now := s.now()
	out := obj{"id": h.id, "url": h.URL, "name": h.Name, "alert_status": h.alert(now), "disabled_until": nil, "confidential_note_events": false, "push_events_branch_filter": h.Filter, "enable_ssl_verification": !h.NoTLS}
	if h.until.After(now) {
		out["disabled_until"] = stamp(h.until)
	}
	for _, e := range hookEvents {
		out[e.field] = len(h.Events) == 0 || slices.Contains(h.Events, e.kind)
	}
	if !s.opts.Unsigned {
		out["token_present"], out["signing_token_present"] = h.Token != "", h.Signing != ""
	}
	return out
}

// hooksOf returns the hooks of the project or group that the path names.
func (c *call) hooksOf() (*[]*hook, *refused) {
	if c.p != nil {
		return &c.p.hooks, nil
	}
	if _, no := c.group(); no != nil {
		return nil, no
	}
	if !c.s.opts.Premium {
		return nil, notFound("")
	}
	if c.s.hooks == nil {
		c.s.hooks = map[string][]*hook{}
	}
	list := c.s.hooks[strings.ToLower(c.vars["group"])]
	return &list, nil
}

// listening returns the hooks that are told of a project: its own, and those of
// groups.
func (p *Project) listening() []*hook {
	list := slices.Clone(p.hooks)
	for group, hooks := range p.s.hooks {
		if strings.HasPrefix(strings.ToLower(p.path), group+"/") {
			list = append(list, hooks...)
		}
	}
	return list
}

func getHooks(c *call) (any, *refused) {
	hooks, no := c.hooksOf()
	if no != nil {
		return nil, no
	}
	var list []any
	for _, h := range *hooks {
		list = append(list, h.json(c.s))
	}
	return c.page(list)
}

func postHook(c *call) (any, *refused) {
	hooks, no := c.hooksOf()
	if no != nil {
		return nil, no
	}
	h := &hook{id: c.s.nextID()}
	h.Events = []string{PushHook} // it is on unless the request switches it off
	if no := c.change(h); no != nil {
		return nil, no
	}
	*hooks = append(*hooks, h)
	if c.p == nil {
		c.s.hooks[strings.ToLower(c.vars["group"])] = *hooks
	}
	c.status = 201
	return h.json(c.s), nil
}

func (c *call) hook() (*hook, *refused) {
	hooks, no := c.hooksOf()
	if no != nil {
		return nil, no
	}
	for _, h := range *hooks {
		if h.id == c.id("hook") {
			return h, nil
		}
	}
	return nil, notFound("Hook")
}

func putHook(c *call) (any, *refused) {
	h, no := c.hook()
	if no != nil {
		return nil, no
	}
	if no := c.change(h); no != nil {
		return nil, no
	}
	return h.json(c.s), nil
}

// change changes a hook as a request says. With another address, GitLab forgets the
// secrets that the request does not set again.
func (c *call) change(h *hook) *refused {
	if c.given("url") && c.text("url") != h.URL {
		if !strings.HasPrefix(c.text("url"), "http://") && !strings.HasPrefix(c.text("url"), "https://") {
			return &refused{422, obj{"error": "Invalid url given"}}
		}
		h.URL, h.Token, h.Signing = c.text("url"), "", ""
	}
	if c.given("token") {
		h.Token = c.text("token")
	}
	if c.given("signing_token") && !c.s.opts.Unsigned { // otherwise, it is dropped without an error
		if key := c.text("signing_token"); key != "" && !strings.HasPrefix(key, "whsec_") {
			return &refused{422, obj{"message": obj{"signing_token": []string{"must be whsec_ and base64 of 32 bytes"}}}}
		}
		h.Signing = c.text("signing_token")
	}
	if c.given("name") {
		h.Name = c.text("name")
	}
	if c.given("push_events_branch_filter") {
		h.Filter = c.text("push_events_branch_filter")
	}
	if c.given("enable_ssl_verification") {
		h.NoTLS = c.text("enable_ssl_verification") == "false"
	}
	all := h.Events
	if len(all) == 0 {
		for _, e := range hookEvents {
			all = append(all, e.kind)
		}
	}
	for _, e := range hookEvents {
		switch at := slices.Index(all, e.kind); {
		case !c.given(e.field):
		case c.text(e.field) == "true" && at < 0:
			all = append(all, e.kind)
		case c.text(e.field) == "false" && at >= 0:
			all = slices.Delete(slices.Clone(all), at, at+1)
		}
	}
	if h.Events = all; len(all) == 0 {
		h.Events = []string{"none"}
	}
	return nil
}

// testHook sends a webhook at once, even where the hook is switched off: a success
// switches it on.
func testHook(c *call) (any, *refused) {
	h, no := c.hook()
	if no != nil {
		return nil, no
	}
	p := c.p
	if p == nil {
		list, _ := c.group()
		p = list[0]
	}
	tip := p.tip(p.main)
	letter := &letter{h, fmt.Sprintf("key-%d", c.s.nextID()), PushHook, must2(json.Marshal(p.pushPayload(c.who, refMove{"refs/heads/" + p.main, tip, tip})))}
	c.s.mu.Unlock() // the receiver may send requests to this server
	arrived := c.s.sendOne(c.r.Context(), letter)
	c.s.mu.Lock()
	if !arrived {
		return nil, &refused{422, obj{"message": "Hook execution failed: HTTP " + itoa(h.deliverd[len(h.deliverd)-1].status)}}
	}
	c.status = 201
	return obj{"message": "201 Created"}, nil
}

// Hooks returns the webhooks of the project itself, by number.
func (p *Project) Hooks() map[int]Hook {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	out := map[int]Hook{}
	for _, h := range p.hooks {
		out[h.id] = h.Hook
	}
	return out
}

// EditHook changes the first webhook of the project, as on its page. field is a name of
// the REST interface.
func (p *Project) EditHook(field string, value any) error {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	c := &call{s: p.s, p: p, params: map[string]any{field: value}}
	if no := c.change(p.hooks[0]); no != nil {
		return fmt.Errorf("%v", no.body)
	}
	return nil
}
