package gitlab

// endpoints are the endpoints of the REST interface; where two match, the first
// counts.
var endpoints = routes()

func route(method, pattern string, level int, f func(*call) (any, *refused)) endpoint {
	return endpoint{method, pattern, level, f}
}

func routes() []endpoint {
	const (
		pr = "projects/:project"
		mr = pr + "/merge_requests/:iid"
	)
	return []endpoint{
		route("GET", "user", 0, func(c *call) (any, *refused) {
			return c.who.json().with(obj{"bot": botName.MatchString(c.who.Name)}), nil
		}),
		route("GET", "version", 0, func(c *call) (any, *refused) { return obj{"version": c.s.version(), "revision": "fake"}, nil }),
		route("GET", "metadata", 0, func(c *call) (any, *refused) {
			return obj{"version": c.s.version(), "revision": "fake", "enterprise": true}, nil
		}),
		route("GET", "personal_access_tokens/self", 0, getToken),
		route("POST", "personal_access_tokens/self/rotate", 0, rotateToken),
		route("GET", "groups/:group", 0, getGroup),
		route("GET", "groups/:group/projects", 0, getGroupProjects),
		route("GET", "groups/:group/hooks", 0, getHooks),
		route("POST", "groups/:group/hooks", 0, postHook),
		route("PUT", "groups/:group/hooks/:hook", 0, putHook),
		route("POST", "groups/:group/hooks/:hook/test/:trigger", 0, testHook),
		route("GET", "users", 0, getUsers),
		route("GET", "groups/:group/members/all", 0, getGroupMembers),
		route("GET", pr, 10, func(c *call) (any, *refused) { return c.p.json(), nil }),
		route("GET", pr+"/members/all/:user", 10, getMember),
		route("GET", pr+"/merge_requests", 10, getMergeRequests),
		route("POST", pr+"/merge_requests", 30, postMergeRequest),
		route("GET", mr, 10, getMergeRequest),
		route("PUT", mr, 20, putMergeRequest),
		route("PUT", mr+"/merge", 20, putMerge),
		route("PUT", mr+"/rebase", 30, putRebase),
		route("GET", mr+"/approvals", 10, getApprovals),
		route("GET", mr+"/approval_state", 10, getApprovalState),
		route("GET", mr+"/blocks", 10, getBlocks),
		route("GET", mr+"/status_checks", 30, getExternal),
		route("GET", mr+"/versions", 10, getVersions),
		route("GET", mr+"/discussions", 10, getDiscussions),
		route("GET", mr+"/closes_issues", 10, getClosesIssues),
		route("GET", mr+"/resource_label_events", 10, getLabelEvents),
		route("GET", mr+"/pipelines", 20, getMergeRequestPipelines),
		route("GET", mr+"/notes", 10, getNotes),
		route("POST", mr+"/notes", 10, postNote),
		route("PUT", mr+"/notes/:note", 10, putNote),
		route("DELETE", mr+"/notes/:note", 10, deleteNote),
		route("GET", mr+"/award_emoji", 10, getAwards),
		route("POST", mr+"/award_emoji", 10, postAward),
		route("GET", mr+"/notes/:note/award_emoji", 10, getAwards),
		route("POST", mr+"/notes/:note/award_emoji", 10, postAward),
		route("PUT", pr+"/issues/:iid", 20, putIssue),
		route("GET", pr+"/issues/:iid", 10, getIssue),
		route("GET", pr+"/protected_branches", 30, getGuards),
		route("POST", pr+"/protected_branches", 40, postGuard),
		route("GET", pr+"/protected_branches/:branch", 30, getGuard),
		route("GET", pr+"/repository/files/:file/raw", 10, getFile),
		route("GET", pr+"/ci/lint", 30, getLint),
		route("GET", pr+"/runners", 40, getRunners),
		route("GET", pr+"/variables", 40, getVariables),
		route("GET", pr+"/push_rule", 40, getPushRule),
		route("GET", pr+"/approvals", 30, getApprovalSettings),
		route("GET", pr+"/approval_rules", 30, getApprovalRules),
		route("GET", pr+"/repository/branches", 10, getBranches),
		route("GET", pr+"/repository/branches/:branch", 10, getBranch),
		route("DELETE", pr+"/repository/branches/:branch", 30, deleteBranch),
		route("GET", pr+"/repository/commits/:sha", 10, getCommit),
		route("GET", pr+"/repository/commits/:sha/statuses", 20, getStatuses),
		route("GET", pr+"/repository/commits/:sha/merge_requests", 10, getCommitMergeRequests),
		route("POST", pr+"/statuses/:sha", 30, postStatus),
		route("GET", pr+"/pipelines", 20, getPipelines),
		route("POST", pr+"/pipeline", 30, postPipeline),
		route("GET", pr+"/pipelines/:pipeline", 20, getPipeline),
		route("GET", pr+"/pipelines/:pipeline/jobs", 20, getPipelineJobs),
		route("GET", pr+"/pipelines/:pipeline/bridges", 20, getBridges),
		route("POST", pr+"/pipelines/:pipeline/cancel", 30, cancelPipeline),
		route("POST", pr+"/pipelines/:pipeline/retry", 30, retryPipeline),
		route("GET", pr+"/jobs/:job", 20, getJob),
		route("GET", pr+"/jobs/:job/trace", 20, getTrace),
		route("GET", pr+"/hooks", 40, getHooks),
		route("POST", pr+"/hooks", 40, postHook),
		route("PUT", pr+"/hooks/:hook", 40, putHook),
		route("GET", pr+"/hooks/:hook/events", 40, getHookEvents),
		route("POST", pr+"/hooks/:hook/test/:trigger", 40, testHook),
		route("POST", pr+"/hooks/:hook/events/:event/resend", 40, resendHook),
	}
}
