package forgetest

import "fmt"

// uses answers query Uses: for each branch, its rules, and the pull requests of it and
// into it. The caller holds s.mu. Ref.associatedPullRequests lists those of the
// branch itself; Repository.pullRequests goes by name.
func (r *rules) uses(variables map[string]any) obj {
	out := obj{}
	list := func(which func(p *pull) bool) obj {
		nodes := []obj{}
		for _, p := range r.repo.issues.sorted() {
			if p.open() && which(p) && len(nodes) < 100 {
				nodes = append(nodes, obj{"number": p.Number})
			}
		}
		return obj{"nodes": nodes}
	}
	for i := 0; ; i++ {
		branch, ok := variables[fmt.Sprintf("branch%d", i)].(string)
		if !ok {
			return out
		}
		out[fmt.Sprintf("into%d", i)] = list(func(p *pull) bool { return p.Base == branch })
		out[fmt.Sprintf("at%d", i)] = nil
		if ref, _ := variables[fmt.Sprintf("ref%d", i)].(string); r.repo.store.readRef(ref) != "" {
			count := 0
			if guard, guarded := r.repo.guards[branch]; guarded && guard.Ruleset {
				count = 1
			}
			out[fmt.Sprintf("at%d", i)] = obj{"rules": obj{"totalCount": count},
				"associatedPullRequests": list(func(p *pull) bool { return p.Branch == branch && p.Fork == "" })}
		}
	}
}
