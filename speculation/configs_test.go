package speculation

import (
	"flag"
	"math/rand/v2"
	"testing"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

var configHistories = flag.String("config-histories", "0:60", "seeds FROM:TO of the histories that TestConfigHistories makes; TO is not among them")

// TestConfigHistories makes histories in which main's configuration changes, and nothing else of
// main, at any moment.
func TestConfigHistories(t *testing.T) {
	soakRange(t, "TestConfigHistories", "config-histories", *configHistories, func(seed int64, log *[]string) (int, string) {
		chance := rand.New(rand.NewPCG(uint64(seed), 0xc0))
		turns, why := lived(log, func() *history {
			return newHistory(stopping{}, func(n int, what string) int { return chance.IntN(n) })
		}, func(h *history) {
			h.begin(1 + h.pick(6, "slots"))
			for range 50 {
				if h.chance(25, "configure") {
					h.configure()
				}
				h.happen()
			}
			h.calm()
			h.audit.final()
		})
		return turns, why
	})
}

// configure changes main's configuration.
func (h *history) configure() {
	h.Helper()
	r := h.rules
	for range 1 + h.pick(3, "settings") {
		switch h.pick(11, "setting") {
		case 0:
			r.Batch, r.BatchMax = []config.Batch{config.BatchOff, config.BatchIndependent, config.BatchRollup}[h.pick(3, "batch")], 2+h.pick(3, "max")
		case 1:
			lanes := drawLanes(h.pick)
			r.Lanes, r.DefaultLane = lanes.Lanes, lanes.DefaultLane
		case 2:
			r.Lanes, r.DefaultLane = nil, ""
		case 3:
			r.Order = []config.Order{config.OrderArrival, config.OrderFinish}[h.pick(2, "order")]
		case 4:
			r.External = []config.External{config.ExternalHold, config.ExternalTrust, ""}[h.pick(3, "external")]
		case 5:
			r.BuildsPerHour = 0
		case 6:
			r.VerifyMain = []string{"", "24h", "10m"}[h.pick(3, "verify")]
		case 7:
			r.RedMain.Revert = []config.RevertPolicy{config.RevertOff, config.RevertPrepare, config.RevertPropose, config.RevertLand}[h.pick(4, "revert")]
		case 8:
			r.Method, r.Methods = "", nil
			h.methods(&r)
		case 9:
			r.Checkbox = config.CheckboxOff
		case 10:
			r.Quotas, r.Projects = nil, nil
		}
	}
	h.rules = r
	h.logf("## configured: %+v", r)
	if h.chance(70, "told") {
		h.tell(queue.MainMoved{Branch: "main"})
	}
}
