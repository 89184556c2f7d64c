package derived

import (
	"github.com/submitqueue/submitqueue/queue/config"
)

// Permissions returns those in force; with no configuration, the defaults.
func (fs *Facts) Permissions() config.Permissions {
	if fs.s.Main.Config == nil {
		return config.Permissions{}
	}
	return fs.s.Main.Config.Permissions
}
