package forgetest

import "time"

// App is the GitHub App of the queue: its key, events and installations.
type App struct {
	server *Server

	// Guarded by Server.mu.
	installs  map[string]*installation // by account in lower case, or everyAccount
	deleted   bool                     // the App was deleted
	manifests map[string]*pending      // by code
	appEvents []string                 // the events of an App made from a manifest
	appOwner  string
}

// web answers over HTTP: REST, GraphQL, git and pages.
type web struct {
	server *Server

	// Guarded by Server.mu.
	hour    time.Time            // the hour of usage
	usage   map[string]int       // counted against the limits, by resource and asker
	created map[string]*Creation // by asker
}

// CI is the CI of a repository, and all that is reported on its commits: check runs,
// statuses, and our own buttons.
type CI struct {
	repo *Repository

	// Guarded by Server.mu.
	runs     []*run
	ci       *ci
	statuses []*status // in order of creation
	off      bool      // GitHub Actions is switched off
}

// issues are a repository's pull requests and issues with their comments. The caller
// of a method holds Server.mu.
type issues struct{ repo *Repository }

// store is a repository's git side: refs, pushes, and their consequences.
type store struct{ repo *Repository }

// rules tell the permissions in a repository, and the requirements that a pull
// request lacks.
type rules struct{ repo *Repository }

// shapes are a repository's answers and webhooks in GitHub's shapes.
type shapes struct{ repo *Repository }

// assemble gives a repository its parts.
func (r *Repository) assemble() *Repository {
	r.CI, r.issues, r.store, r.law, r.shapes = &CI{repo: r}, &issues{r}, &store{r}, &rules{r}, &shapes{r}
	return r
}
