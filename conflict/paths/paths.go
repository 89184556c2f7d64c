// Package paths analyzes a tree by areas: sets of files that a maintainer has
// written down as globs, with the areas that each of them needs. It suits any
// language and is as good as the areas that are written.
//
//	analysis:
//	  analyzer: paths
//	  areas:
//	    - {name: api, files: ["api/**"]}
//	    - {name: web, files: ["web/**"], needs: [api]}
//
// A change to api/v1.proto changes the hashes of api and web; one to
// web/index.html that of web only. Two changes to api conflict; a change to api
// and one to web do, too, as both change web. A file that several areas match
// belongs to all of them; one that no area matches follows `unowned`.
package paths

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/internal/layout"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/queue/digest"
)

// Name is the analyzer's name in the configuration.
const Name = "paths"

// Analyzer is the analyzer of a list of areas.
type Analyzer struct {
	areas []config.Area
	id    string

	mu    sync.Mutex
	known map[string][]int // path → areas; a function of the path alone
}

// keptPaths bounds how many paths are remembered; beyond it all are forgotten.
const keptPaths = 200_000

// claims returns the areas that a file belongs to.
func (a *Analyzer) claims(path string) []int {
	if at, ok := a.known[path]; ok {
		return at
	}
	var at []int
	for i, area := range a.areas {
		if matches(area.Files, path) {
			at = append(at, i)
		}
	}
	if len(a.known) >= keptPaths {
		clear(a.known)
	}
	a.known[path] = at
	return at
}

var _ conflict.Analyzer = (*Analyzer)(nil)

// New returns the analyzer of the given areas. An error names the field that
// is wrong; areas that need one another in a circle are allowed and change
// together.
func New(areas []config.Area) (*Analyzer, error) {
	if len(areas) == 0 {
		return nil, fmt.Errorf("analysis.areas: the analyzer %s needs at least one area", Name)
	}
	index := make(map[string]int, len(areas))
	for i, a := range areas {
		field := fmt.Sprintf("analysis.areas[%d]", i)
		switch prior, twice := index[a.Name]; {
		case !validName(a.Name):
			return nil, fmt.Errorf("%s.name: %q is empty, reserved or not made of letters, digits and ._/- only", field, a.Name)
		case twice:
			return nil, fmt.Errorf("%s.name: %q is the name of analysis.areas[%d] already", field, a.Name, prior)
		case len(a.Files) == 0:
			return nil, fmt.Errorf("%s.files: %q has no globs", field, a.Name)
		}
		for j, g := range a.Files {
			if !doublestar.ValidatePattern(g) {
				return nil, fmt.Errorf("%s.files[%d]: %q is not a valid glob", field, j, g)
			}
		}
		index[a.Name] = i
	}
	fields := []string{"paths1"}
	for i, a := range areas {
		for j, n := range a.Needs {
			if _, ok := index[n]; !ok {
				return nil, fmt.Errorf("analysis.areas[%d].needs[%d]: there is no area %q", i, j, n)
			}
			if n == a.Name {
				return nil, fmt.Errorf("analysis.areas[%d].needs[%d]: %q needs itself", i, j, n)
			}
		}
		fields = append(fields, string(digest.Of(append([]string{a.Name}, a.Files...)...)), string(digest.Of(a.Needs...)))
	}
	return &Analyzer{areas: areas, known: map[string][]int{}, id: Name + "/1 " + string(digest.Of(fields...))}, nil
}

// validName reports whether a target of this name can stand in a command and
// in messages as it is.
func validName(name string) bool {
	for _, r := range name {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
		case r == '.', r == '_', r == '/', r == '-':
		default:
			return false
		}
	}
	return name != "" && name[0] != '-' && name != config.TargetTree && name != config.TargetUnowned
}

// ID returns name and version with the digest of the areas.
func (a *Analyzer) ID() string { return a.id }

// Graph returns a target for each area, those without files included.
func (a *Analyzer) Graph(ctx context.Context, t conflict.Tree) (*conflict.Graph, error) {
	files, err := t.Files(ctx)
	if err != nil {
		return nil, err
	}
	g := &conflict.Graph{Targets: make([]conflict.Target, len(a.areas))}
	for i, area := range a.areas {
		g.Targets[i] = conflict.Target{Name: area.Name, Kind: "area", Deps: area.Needs,
			Attrs: digest.Of(append([]string{"area1"}, area.Files...)...)}
	}
	linked := a.divide(g, files)
	if len(linked) == 0 {
		return g, nil
	}
	// A link is read as what it leads to, no matter which target has that.
	l := layout.New(files)
	for _, i := range linked {
		behind, err := l.Behind(g.Targets[i].Sources, func(link conflict.Entry) (string, error) {
			to, err := t.Blob(ctx, link.OID)
			return string(to), err
		})
		if err != nil {
			return nil, err
		}
		g.Targets[i].Inputs = behind
	}
	return g, nil
}

// divide gives each area its files, and returns the areas that have links.
func (a *Analyzer) divide(g *conflict.Graph, files []conflict.Entry) (linked []int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, e := range files {
		for _, i := range a.claims(e.Path) {
			g.Targets[i].Sources = append(g.Targets[i].Sources, e)
			if e.Mode == conflict.ModeLink && !slices.Contains(linked, i) {
				linked = append(linked, i)
			}
		}
	}
	return linked
}

func matches(globs []string, file string) bool {
	for _, g := range globs {
		if doublestar.MatchUnvalidated(g, file) {
			return true
		}
	}
	return false
}
