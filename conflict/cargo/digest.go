package cargo

import (
	"maps"
	"slices"
)

// digest digests the parts of the manifest, by the nodes that each part influences.
func (m *manifest) digest(t table) {
	built, tested, rest := table{}, table{}, table{}
	for k, v := range t {
		if !m.isPackage {
			rest[k] = v // it is about no single package
		}
		switch {
		case k == "workspace":
			rest[k] = without(tableOf(t, k), "members", "exclude", "dependencies", "package", "lints")
		case slices.Contains([]string{"profile", "patch", "replace", "cargo-features"}, k):
			rest[k] = v
			if k == "cargo-features" {
				built[k] = v
			}
		case slices.Contains(devTables, k) || k == "test" || k == "bench" || k == "example":
			tested[k] = v
		case k == "target":
			lib, dev := table{}, table{}
			for platform := range tableOf(t, k) {
				all := tableOf(tableOf(t, k), platform)
				lib[platform] = without(all, devTables...)
				dev[platform] = without(all, normalTables...)
			}
			built[k], tested[k] = lib, dev
		default:
			built[k] = v
		}
	}
	m.built, m.tested, m.rest = digestOf(built), digestOf(tested), digestOf(rest)
}

func without(t table, keys ...string) table {
	t = maps.Clone(t)
	for _, k := range keys {
		delete(t, k)
	}
	return t
}
