package gitlab

import (
	"maps"
	"slices"
	"strings"
)

func getPipelines(c *call) (any, *refused) {
	var list []any
	for _, pl := range slices.Backward(c.p.pipelines) {
		if c.given("sha") && pl.sha != c.text("sha") || c.given("ref") && pl.ref != c.text("ref") || c.given("source") && pl.source != c.text("source") {
			continue
		}
		out := pl.json()
		delete(out, "user") // only a single pipeline has these
		delete(out, "name")
		list = append(list, out)
	}
	return c.page(list)
}

func postPipeline(c *call) (any, *refused) {
	vars := map[string]string{}
	if given, ok := c.params["variables"].([]any); ok {
		for _, v := range given {
			if m, ok := v.(map[string]any); ok {
				key, _ := m["key"].(string)
				value, _ := m["value"].(string)
				vars[key] = value
			}
		}
	}
	if len(vars) == 0 {
		vars = nil
	}
	inputs, _ := c.params["inputs"].(map[string]any)
	pl, no := c.p.create(c.who, c.text("ref"), vars, inputs)
	if no != nil {
		return nil, no
	}
	c.status = 201
	return pl.json(), nil
}

// aboutPipeline is an endpoint of one pipeline.
func aboutPipeline(f func(*call, *pipeline) (any, *refused)) func(*call) (any, *refused) {
	return func(c *call) (any, *refused) {
		if pl := c.p.pipeline(c.id("pipeline")); pl != nil {
			return f(c, pl)
		}
		return nil, notFound("Pipeline")
	}
}

var getPipeline = aboutPipeline(func(c *call, pl *pipeline) (any, *refused) { return pl.json(), nil })

var getPipelineJobs = aboutPipeline(func(c *call, pl *pipeline) (any, *refused) {
	var list []any
	for _, j := range slices.Backward(pl.jobs) {
		if !j.status && !j.bridge && (!j.retried || c.text("include_retried") == "true") {
			list = append(list, j.json())
		}
	}
	return c.page(list)
})

// getBridges lists the jobs that start another pipeline, which /jobs leaves out.
var getBridges = aboutPipeline(func(c *call, pl *pipeline) (any, *refused) {
	var list []any
	for _, j := range slices.Backward(pl.jobs) {
		if j.bridge && !j.retried {
			list = append(list, j.json())
		}
	}
	return c.page(list)
})

// cancelPipeline answers 200, even if there was nothing to cancel.
var cancelPipeline = aboutPipeline(func(c *call, pl *pipeline) (any, *refused) {
	if !over(pl.status()) {
		pl.stop()
	}
	return pl.json(), nil
})

var retryPipeline = aboutPipeline(func(c *call, pl *pipeline) (any, *refused) {
	pl.retry(c.who)
	c.status = 201
	return pl.json(), nil
})

func (c *call) job() (*job, *refused) {
	for _, pl := range c.p.pipelines {
		for _, j := range pl.jobs {
			if j.id == c.id("job") && !j.status {
				return j, nil
			}
		}
	}
	return nil, notFound("Job")
}

func getJob(c *call) (any, *refused) {
	j, no := c.job()
	if no != nil {
		return nil, no
	}
	return j.json(), nil
}

func getTrace(c *call) (any, *refused) {
	j, no := c.job()
	if no != nil {
		return nil, no
	}
	return j.log, nil
}

func postStatus(c *call) (any, *refused) {
	name := cmpOr(cmpOr(c.text("name"), c.text("context")), "default")
	j, no := c.p.post(c.who, c.vars["sha"], posting{c.text("state"), c.text("ref"), name, c.text("target_url"), c.text("description"), c.number("pipeline_id")})
	if no != nil {
		return nil, no
	}
	c.status = 201
	return j.statusJSON(), nil
}

func getStatuses(c *call) (any, *refused) {
	if !c.p.has(c.vars["sha"]) {
		return nil, notFound("Commit")
	}
	var list []any
	for _, pl := range c.p.pipelines {
		for _, j := range pl.jobs {
			if pl.sha == c.vars["sha"] && (!j.retried || c.text("all") == "true") && (!c.given("name") || j.name == c.text("name")) {
				list = append(list, j.statusJSON())
			}
		}
	}
	return c.page(list)
}

func getCommit(c *call) (any, *refused) {
	sha := c.vars["sha"]
	if !c.p.has(sha) {
		return nil, notFound("Commit")
	}
	return obj{"id": sha, "short_id": sha[:8], "title": c.p.subject(sha), "message": c.p.subject(sha),
		"parent_ids": strings.Fields(must2(c.p.git(nil, "log", "-1", "--format=%P", sha)))}, nil
}

func (c *call) branch(name string) obj {
	g, guarded := c.p.guard(name)
	may := c.p.level(c.who) >= 30 && !c.p.archived && (!guarded || g.Push > 0 && c.p.level(c.who) >= g.Push)
	return obj{"name": name, "protected": guarded, "default": name == c.p.main, "commit": obj{"id": c.p.tip(name)}, "merged": false, "can_push": may}
}

// getBranch sees the branches that REST sees, which may be one push behind.
func getBranch(c *call) (any, *refused) {
	name := c.vars["branch"]
	if !c.p.cached[name] || c.p.tip(name) == "" {
		return nil, notFound("Branch")
	}
	return c.branch(name), nil
}

func getBranches(c *call) (any, *refused) {
	var list []any
	for name := range c.p.cached {
		if c.p.tip(name) != "" && strings.Contains(name, c.text("search")) {
			list = append(list, c.branch(name))
		}
	}
	return c.page(list)
}

func deleteBranch(c *call) (any, *refused) {
	name := c.vars["branch"]
	tip := c.p.tip(name)
	if tip == "" {
		return nil, notFound("Branch")
	}
	moves := []refMove{{"refs/heads/" + name, tip, ""}}
	if text := c.p.forbidden(c.who, moves[0]); text == TextDelete && name != c.p.main { // refused by git only
		must(c.p.transact(moves))
		c.p.received(c.who, moves, nil)
	} else if err := c.p.push(c.who, moves, nil, true).err(moves); err != nil {
		return nil, &refused{403, obj{"message": "403 Forbidden"}}
	}
	c.status = 204
	return obj{}, nil
}

func guardObject(pattern string, g Guard) obj {
	return obj{"id": 1, "name": pattern, "push_access_levels": []obj{{"access_level": g.Push, "access_level_description": "x"}},
		"merge_access_levels": []obj{{"access_level": g.Merge, "access_level_description": "x"}}, "allow_force_push": g.Force, "code_owner_approval_required": false}
}

func getGuards(c *call) (any, *refused) {
	var list []any
	for _, pattern := range slices.Sorted(maps.Keys(c.p.guards)) {
		list = append(list, guardObject(pattern, c.p.guards[pattern]))
	}
	return c.page(list)
}

func getGuard(c *call) (any, *refused) {
	g, ok := c.p.guards[c.vars["branch"]]
	if !ok {
		return nil, notFound("")
	}
	return guardObject(c.vars["branch"], g), nil
}
