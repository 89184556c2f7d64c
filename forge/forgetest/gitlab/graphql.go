package gitlab

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
)

// graphQL is the path of the GraphQL interface.
const graphQL = "/api/graphql"

// checksQuery is the only GraphQL query that is understood here: the checks of a merge
// request.
var checksQuery = regexp.MustCompile(`^query\(\$path: ID!, \$iid: String!\) \{ project\(fullPath: \$path\) \{ mergeRequest\(iid: \$iid\) \{ diffHeadSha mergeabilityChecks \{ identifier status \} \} \} \}$`)

// graph answers a query. Errors in GraphQL are answers with status 200, except for a wrong
// token.
func (c *call) graph(body []byte) (any, *refused) {
	var q struct {
		Query     string `json:"query"`
		Variables struct {
			Path string `json:"path"`
			IID  string `json:"iid"`
		} `json:"variables"`
	}
	if c.who == nil {
		return nil, &refused{401, obj{"errors": []obj{{"message": "Invalid token"}}}}
	}
	if err := json.Unmarshal(body, &q); err != nil || !checksQuery.MatchString(q.Query) {
		return obj{"errors": []obj{{"message": "Parse error: this simulated GitLab knows one query"}}}, nil
	}
	if c.s.opts.Unchecked {
		return obj{"errors": []obj{{"message": "Field 'mergeabilityChecks' doesn't exist on type 'MergeRequest'"}}}, nil
	}
	var p *Project
	for _, x := range c.s.projects { // only by its present path: GraphQL does not redirect
		if !x.gone && strings.EqualFold(x.path, q.Variables.Path) {
			p = x
		}
	}
	if p == nil || p.level(c.who) == 0 {
		return obj{"data": obj{"project": nil}}, nil
	}
	n, _ := strconv.Atoi(q.Variables.IID)
	mr := p.mrs[n]
	if mr == nil {
		return obj{"data": obj{"project": obj{"mergeRequest": nil}}}, nil
	}
	checks := []obj{}
	add := func(name, state string) {
		checks = append(checks, obj{"identifier": strings.ToUpper(name), "status": state})
	}
	for _, k := range mr.checks() {
		add(k.name, k.state)
	}
	add("conflict", map[bool]string{true: "FAILED", false: "SUCCESS"}[mr.conflicts()])
	switch mr.ciRefusal() {
	case "":
		add("ci_must_pass", map[bool]string{true: "SUCCESS", false: "INACTIVE"}[p.set.MustSucceed])
	case "ci_still_running":
		add("ci_must_pass", "CHECKING")
	default:
		add("ci_must_pass", "FAILED")
	}
	if mr.newStatus != "" {
		add(mr.newStatus, "FAILED")
	}
	return obj{"data": obj{"project": obj{"mergeRequest": obj{"diffHeadSha": mr.head(), "mergeabilityChecks": checks}}}}, nil
}
