package gitlab

import "github.com/submitqueue/submitqueue/forge"

var _ forge.Forge = (*Forge)(nil)

// Capabilities implements forge.Forge.
func (f *Forge) Capabilities() forge.Capabilities {
	return forge.Capabilities{Reactor: f, Lister: f, Stacker: f, Closer: f, Accustomed: f, Proposer: f, Requirer: f, Stander: f, Teams: f, CI: ci{f}, Starter: ci{f}, Locator: f, Limited: f, Recaller: f}
}
