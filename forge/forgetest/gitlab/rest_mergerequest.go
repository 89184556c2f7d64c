package gitlab

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

func (c *call) mergeRequest() (*mergeRequest, *refused) {
	if mr := c.p.mrs[c.id("iid")]; mr != nil {
		return mr, nil
	}
	return nil, notFound("Merge Request")
}

// aboutOne is an endpoint of one merge request.
func aboutOne(f func(*call, *mergeRequest) (any, *refused)) func(*call) (any, *refused) {
	return func(c *call) (any, *refused) {
		mr, no := c.mergeRequest()
		if no != nil {
			return nil, no
		}
		return f(c, mr)
	}
}

var getMergeRequest = aboutOne(func(c *call, mr *mergeRequest) (any, *refused) {
	mr.check()
	out := mr.json()
	mr.asked()
	return out, nil
})

func getMergeRequests(c *call) (any, *refused) {
	var found []*mergeRequest
	after, _ := time.Parse(time.RFC3339, c.text("updated_after"))
	iids := strings.Split(c.text("iids"), ",")
	for _, mr := range c.p.sorted() {
		state := c.text("state")
		if state != "" && state != "all" && mr.state != state ||
			c.given("source_branch") && mr.source != c.text("source_branch") ||
			c.given("target_branch") && mr.target != c.text("target_branch") ||
			c.given("iids") && !slices.Contains(iids, strconv.Itoa(mr.iid)) ||
			mr.updatedAt.Before(after) {
			continue
		}
		found = append(found, mr)
	}
	if c.text("order_by") == "updated_at" {
		slices.SortStableFunc(found, func(a, b *mergeRequest) int { return a.updatedAt.Compare(b.updatedAt) })
	}
	if c.text("sort") != "asc" {
		slices.Reverse(found)
	}
	var list []any
	for _, mr := range found {
		out := mr.json()
		delete(out, "head_pipeline") // only a single merge request has these
		delete(out, "diff_refs")
		delete(out, "merge_error")
		list = append(list, out)
	}
	return c.page(list)
}

func postMergeRequest(c *call) (any, *refused) {
	if len([]rune(c.text("title"))) > 255 {
		return nil, &refused{400, obj{"message": obj{"title": []string{"is too long (maximum is 255 characters)"}}}}
	}
	mr, no := c.p.open(c.who, c.p, Opening{Source: c.text("source_branch"), Target: c.text("target_branch"), Title: c.text("title"), Body: c.text("description")})
	if no != nil {
		return nil, no
	}
	if c.given("labels") {
		mr.relabel(c.who, strings.Split(c.text("labels"), ","))
	}
	c.status = 201
	return mr.json(), nil
}

var putMergeRequest = aboutOne(func(c *call, mr *mergeRequest) (any, *refused) {
	if c.given("title") {
		mr.retitle(c.who, c.text("title"))
	}
	if c.given("target_branch") {
		if mr.state != "opened" || c.p.tip(c.text("target_branch")) == "" {
			return nil, &refused{400, obj{"message": obj{"target_branch": []string{"cannot be changed"}}}}
		}
		mr.retarget(c.who, c.text("target_branch"))
	}
	labels := slices.Clone(mr.labels)
	for l := range strings.SplitSeq(c.text("add_labels"), ",") {
		if l != "" && !slices.Contains(labels, l) {
			labels = append(labels, l)
		}
	}
	for l := range strings.SplitSeq(c.text("remove_labels"), ",") {
		labels = slices.DeleteFunc(labels, func(x string) bool { return x == l })
	}
	mr.relabel(c.who, labels)
	switch c.text("state_event") {
	case "close":
		mr.close(c.who)
	case "reopen":
		mr.reopen(c.who)
	}
	return mr.json(), nil
})

var putMerge = aboutOne(func(c *call, mr *mergeRequest) (any, *refused) {
	no, _ := mr.accept(c.who, merging{c.text("sha"), cmpOr(c.text("squash_commit_message"), c.text("merge_commit_message")), c.text("squash") == "true", c.text("should_remove_source_branch") == "true"})
	if no != nil {
		return nil, no
	}
	return mr.json(), nil
})

var putRebase = aboutOne(func(c *call, mr *mergeRequest) (any, *refused) {
	p := c.p
	if mr.state != "opened" || mr.from != p {
		return nil, &refused{403, obj{"message": "403 Forbidden"}}
	}
	p.s.later("rebase !"+itoa(mr.iid), 0, func() {
		target, tip := p.tip(mr.target), p.tip(mr.source)
		tree, ok := p.mergeTree(target, tip)
		if !ok {
			mr.mergeError = "Rebase failed"
			return
		}
		move := refMove{"refs/heads/" + mr.source, tip, p.commitTree(tree, mr.title, target)}
		must(p.transact([]refMove{move}))
		p.received(c.who, []refMove{move}, nil)
	})
	c.status = 202
	return obj{"rebase_in_progress": true}, nil
})

var getApprovals = aboutOne(func(c *call, mr *mergeRequest) (any, *refused) {
	by := []obj{}
	for _, a := range mr.approvals {
		one := obj{"user": a.user.json(), "approved_at": stamp(a.at)}
		if c.s.opts.Dateless {
			delete(one, "approved_at")
		}
		by = append(by, one)
	}
	out := obj{"approved": true, "approved_by": by, "user_has_approved": false, "user_can_approve": true}
	if required := c.p.set.Approvals; c.s.opts.Premium {
		out = out.with(obj{"id": mr.id, "iid": mr.iid, "project_id": c.p.id, "approved": len(by) >= required, "approvals_required": required, "approvals_left": max(0, required-len(by))})
	}
	return out, nil
})

