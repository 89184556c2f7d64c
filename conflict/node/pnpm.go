package node

import (
	"cmp"
	"fmt"
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
		// The YAML library is not ours, and what it reads may be hostile.
		if p := recover(); p != nil {
			w, err = nil, fmt.Errorf("%s: %v", file, p)
		}
	}()
	var m mapping
	if err := yaml.Unmarshal(data, (*map[string]any)(&m)); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	w = &pnpmWorkspace{catalogs: map[string]mapping{"default": m.sub("catalog")}, facts: m.digest("catalog", "catalogs")}
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

// catalogued returns what a dependency asks for, looked up in the catalogs.
func (w *pnpmWorkspace) catalogued(name, spec string) string {
	catalog, ok := strings.CutPrefix(spec, "catalog:")
	if !ok || w == nil {
		return spec
	}
	return cmp.Or(w.catalogs[cmp.Or(catalog, "default")].text(name), spec)
}
