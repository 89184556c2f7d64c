package forgetest

import (
	"net/http"
	"strconv"
)

func stackRoutes() []route {
	const base = "/repos/{owner}/{repo}/stacks"
	return []route{
		{pattern: "GET " + base, need: "pull_requests:read", f: listStacks},
		{pattern: "POST " + base, need: "pull_requests:write", f: createStack},
		{pattern: "GET " + base + "/{number}", need: "pull_requests:read", f: getStack},
		{pattern: "POST " + base + "/{number}/add", need: "pull_requests:write", f: addToStack},
		{pattern: "POST " + base + "/{number}/unstack", need: "pull_requests:write", f: unstack},
	}
}

// stack finds the stack that the path names.
func (c *call) stack() (*stack, error) {
	n := int(c.number("number"))
	if n < 1 || n > len(c.repo.stacks) || len(c.repo.stacks[n-1].members) == 0 {
		return nil, notFound()
	}
	return c.repo.stacks[n-1], nil
}

func listStacks(c *call) (any, error) {
	only, _ := strconv.Atoi(c.r.URL.Query().Get("pull_request"))
	var list []*stack
	for _, k := range c.repo.stacks {
		if len(k.members) > 0 && (only == 0 || c.repo.issues.stackOf(only) == k) {
			list = append(list, k)
		}
	}
	out := []obj{}
	for _, k := range paged(c, list) {
		out = append(out, c.repo.shapes.stackJSON(k, false))
	}
	return out, nil
}

// wantedMembers reads the pull requests of a request.
func wantedMembers(c *call, least int) ([]int, error) {
	var in struct {
		Pulls []int `json:"pull_requests"`
	}
	if err := c.read(&in); err != nil {
		return nil, err
	}
	if len(in.Pulls) < least || len(in.Pulls) > 100 {
		return nil, invalid(obj{"resource": "Stack", "field": "pull_requests", "code": "invalid"})
	}
	return in.Pulls, nil
}

func createStack(c *call) (any, error) {
	members, err := wantedMembers(c, 2)
	if err != nil {
		return nil, err
	}
	k, err := c.repo.issues.stack(c.s.actor(c.who), members)
	if err != nil {
		return nil, err
	}
	return answer{http.StatusCreated, c.repo.shapes.stackJSON(k, true)}, nil
}

func getStack(c *call) (any, error) {
	k, err := c.stack()
	if err != nil {
		return nil, err
	}
	return c.repo.shapes.stackJSON(k, true), nil
}

func addToStack(c *call) (any, error) {
	k, err := c.stack()
	if err != nil {
		return nil, err
	}
	members, err := wantedMembers(c, 1)
	if err != nil {
		return nil, err
	}
	if err := c.repo.issues.stackMore(c.s.actor(c.who), k, members); err != nil {
		return nil, err
	}
	return c.repo.shapes.stackJSON(k, true), nil
}

func unstack(c *call) (any, error) {
	k, err := c.stack()
	if err != nil {
		return nil, err
	}
	before := len(k.members)
	switch c.repo.issues.unstack(k); len(k.members) {
	case 0:
		return answer{status: http.StatusNoContent}, nil
	case before:
		return nil, &problem{status: 422, message: "Pull requests in this stack cannot be removed"}
	}
	return c.repo.shapes.stackJSON(k, true), nil
}
