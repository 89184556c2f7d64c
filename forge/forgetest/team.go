package forgetest

import (
	"fmt"
	"slices"
	"strings"
)

// SetTeam sets the members of a team of an organization, such as "acme/oncall".
func (s *Server) SetTeam(team string, logins ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.teams == nil {
		s.teams, s.teamIDs = map[string][]string{}, map[string]int64{}
	}
	if s.teamIDs[strings.ToLower(team)] == 0 {
		s.teamIDs[strings.ToLower(team)] = s.nextID()
	}
	var members []string
	for _, login := range logins {
		members = append(members, strings.ToLower(s.addUser(login).login))
	}
	s.teams[strings.ToLower(team)] = members
}

// AddBot makes another App's user, such as "renovate[bot]".
func (s *Server) AddBot(login string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.addUser(login).kind = "Bot"
}

func teamRoutes() []route {
	return []route{
		{pattern: "GET /orgs/{org}/teams/{team}/memberships/{user}", need: "", f: getMembership},
		{pattern: "GET /teams/{id}/memberships/{user}", need: "", f: getMembership},
	}
}

func getMembership(c *call) (any, error) {
	if !c.who.installation() || c.who.token.permissions["members"] == "" {
		c.next.Set("X-Accepted-GitHub-Permissions", "members=read")
		return nil, refused("Resource not accessible by integration")
	}
	team, user := strings.ToLower(c.r.PathValue("org")+"/"+c.r.PathValue("team")), c.r.PathValue("user")
	for name, id := range c.s.teamIDs {
		if c.r.PathValue("id") == fmt.Sprint(id) {
			team = name
		}
	}
	if !slices.Contains(c.s.teams[team], strings.ToLower(user)) {
		return nil, notFound()
	}
	return obj{"state": "active", "role": "member", "url": fmt.Sprintf("%s/api/v3/organizations/1/team/1/memberships/%s", c.s.url, user)}, nil
}
