package node

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/submitqueue/submitqueue/queue"
)

// pnpmWorkspace is pnpm-workspace.yaml.
type pnpmWorkspace struct {
	packages []string
	catalogs map[string]mapping // "default" and named ones
	facts    queue.Digest       // of all settings but the catalogs
}

func parsePnpmWorkspace(file string, data []byte) (w *pnpmWorkspace, err error) {
	defer func() {
		// The YAML library is not ours, and its input may be hostile.
		if p := recover(); p != nil {
			w, err = nil, fmt.Errorf("%s: %v", file, p)
		}
	}()
	var m mapping
	if err := yaml.Unmarshal(data, (*map[string]any)(&m)); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	w = &pnpmWorkspace{catalogs: map[string]mapping{"default": m.sub("catalog")}, facts: m.digest("catalog", "catalogs")}
	if !soundCatalogs(m) {
		w.facts = m.digest()
	}
	list, _ := m["packages"].([]any)
	for _, p := range list {
		w.packages = append(w.packages, fmt.Sprint(p))
	}
	for name := range m.sub("catalogs") {
		if name != "default" || w.catalogs[name] == nil {
			w.catalogs[name] = m.sub("catalogs").sub(name)
		}
	}
	return w, nil
}

// soundCatalogs reports whether pnpm accepts the catalogs. If one entry is no
// string, such as 5 for '5', or if there are two default catalogs, pnpm refuses
// to do anything.
func soundCatalogs(m mapping) bool {
	named, ok := m["catalogs"].(map[string]any)
	if m["catalogs"] != nil && !ok || m["catalog"] != nil && named["default"] != nil {
		return false
	}
	for _, catalog := range append(slices.Collect(maps.Values(named)), m["catalog"]) {
		entries, ok := catalog.(map[string]any)
		if catalog != nil && !ok {
			return false
		}
		for _, v := range entries {
			if _, ok := v.(string); !ok {
				return false
			}
		}
	}
	return true
}

// entryOf is an entry of a catalog.
type entryOf struct{ catalog, name string }

func (e entryOf) compare(f entryOf) int {
	return cmp.Or(strings.Compare(e.catalog, f.catalog), strings.Compare(e.name, f.name))
}

// inCatalog returns the entry of a catalog in which a dependency is looked up, if there is
// one.
func inCatalog(f field) (entryOf, bool) {
	catalog, ok := strings.CutPrefix(f.value, "catalog:")
	return entryOf{cmp.Or(catalog, "default"), f.key}, ok
}

// catalogued returns the specifier of a dependency, looked up in the catalogs.
func (w *pnpmWorkspace) catalogued(f field) string {
	at, ok := inCatalog(f)
	if !ok || w == nil {
		return f.value
	}
	return cmp.Or(w.catalogs[at.catalog].text(at.name), f.value)
}
