package app

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/submitqueue/submitqueue/app/notify"
	"github.com/submitqueue/submitqueue/queue"
)

// Metrics are the server's figures for Prometheus, on a separate registry. All methods
// may be called at the same time.
type Metrics struct {
	registry *prometheus.Registry

	webhooks    *prometheus.CounterVec
	spool       prometheus.Gauge
	storeErrors *prometheus.CounterVec
	panics      prometheus.Counter
	turnPanics  *prometheus.CounterVec
	refused     prometheus.Counter

	turns    *prometheus.HistogramVec
	puts     *prometheus.CounterVec
	actions  *prometheus.HistogramVec
	builds   *prometheus.HistogramVec
	verdicts *prometheus.CounterVec
	parks    *prometheus.CounterVec
	healings *prometheus.CounterVec
	notified *prometheus.CounterVec

	caches     *prometheus.CounterVec
	cacheBytes *prometheus.CounterVec

	turnaround *prometheus.HistogramVec
	changes    *prometheus.GaugeVec
	slots      *prometheus.GaugeVec
	slotsUsed  *prometheus.GaugeVec
	unproven   *prometheus.GaugeVec
	red        *prometheus.GaugeVec
	paused     *prometheus.GaugeVec
	hosts      *prometheus.GaugeVec

	limits *limits
}

// NewMetrics returns metrics that nothing has been recorded in.
func NewMetrics() *Metrics {
	seconds := func(from, factor float64, n int) []float64 { return prometheus.ExponentialBuckets(from, factor, n) }
	m := &Metrics{
		registry:    prometheus.NewRegistry(),
		webhooks:    counters("webhooks_total", "Webhooks by the forge's name of the event and by what came of them.", "event", "result"),
		spool:       prometheus.NewGauge(prometheus.GaugeOpts{Namespace: namespace, Name: "spool_length", Help: "Deliveries on disk that the store has not taken yet."}),
		storeErrors: counters("store_errors_total", "Failed calls of the store (Redis).", "operation"),
		refused:     prometheus.NewCounter(prometheus.CounterOpts{Namespace: namespace, Name: "http_wrong_tokens_total", Help: "Requests with a token or a link that does not count."}),
		panics:      prometheus.NewCounter(prometheus.CounterOpts{Namespace: namespace, Name: "http_panics_total", Help: "Requests whose handler panicked."}),

		turnPanics: counters("turn_panics_total", "Turns of a queue that panicked: a fault of SubmitQueue, after which the queue begins again from what is stored.", "queue"),

		turns:    histograms("turn_duration_seconds", "Turns of a queue: load to commit.", seconds(.001, 2, 14), "queue"),
		puts:     counters("turn_records_total", "Records that turns have written.", "queue"),
		actions:  histograms("action_duration_seconds", "Actions by task and by what came of them.", seconds(.005, 3, 12), "task", "result"),
		builds:   histograms("build_duration_seconds", "Builds by outcome.", seconds(5, 2, 12), "queue", "outcome"),
		verdicts: counters("verdicts_total", "Changes by verdict and reason: landed, rejected, cancelled, nothing-to-land.", "queue", "verdict", "reason"),
		parks:    counters("parks_total", "Changes parked, by reason.", "queue", "reason"),
		healings: counters("mirror_healings_total", "Suspicions of damage to the mirror, by what came of them: healed (it was made again), failed, sound.", "queue", "result"),

		notified: counters("notifications_total", "Tries to send a notification, by what came of them: sent, failed (it is tried again), dropped.", "queue", "target", "result"),

		caches:     counters("caches_total", "Caches of steps on the server's runners, by what came of them: hit, miss, skipped (the build runs without), and after the steps kept, lost.", "result"),
		cacheBytes: counters("cache_bytes_total", "Bytes of disk of caches that were put into checkouts (hit), or away (kept).", "result"),

		turnaround: histograms("turnaround_seconds", "From the command to the verdict.", seconds(15, 2, 14), "queue", "verdict"),
		changes:    gauges("changes", "Changes without a verdict, by phase.", "queue", "phase"),
		slots:      gauges("slots", "Builds that can run at once.", "queue"),
		slotsUsed:  gauges("slots_used", "Builds that run now.", "queue"),
		unproven:   gauges("main_unproven_keys", "Keys of main that no build has passed.", "queue"),
		red:        gauges("main_red_targets", "Targets of main whose failure is decisive.", "queue"),
		hosts:      gauges("hosts", "Hosts that run builds, by state: used, benched, away.", "queue", "state"),
		paused:     gauges("paused", "1 while the queue is paused.", "queue"),
	}
	m.limits = &limits{now: time.Now}
	m.registry.MustRegister(m.limits, m.webhooks, m.spool, m.storeErrors, m.panics, m.turnPanics, m.refused, m.turns, m.puts, m.actions, m.builds,
		m.verdicts, m.parks, m.healings, m.notified, m.caches, m.cacheBytes, m.turnaround, m.changes, m.slots, m.slotsUsed, m.unproven, m.red, m.paused, m.hosts,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

const namespace = "submitqueue"

func counters(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
}

func gauges(name, help string, labels ...string) *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help}, labels)
}

func histograms(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: buckets}, labels)
}

// Handler serves the metrics in Prometheus's format.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// Register adds another package's collector, e.g. of the runner pool.
func (m *Metrics) Register(c prometheus.Collector) error { return m.registry.Register(c) }

