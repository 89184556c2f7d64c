package github

import "github.com/submitqueue/submitqueue/forge"

var _ forge.Forge = (*Forge)(nil)

// Capabilities implements forge.Forge: all but what a repository without a host needs.
func (f *Forge) Capabilities() forge.Capabilities {
	return forge.Capabilities{Reactor: f, Lister: f, Stacker: f, Closer: f, Merger: f, Proposer: f, Requirer: f, Stander: f,
		Teams: f, CI: ci{f}, Locator: f, Access: f, Redeliverer: f, Limited: f, Recaller: f}
}
