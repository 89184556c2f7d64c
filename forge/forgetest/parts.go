package forgetest

import "time"

// App is the GitHub App of the queue: its key, events and installations.
type App struct {
	server *Server

	// Guarded by Server.mu.
	installs  map[string]*installation // by account in lower case, or everyAccount
	deleted   bool                     // the App is
	manifests map[string]*pending      // by code
	appEvents []string                 // of an App made from a manifest
	appOwner  string
}

// web answers over HTTP: REST, GraphQL, git and pages.
type web struct {
	server *Server

	// Guarded by Server.mu.
	hour    time.Time            // to which usage belongs
	usage   map[string]int       // counted against the limits, by what is asked and who asks
	created map[string]*Creation // by who asks
}

// CI is the CI of a repository, and all that is reported on its commits: check runs,
// statuses, and the buttons of our own.
type CI struct {
	repo *Repository

	// Guarded by Server.mu.
	runs     []*run
	ci       *ci
	statuses []*status // in order of creation
	off      bool      // GitHub Actions is switched off
}

// issues are a repository's pull requests and issues with all that is said there. The
// caller of a method holds Server.mu.
type issues struct{ repo *Repository }

// store is a repository's git side: refs, pushes, and what follows from them.
type store struct{ repo *Repository }

// rules are who may do what in a repository, and what a pull request lacks.
type rules struct{ repo *Repository }

// shapes are a repository's answers and webhooks in GitHub's shapes.
type shapes struct{ repo *Repository }

// assemble gives a repository its parts.
func (r *Repository) assemble() *Repository {
	r.CI, r.issues, r.store, r.law, r.shapes = &CI{repo: r}, &issues{r}, &store{r}, &rules{r}, &shapes{r}
	return r
}
