package gitlab

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Project is a project of a Server. Its methods do what people, runners and GitLab itself
// do there. Verbs that name something that does not exist panic: such a script is wrong.
type Project struct {
	s *Server

	id       int
	path     string
	formerly []string
	dir      string
	main     string
	parent   *Project // the project of which it is a fork
	gone     bool

	archived  bool
	members   map[int]int // id of the user → level
	set       Settings
	guards    map[string]Guard
	numbers   int
	mrs       map[int]*mergeRequest
	issues    map[int]bool // number → open
	pipelines []*pipeline
	created   int // pipelines that POST has made in the last minute
	cached    map[string]bool
	hooks     []*hook
	refusals  []pushRefusal
	player    *User // the account that a person plays; nil: nobody plays
}

// Settings are the settings of a project that matter to a queue.
type Settings struct {
	MergeMethod   string // "merge", "rebase_merge" or "ff"
	Squash        string // "never", "always", "default_on" or "default_off"; empty: "default_off"
	MustSucceed   bool   // pipelines must succeed
	SkippedPass   bool   // skipped pipelines count as successful
	MustResolve   bool   // all threads must be resolved
	Approvals     int    // how many are needed; only with Premium
	Reset         bool   // approvals are removed on a push; only with Premium
	MergeText     string // template of merge commits; empty: GitLab's own
	SquashText    string // template of the commits of squashed merge requests; empty: GitLab's own
	DeleteSource  bool   // source branches are removed after a merge by GitLab
	Trains        bool   // merge trains
	VariablesFrom int    // level from which variables of pipelines are accepted; 0: from no one
	AutoCancel    bool   // redundant pipelines are cancelled
	PerMinute     int    // pipelines that POST may make; 0: any number

	NoCI      bool           // CI is switched off
	Runners   int            // runners that are online
	Protected []string       // variables that only protected refs get
	PushRules map[string]any // as the REST interface shows them; only with Premium
	Rulings   int            // approval rules; only with Premium

	Jobs     []string // the jobs of .gitlab-ci.yml; none: no pipelines
	Bridges  []string // further jobs, which start another pipeline
	Broken   bool     // its YAML is broken
	Rules    bool     // its workflow rules filter every pipeline
	PushOnly bool     // its workflow rules filter every pipeline that no push started
	Merged   bool     // it makes pipelines for merge requests instead of branches
	Results  bool     // with Merged: these test what merging it would give; only with Premium
	NoOption bool     // the option ci.no_pipeline is switched off for the project
}

// Guard protects branches of a name or pattern.
type Guard struct {
	Push  int // level from which one may push; 0: no one
	Merge int
	Force bool
}

// ID returns the project's number.
func (p *Project) ID() int { return p.id }

// Path returns its present full path.
func (p *Project) Path() string {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	return p.path
}

// Dir returns the folder of its bare repository.
func (p *Project) Dir() string { return p.dir }

// Set changes its settings.
func (p *Project) Set(change func(*Settings)) {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	change(&p.set)
}

// Protect protects a branch, or the branches of a pattern in which * matches any
// text.
func (p *Project) Protect(pattern string, g Guard) {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	p.guards[pattern] = g
}

// SetLevel gives somebody a level (10 guest, 20 reporter, 30 developer, 40 maintainer,
// 50 owner); 0: no member.
func (p *Project) SetLevel(user string, level int) {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	p.members[p.s.user(user).ID] = level
}

// Archive archives the project, or takes it out of the archive.
func (p *Project) Archive(yes bool) {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	p.archived = yes
}

// Move gives the project another path. The former path redirects reads, and refuses
// writes.
func (p *Project) Move(path string) {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	p.formerly = append(p.formerly, p.path)
	p.path = path
}

// Fork makes a fork for somebody, with all its branches.
func (p *Project) Fork(user string) *Project {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	name := p.path[strings.LastIndex(p.path, "/")+1:]
	f := &Project{s: p.s, id: p.s.nextID(), path: user + "/" + name, main: p.main, parent: p, members: map[int]int{p.s.user(user).ID: 50},
		mrs: map[int]*mergeRequest{}, guards: map[string]Guard{}, cached: maps.Clone(p.cached), set: p.set}
	f.dir = strings.TrimSuffix(p.dir, fmt.Sprintf("%d.git", p.id)) + fmt.Sprintf("%d.git", f.id)
	must(initBare(f.dir, p.main))
	must2(f.git(nil, "fetch", "-q", p.dir, "+refs/heads/*:refs/heads/*"))
	p.s.projects = append(p.s.projects, f)
	return f
}

