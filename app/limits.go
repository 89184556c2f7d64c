package app

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/submitqueue/submitqueue/forge"
)

// Waits says which work the forge's limits hold up at the moment, and until when, or "".
func (o *Owner) Waits() string {
	return cmp.Or(o.waitsToAsk(), o.waitsToPush())
}

// waitsToPush says until when builds are not pushed, or "".
func (o *Owner) waitsToPush() string {
	h := o.Mirror.Remotes.Held()
	if !h.Until.After(o.Now()) {
		return ""
	}
	return fmt.Sprintf("builds are pushed to the forge's CI again at %s: it recommends at most %d pushes a minute to a repository; landings go on",
		h.Until.UTC().Format("15:04:05 MST"), h.Pushes)
}

// waitsToAsk says why the forge is not asked, and until when, or "".
func (o *Owner) waitsToAsk() string {
	f := o.Forge.Capabilities().Limited
	if f == nil {
		return ""
	}
	l := f.Limits()
	if wait := l.Until.Sub(o.Now()); wait <= 0 {
		return ""
	}
	return fmt.Sprintf("the forge takes no requests of %s until %s (%s); reads and comments wait, builds and landings go on",
		l.Account, l.Until.UTC().Format("15:04:05 MST"), l.Why)
}

// limits shows how much of the forges' limits is used. Repositories that share a limit
// are shown as one.
type limits struct {
	now func() time.Time

	mu   sync.Mutex
	from []*forge.Limited
}

// watchLimits shows the limits of a forge until the function that it returns is
// called.
func (m *Metrics) watchLimits(f forge.Limited) (end func()) {
	m.limits.mu.Lock()
	defer m.limits.mu.Unlock()
	m.limits.from = append(m.limits.from, &f)
	return func() {
		m.limits.mu.Lock()
		defer m.limits.mu.Unlock()
		m.limits.from = slices.DeleteFunc(m.limits.from, func(one *forge.Limited) bool { return one == &f })
	}
}

func limitDesc(name, help string) *prometheus.Desc {
	return prometheus.NewDesc(prometheus.BuildFQName(namespace, "forge", name), help, []string{"account"}, nil)
}

var (
	limitTotal     = limitDesc("limit", "Requests that the forge allows in the present period.")
	limitRemaining = limitDesc("limit_remaining", "Of these, those that are left.")
	limitWaits     = limitDesc("waits_seconds", "How long nothing may be asked of the forge, because it said so.")
	limitAsked     = limitDesc("requests_total", "Requests to the forge.")
	limitRefused   = limitDesc("refused_total", "Requests that the forge refused because there were too many.")
)

// Describe implements prometheus.Collector.
func (l *limits) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{limitTotal, limitRemaining, limitWaits, limitAsked, limitRefused} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (l *limits) Collect(out chan<- prometheus.Metric) {
	l.mu.Lock()
	defer l.mu.Unlock()
	seen := map[string]bool{}
	for _, f := range l.from {
		x := (*f).Limits()
		if x.Account == "" || seen[x.Account] {
			continue
		}
		seen[x.Account] = true
		show := func(d *prometheus.Desc, kind prometheus.ValueType, v float64) {
			out <- prometheus.MustNewConstMetric(d, kind, v, x.Account)
		}
		if x.Limit > 0 {
			show(limitTotal, prometheus.GaugeValue, float64(x.Limit))
			show(limitRemaining, prometheus.GaugeValue, float64(x.Remaining))
		}
		show(limitWaits, prometheus.GaugeValue, max(0, x.Until.Sub(l.now()).Seconds()))
		show(limitAsked, prometheus.CounterValue, float64(x.Asked))
		show(limitRefused, prometheus.CounterValue, float64(x.Refused))
	}
}