// RecordWebhook counts a delivery by the forge's name of its event and by what
// came of it.
func (m *Metrics) RecordWebhook(event, result string) {
	m.webhooks.WithLabelValues(event, result).Inc()
}

// SetSpool shows how many deliveries wait on disk for the store.
func (m *Metrics) SetSpool(entries int) { m.spool.Set(float64(entries)) }

// RecordStoreError counts a failed call of the store, by operation: append,
// load, inbox, commit, acquire; lost is of acknowledged writes.
func (m *Metrics) RecordStoreError(operation string) {
	m.storeErrors.WithLabelValues(operation).Inc()
}

// RecordTurn counts a committed turn, how long it took and how many records it
// wrote.
func (m *Metrics) RecordTurn(queue string, took time.Duration, puts int) {
	m.turns.WithLabelValues(queue).Observe(took.Seconds())
	m.puts.WithLabelValues(queue).Add(float64(puts))
}

// RecordAction counts an action by its task (queue.TaskName) and by what came
// of it: the name of the resulting event, or "error".
func (m *Metrics) RecordAction(task, result string, took time.Duration) {
	m.actions.WithLabelValues(task, result).Observe(took.Seconds())
}

// RecordBuild counts a build that has ended and how long it ran.
func (m *Metrics) RecordBuild(name string, outcome queue.JobOutcome, took time.Duration) {
	m.builds.WithLabelValues(name, string(outcome)).Observe(took.Seconds())
}

// RecordVerdict counts a change that got its verdict, and its turnaround. Call
// it once per change, in the turn that decided it.
func (m *Metrics) RecordVerdict(name string, c queue.Change) {
	m.verdicts.WithLabelValues(name, string(c.Phase), string(c.Reason.Code)).Inc()
	m.turnaround.WithLabelValues(name, string(c.Phase)).Observe(c.Decided.Sub(c.Arrival).Seconds())
}

// RecordPark counts a change that was parked, by reason.
func (m *Metrics) RecordPark(name string, reason queue.ReasonCode) {
	m.parks.WithLabelValues(name, string(reason)).Inc()
}

// RecordHealing counts a suspicion of damage to a queue's mirror, by what came of
// it: healed, failed, sound.
func (m *Metrics) RecordHealing(name, result string) {
	m.healings.WithLabelValues(name, result).Inc()
}

// RecordNotification counts a try to send a notification, by what came of it.
func (m *Metrics) RecordNotification(name, target string, r notify.Result) {
	m.notified.WithLabelValues(name, target, string(r)).Inc()
}

// RecordCache counts what came of a cache of a step: hit, miss, skipped, kept, lost.
func (m *Metrics) RecordCache(result string, bytes int64) {
	m.caches.WithLabelValues(result).Inc()
	m.cacheBytes.WithLabelValues(result).Add(float64(bytes))
}

// SetQueue shows a queue as it stands: its length by phase, its slots, and how
// its main is.
func (m *Metrics) SetQueue(v queue.QueueView) {
	count := map[queue.Phase]int{}
	for _, c := range v.Order {
		count[c.Change.Phase]++
	}
	for _, p := range []queue.Phase{queue.Analyzing, queue.Pending, queue.Landing, queue.Parked} {
		m.changes.WithLabelValues(v.Name, string(p)).Set(float64(count[p]))
	}
	m.slots.WithLabelValues(v.Name).Set(float64(v.Slots))
	m.slotsUsed.WithLabelValues(v.Name).Set(float64(v.Running()))
	m.unproven.WithLabelValues(v.Name).Set(float64(v.Unproven))
	m.red.WithLabelValues(v.Name).Set(float64(len(v.Red)))
	hosts := map[string]int{}
	for _, h := range v.Hosts {
		hosts[stateOfHost(h)]++
	}
	for _, state := range []string{hostUsed, hostBenched, hostAway} {
		m.hosts.WithLabelValues(v.Name, state).Set(float64(hosts[state]))
	}
	paused := 0.0
	if v.Main.Paused != nil {
		paused = 1
	}
	m.paused.WithLabelValues(v.Name).Set(paused)
}

// EndQueue ends what SetQueue shows of a queue: this server does not know any more how the
// queue stands. What it has counted stays.
func (m *Metrics) EndQueue(name string) {
	for _, of := range []*prometheus.GaugeVec{m.changes, m.slots, m.slotsUsed, m.unproven, m.red, m.paused, m.hosts} {
		of.DeletePartialMatch(prometheus.Labels{"queue": name})
	}
}

// Forget ends the series of a queue that has another name by now. The counters start at
// zero under the new name.
func (m *Metrics) Forget(name string) {
	m.EndQueue(name)
	for _, of := range []interface {
		DeletePartialMatch(labels prometheus.Labels) int
	}{m.turns, m.puts, m.builds, m.verdicts, m.parks, m.healings, m.turnaround} {
		of.DeletePartialMatch(prometheus.Labels{"queue": name})
	}
}

// States of a host in metrics.
const (
	hostUsed    = "used"
	hostBenched = "benched"
	hostAway    = "away"
)

func stateOfHost(h queue.HostView) string {
	switch {
	case h.Bench != nil:
		return hostBenched
	case h.Slots == 0:
		return hostAway
	}
	return hostUsed
}
