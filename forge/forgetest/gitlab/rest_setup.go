package gitlab

import (
	"maps"
	"strings"
)

func (s *Server) version() string {
	if s.opts.Unsigned {
		return "17.8.1"
	}
	return "19.0.0"
}

// group finds the group that a path names: a group with a project that the client
// may see, or one that SetGroup has made.
func (c *call) group() ([]*Project, *refused) {
	name := strings.ToLower(c.vars["group"])
	var list []*Project
	for _, p := range c.s.projects {
		if !p.gone && c.p == nil && p.level(c.who) > 0 && strings.HasPrefix(strings.ToLower(p.path), name+"/") {
			list = append(list, p)
		}
	}
	if _, made := c.s.groups[name]; len(list) == 0 && !made {
		return nil, notFound("Group")
	}
	return list, nil
}

func getGroup(c *call) (any, *refused) {
	if _, no := c.group(); no != nil {
		return nil, no
	}
	return obj{"id": 1, "full_path": c.vars["group"], "name": c.vars["group"], "kind": "group"}, nil
}

func getGroupProjects(c *call) (any, *refused) {
	projects, no := c.group()
	if no != nil {
		return nil, no
	}
	var list []any
	for _, p := range projects {
		if c.text("archived") != "false" || !p.archived {
			list = append(list, p.json())
		}
	}
	return c.page(list)
}

func postGuard(c *call) (any, *refused) {
	name := c.text("name")
	if _, there := c.p.guards[name]; there {
		return nil, &refused{409, obj{"message": "Protected branch '" + name + "' already exists"}}
	}
	level := func(field string) int {
		if !c.given(field) {
			return 40
		}
		return c.number(field)
	}
	g := Guard{Push: level("push_access_level"), Merge: level("merge_access_level"), Force: c.text("allow_force_push") == "true"}
	c.p.guards[name] = g
	c.status = 201
	return guardObject(name, g), nil
}

func getFile(c *call) (any, *refused) {
	text, err := c.p.git(nil, "cat-file", "blob", c.text("ref")+":"+c.vars["file"])
	if err != nil {
		return nil, notFound("File")
	}
	return text, nil
}

// getLint judges .gitlab-ci.yml by the settings of the project.
func getLint(c *call) (any, *refused) {
	text, err := c.p.git(nil, "cat-file", "blob", c.p.main+":.gitlab-ci.yml")
	out := obj{"valid": !c.p.set.Broken, "errors": []string{}, "warnings": []string{}, "merged_yaml": text, "jobs": nil}
	if err != nil && len(c.p.set.Jobs) == 0 {
		return obj{"valid": false, "errors": []string{"Please provide content of .gitlab-ci.yml"}, "warnings": []string{}}, nil
	}
	if c.p.set.Broken {
		out["errors"] = []string{"jobs config should contain at least one visible job"}
	}
	var jobs []obj
	for _, name := range c.p.set.Jobs {
		jobs = append(jobs, obj{"name": name, "stage": "test"})
	}
	out["jobs"] = jobs
	return out, nil
}

func getRunners(c *call) (any, *refused) {
	var list []any
	for i := range c.p.set.Runners {
		list = append(list, obj{"id": i + 1, "active": true, "paused": false, "online": true, "status": "online", "is_shared": true, "runner_type": "instance_type"})
	}
	return c.page(list)
}

func getVariables(c *call) (any, *refused) {
	var list []any
	for _, name := range c.p.set.Protected {
		list = append(list, obj{"key": name, "value": "hidden from logs", "protected": true, "masked": true, "variable_type": "env_var"})
	}
	return c.page(list)
}

// tiered refuses requests that the free tier does not have.
func (c *call) tiered() *refused {
	if c.s.opts.Premium {
		return nil
	}
	return notFound("")
}

func getPushRule(c *call) (any, *refused) {
	if no := c.tiered(); no != nil || c.p.set.PushRules == nil {
		return nil, no
	}
	return obj(maps.Clone(c.p.set.PushRules)), nil
}

func getApprovalSettings(c *call) (any, *refused) {
	if no := c.tiered(); no != nil {
		return nil, no
	}
	return obj{"approvals_before_merge": c.p.set.Approvals, "reset_approvals_on_push": c.p.set.Reset, "merge_requests_author_approval": false}, nil
}

func getApprovalRules(c *call) (any, *refused) {
	if no := c.tiered(); no != nil {
		return nil, no
	}
	var list []any
	for i := range c.p.set.Rulings {
		list = append(list, obj{"id": i + 1, "name": "rule", "rule_type": "regular", "approvals_required": 1})
	}
	return c.page(list)
}