// DeleteProject deletes a project, such as a fork; merge requests from it stay.
func (p *Project) DeleteProject() {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	p.gone = true
}

// AddIssue opens an issue.
func (p *Project) AddIssue(number int) {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	if p.issues == nil {
		p.issues = map[int]bool{}
	}
	p.issues[number] = true
}

// IssueOpen reports whether an issue is open.
func (p *Project) IssueOpen(number int) bool {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	return p.issues[number]
}

func (p *Project) level(u *User) int {
	if u == nil {
		return 0
	}
	return p.members[u.ID]
}

// guard returns the protection of a branch: of several patterns, the most permissive
// counts.
func (p *Project) guard(branch string) (Guard, bool) {
	out, any := Guard{}, false
	for pattern, g := range p.guards {
		if !wild(pattern, branch) {
			continue
		}
		if !any {
			out, any = g, true
			continue
		}
		out.Push, out.Merge, out.Force = permissive(out.Push, g.Push), permissive(out.Merge, g.Merge), out.Force || g.Force
	}
	return out, any
}

func permissive(a, b int) int {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// wild reports whether a name matches a pattern in which * also matches slashes.
func wild(pattern, name string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == name
	}
	rest, ok := strings.CutPrefix(name, parts[0])
	if !ok {
		return false
	}
	for _, part := range parts[1 : len(parts)-1] {
		_, after, found := strings.Cut(rest, part)
		if !found {
			return false
		}
		rest = after
	}
	return strings.HasSuffix(rest, parts[len(parts)-1])
}

func (p *Project) sorted() []*mergeRequest {
	return slices.SortedFunc(maps.Values(p.mrs), func(a, b *mergeRequest) int { return cmp.Compare(a.iid, b.iid) })
}

// mr panics where there is none: a verb's script is wrong then.
func (p *Project) mr(iid int) *mergeRequest {
	if p.mrs[iid] == nil {
		panic(fmt.Sprintf("%s has no merge request %d", p.path, iid))
	}
	return p.mrs[iid]
}

func (p *Project) json() obj {
	method := p.set.MergeMethod
	access := obj{"project_access": nil, "group_access": nil}
	return obj{"id": p.id, "path_with_namespace": p.path, "name": p.path[strings.LastIndex(p.path, "/")+1:], "path": p.path[strings.LastIndex(p.path, "/")+1:],
		"default_branch": p.main, "archived": p.archived, "visibility": "private", "web_url": p.s.url + "/" + p.path,
		"http_url_to_repo": p.s.url + "/" + p.path + ".git", "merge_method": method, "squash_option": cmp.Or(p.set.Squash, "default_off"),
		"only_allow_merge_if_pipeline_succeeds": p.set.MustSucceed, "allow_merge_on_skipped_pipeline": p.set.SkippedPass,
		"only_allow_merge_if_all_discussions_are_resolved": p.set.MustResolve, "remove_source_branch_after_merge": p.set.DeleteSource,
		"merge_commit_template": orNull(p.set.MergeText), "squash_commit_template": orNull(p.set.SquashText), "merge_trains_enabled": p.set.Trains, "builds_access_level": map[bool]string{true: "disabled", false: "enabled"}[p.set.NoCI], "ci_config_path": "", "merge_requests_enabled": true, "permissions": access,
		"ci_pipeline_variables_minimum_override_role": role(p.set.VariablesFrom), "namespace": obj{"full_path": p.path[:max(0, strings.LastIndex(p.path, "/"))]}}
}

func role(level int) string {
	switch {
	case level == 0:
		return "no_one_allowed"
	case level <= 30:
		return "developer"
	case level <= 40:
		return "maintainer"
	}
	return "owner"
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func must2[T any](v T, err error) T {
	must(err)
	return v
}
