package config

// Batch says when several changes are built, or landed, together.
type Batch string

// The kinds of batches. A change that lands passes the same gate under each.
const (
	BatchOff         Batch = "off"         // each change has its own builds and its own commit
	BatchIndependent Batch = "independent" // under overload changes without a common target share a build
	BatchRollup      Batch = "rollup"      // besides, under heavy overload, changes that share most of their work land as one merge
)

// DefaultBatchMax is how many changes a batch may hold, where the
// configuration does not say.
const DefaultBatchMax = 4

// checkBatch refuses settings of batches that would have no effect.
func checkBatch(d *document, c *Config) {
	const path = "queue.batch"
	if d.refused[path] {
		return
	}
	switch c.Queue.Batch {
	case "", BatchOff:
		if c.Queue.BatchMax != 0 {
			d.report("queue.batch_max", "queue.batch_max has no effect while queue.batch is off: set queue.batch to independent or rollup, or delete batch_max")
		}
	case BatchIndependent:
		for i, s := range c.Steps {
			if s.Scope != ScopeRepository && !s.NamesTargets() {
				d.report(path, "queue.batch independent has no effect with steps[%d] (%s): its report does not say which target has failed; use report: go-test-json there, or set queue.batch to off", i, quoted(s.Name))
				return
			}
		}
	}
}
