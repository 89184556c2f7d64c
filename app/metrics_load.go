package app

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/submitqueue/submitqueue/workers"
)

// loads exports how much work there is for runners, for a program that scales their number.
type loads struct {
	of            func() map[string]workers.Load
	waiting, busy *prometheus.Desc
}

// ShowLoads shows how many parts of builds wait for runners and how many are running,
// by what their steps ask for (workers.Pool.Loads), as submitqueue_runner_waiting and
// submitqueue_runner_busy.
func (m *Metrics) ShowLoads(of func() map[string]workers.Load) error {
	desc := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc(namespace+"_runner_"+name, help, []string{"tags"}, nil)
	}
	return m.Register(loads{of, desc("waiting", "Parts of builds that wait for a runner, by what their steps ask for: tags, os:NAME, arch:NAME."),
		desc("busy", "Parts of builds that runners have, by what their steps ask for.")})
}

// Describe implements prometheus.Collector.
func (l loads) Describe(to chan<- *prometheus.Desc) { to <- l.waiting; to <- l.busy }

// Collect implements prometheus.Collector.
func (l loads) Collect(to chan<- prometheus.Metric) {
	for asks, x := range l.of() {
		to <- prometheus.MustNewConstMetric(l.waiting, prometheus.GaugeValue, float64(x.Waiting), asks)
		to <- prometheus.MustNewConstMetric(l.busy, prometheus.GaugeValue, float64(x.Busy), asks)
	}
}
