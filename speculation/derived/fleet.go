package derived

import (
	"github.com/submitqueue/submitqueue/queue/config"
)

// Equipped reports whether a host that gets builds has the tools that a step is
// verified with, as far as hosts have said. A benched host counts only if no host that
// is not benched has told its tools for the step: otherwise the queue is about to go by
// those tools.
func (fs *Facts) Equipped(st config.Step) bool {
	if st.Environment == "" || !fs.ToldFleet() {
		return true
	}
	alone, others := false, false
	for _, h := range fs.s.Hosts {
		switch {
		case h.Slots == 0:
		case h.Bench != nil:
			alone = alone || h.Has(st)
		case h.Has(st):
			return true
		default:
			others = others || h.ToolsOf(st.Environment).Fingerprint != ""
		}
	}
	return alone && !others
}

// ToldFleet reports whether the queue knows which hosts there are.
func (fs *Facts) ToldFleet() bool {
	for _, h := range fs.s.Hosts {
		if h.Slots > 0 {
			return true
		}
	}
	return false
}