var getApprovalState = aboutOne(func(c *call, mr *mergeRequest) (any, *refused) {
	if !c.s.opts.Premium {
		return nil, &refused{403, obj{"message": "403 Forbidden"}}
	}
	rules := []obj{}
	if n := c.p.set.Approvals; n > 0 {
		by := []obj{}
		for _, a := range mr.approvals {
			by = append(by, a.user.json())
		}
		rules = append(rules, obj{"id": 1, "name": "All Members", "rule_type": "any_approver", "approvals_required": n, "approved_by": by, "approved": len(by) >= n})
	}
	return obj{"approval_rules_overwritten": false, "rules": rules}, nil
})

var getBlocks = aboutOne(func(c *call, mr *mergeRequest) (any, *refused) {
	if no := c.tiered(); no != nil {
		return nil, no
	}
	var list []any
	for i, b := range mr.blockers {
		list = append(list, obj{"id": i + 1, "blocking_merge_request": obj{"id": b.id, "iid": b.iid, "project_id": b.project.id, "state": b.state, "title": b.title,
			"references": obj{"full": b.project.path + "!" + itoa(b.iid)}}})
	}
	return c.page(list)
})

var getExternal = aboutOne(func(c *call, mr *mergeRequest) (any, *refused) {
	if no := c.tiered(); no != nil {
		return nil, no
	}
	var list []any
	for i, e := range mr.external {
		list = append(list, obj{"id": i + 1, "name": e.Name, "external_url": "https://checks.example.org", "status": e.Status})
	}
	return c.page(list)
})

var getVersions = aboutOne(func(c *call, mr *mergeRequest) (any, *refused) {
	var list []any
	for _, v := range slices.Backward(mr.versions) {
		list = append(list, obj{"id": v.id, "head_commit_sha": v.head, "base_commit_sha": v.base, "start_commit_sha": v.base, "created_at": stamp(v.at),
			"merge_request_id": mr.id, "state": map[bool]string{true: "empty", false: "collected"}[v.empty], "real_size": "1"})
	}
	return c.page(list)
})

var getDiscussions = aboutOne(func(c *call, mr *mergeRequest) (any, *refused) {
	var list []any
	in := map[*note]bool{}
	for _, t := range mr.threads {
		notes := []obj{}
		for _, n := range t.notes {
			in[n] = true
			notes = append(notes, n.json(mr.iid).with(obj{"resolvable": true, "resolved": t.resolved, "type": "DiscussionNote"}))
		}
		list = append(list, obj{"id": t.id, "individual_note": false, "notes": notes})
	}
	for _, n := range mr.notes {
		if !in[n] {
			list = append(list, obj{"id": "single" + itoa(n.id), "individual_note": true, "notes": []obj{n.json(mr.iid)}})
		}
	}
	return c.page(list)
})

var getClosesIssues = aboutOne(func(c *call, mr *mergeRequest) (any, *refused) {
	var list []any
	for n, open := range c.p.issues {
		if strings.Contains(mr.body, "Closes #"+itoa(n)) {
			list = append(list, obj{"id": 1000 + n, "iid": n, "project_id": c.p.id, "state": map[bool]string{true: "opened", false: "closed"}[open]})
		}
	}
	return c.page(list)
})

var getLabelEvents = aboutOne(func(c *call, mr *mergeRequest) (any, *refused) {
	var list []any
	for _, e := range mr.relabels {
		list = append(list, obj{"id": e.id, "user": e.user.json(), "created_at": stamp(e.at), "resource_type": "MergeRequest", "resource_id": mr.id,
			"label": obj{"id": 1, "name": e.label}, "action": map[bool]string{true: "add", false: "remove"}[e.on]})
	}
	return c.page(list)
})

var getMergeRequestPipelines = aboutOne(func(c *call, mr *mergeRequest) (any, *refused) {
	var list []any
	for _, pl := range slices.Backward(c.p.pipelines) {
		if pl.ref == mr.headRef() || pl.ref == mr.source && mr.from == c.p {
			list = append(list, pl.json())
		}
	}
	return c.page(list)
})

func getCommitMergeRequests(c *call) (any, *refused) {
	var list []any
	for _, mr := range c.p.sorted() {
		if slices.ContainsFunc(mr.versions, func(v diffVersion) bool { return v.head == c.vars["sha"] }) {
			list = append(list, mr.json())
		}
	}
	return c.page(list)
}

func getIssue(c *call) (any, *refused) {
	open, there := c.p.issues[c.id("iid")]
	if !there {
		return nil, notFound("Issue")
	}
	return obj{"id": 1000 + c.id("iid"), "iid": c.id("iid"), "project_id": c.p.id, "state": map[bool]string{true: "opened", false: "closed"}[open]}, nil
}

func putIssue(c *call) (any, *refused) {
	if _, there := c.p.issues[c.id("iid")]; !there {
		return nil, notFound("Issue")
	}
	if c.text("state_event") == "close" {
		c.p.issues[c.id("iid")] = false
	}
	return getIssue(c)
}
