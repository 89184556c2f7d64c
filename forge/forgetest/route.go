package forgetest

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// route is one endpoint of the REST interface. http.ServeMux does not take
// GitHub's paths: issues/comments/{id} and issues/{number}/comments overlap.
type route struct {
	pattern string // "GET /repos/{owner}/{repo}/pulls"; a last "{x...}" takes the rest
	need    string // permission; "app": the App's JWT; "": anybody
	f       endpoint
	slow    bool // runs git: called without s.mu
}

// router finds the route of a request; where several match, the one with a literal
// element at their first difference.
type router struct {
	routes []route
	parts  [][]string // of routes
}

func newRouter(routes []route) *router {
	// "{" sorts behind every letter, so literal elements come first.
	slices.SortFunc(routes, func(a, b route) int { return strings.Compare(a.pattern, b.pattern) })
	rt := &router{routes: routes}
	for _, r := range routes {
		_, path, _ := strings.Cut(r.pattern, " ")
		rt.parts = append(rt.parts, strings.Split(path, "/"))
	}
	return rt
}

// find returns the route of a request and sets its path values. If there is none,
// it returns a route that answers 404.
func (rt *router) find(r *http.Request) route {
	have := strings.Split(strings.TrimPrefix(r.URL.EscapedPath(), "/api/v3"), "/")
	for i, want := range rt.parts {
		if strings.HasPrefix(rt.routes[i].pattern, r.Method+" ") && match(want, have) {
			for j, part := range want {
				name, ok := strings.CutPrefix(part, "{")
				if !ok {
					continue
				}
				value := have[j]
				if strings.HasSuffix(name, "...}") {
					value = strings.Join(have[j:], "/")
				}
				value, err := url.PathUnescape(value)
				if err != nil {
					continue // the value stays empty
				}
				r.SetPathValue(strings.TrimSuffix(strings.TrimSuffix(name, "}"), "..."), value)
			}
			return rt.routes[i]
		}
	}
	return route{f: func(*call) (any, error) { return nil, notFound() }}
}

func match(want, have []string) bool {
	for i, part := range want {
		switch {
		case i >= len(have):
			return false
		case strings.HasSuffix(part, "...}"):
			return true
		case part != have[i] && !strings.HasPrefix(part, "{"):
			return false
		}
	}
	return len(want) == len(have)
}
