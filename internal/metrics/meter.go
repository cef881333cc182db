package metrics

import (
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/restmapping/operator/pkg/engine"
	"github.com/restmapping/operator/pkg/engine/pass"
	"github.com/restmapping/operator/pkg/httpapi"
	"github.com/restmapping/operator/pkg/lifecycle"
	"github.com/restmapping/operator/pkg/rest"
)

const namespace = "restmapping"

// Meter holds the metrics that are counted as things happen.
type Meter struct {
	passes          *prometheus.CounterVec
	passSeconds     *prometheus.HistogramVec
	drift           *prometheus.CounterVec
	requests        *prometheus.CounterVec
	requestSeconds  *prometheus.HistogramVec
	throttleSeconds *prometheus.CounterVec
	held            *prometheus.CounterVec
	lastSuccess     *prometheus.GaugeVec
	corrected       *prometheus.CounterVec
	readySeconds    *prometheus.HistogramVec
	cost            *prometheus.CounterVec
	costErrors      *prometheus.CounterVec
	secretReads     *prometheus.CounterVec
	build           *prometheus.GaugeVec
	now             func() time.Time
	registry        prometheus.Registerer
	registered      []prometheus.Collector

	mu sync.Mutex // guards the field below
	// known are the endpoints that have series, and whether all of theirs have begun.
	known map[string]bool
}

// New makes the metrics and registers them.
func New(registry prometheus.Registerer) *Meter {
	m := &Meter{
		registry: registry, known: map[string]bool{}, now: time.Now, //nolint:forbidigo // the time of the last success, for people
		passes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Name: "passes_total", Help: "Looks at custom resources, by how they ended: Finish, Wait, Retry or Stall.",
		}, []string{"mapping", "end"}),
		passSeconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: namespace, Name: "pass_duration_seconds", Help: "How long a look at a custom resource took.",
			Buckets: prometheus.ExponentialBuckets(0.001, 4, 9),
		}, []string{"mapping"}),
		drift: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Name: "drift_found_total", Help: "Objects found changed outside.",
		}, []string{"mapping"}),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Name: "http_requests_total", Help: "Requests to REST endpoints, by operation and status class; class failed when there was no usable answer.",
		}, []string{"endpoint", "operation", "class"}),
		requestSeconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: namespace, Name: "http_request_duration_seconds", Help: "How long requests to REST endpoints took, without waiting for limits.",
			Buckets: prometheus.ExponentialBuckets(0.002, 3, 9),
		}, []string{"endpoint", "operation"}),
		throttleSeconds: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Name: "http_throttled_seconds_total", Help: "How long requests waited for the endpoint's own limits.",
		}, []string{"endpoint"}),
		held: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Name: "http_held_total", Help: "Requests that were not sent, by what held them: Address, Circuit, Lock or Server.",
		}, []string{"endpoint", "by"}),
		lastSuccess: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Namespace: namespace, Name: "endpoint_last_success_timestamp_seconds", Help: "When the endpoint answered last with a status below 400; 0 for never.",
		}, []string{"endpoint"}),
	}
	m.makeMore()
	m.register(m.passes, m.passSeconds, m.drift, m.requests, m.requestSeconds, m.throttleSeconds, m.held)
	m.register(m.lastSuccess, m.corrected, m.readySeconds, m.cost, m.costErrors, m.secretReads, m.build)
	for _, result := range []string{readFound, readMissing, readClosed, readUnavailable} {
		m.secretReads.WithLabelValues(result).Add(0)
	}
	return m
}

func (m *Meter) makeMore() {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
	}
	m.corrected = counter("drift_corrected_total", "Objects found changed outside that were put back.", "mapping")
	m.cost = counter("expression_cost_total", "What the mapping's expressions have cost, in the units of CEL.", "mapping")
	m.costErrors = counter("expression_errors_total", "Evaluations of the mapping's expressions that gave an error.", "mapping")
	m.secretReads = counter("secret_reads_total", "Reads of keys of Secrets, by result.", "result")
	m.readySeconds = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Namespace: namespace, Name: "ready_duration_seconds", Help: "How long changes of custom resources took to become ready.",
		Buckets: prometheus.ExponentialBuckets(0.1, 3, 9),
	}, []string{"mapping"})
	m.build = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Namespace: namespace, Name: "build_info", Help: "1, with the version of the operator.",
	}, []string{"version"})
}

// Build says which version runs.
func (m *Meter) Build(version string) { m.build.WithLabelValues(version).Set(1) }

func (m *Meter) register(collectors ...prometheus.Collector) {
	m.registry.MustRegister(collectors...)
	m.registered = append(m.registered, collectors...)
}

// Close takes the metrics out of the registry.
func (m *Meter) Close() {
	for _, c := range m.registered {
		m.registry.Unregister(c)
	}
}

// Request counts a request. It fits endpoints.WithObserver.
func (m *Meter) Request(endpoint string, o httpapi.Observation) {
	m.know(endpoint)
	if o.Held != "" {
		m.held.WithLabelValues(endpoint, string(o.Held)).Inc()
		return
	}
	m.requests.WithLabelValues(endpoint, string(o.Operation), class(o)).Inc()
	m.requestSeconds.WithLabelValues(endpoint, string(o.Operation)).Observe((o.Duration - o.Waited).Seconds())
	m.throttleSeconds.WithLabelValues(endpoint).Add(o.Waited.Seconds())
	if o.Failure == "" && o.Status > 0 && o.Status < http.StatusBadRequest {
		m.lastSuccess.WithLabelValues(endpoint).Set(float64(m.now().Unix()))
	}
}

func class(o httpapi.Observation) string {
	if o.Failure != "" || o.Status == 0 {
		return "failed"
	}
	return strconv.Itoa(o.Status/100) + "xx"
}

// Pass counts a pass. It fits engine.Config.Observe.
func (m *Meter) Pass(mapping string, s pass.Summary) {
	if s.Gone {
		return
	}
	m.passes.WithLabelValues(mapping, s.End).Inc()
	m.passSeconds.WithLabelValues(mapping).Observe(s.Duration.Seconds())
	if s.Drifted {
		m.drift.WithLabelValues(mapping).Inc()
	}
	if s.Corrected {
		m.corrected.WithLabelValues(mapping).Inc()
	}
	if s.ReadyAfter > 0 {
		m.readySeconds.WithLabelValues(mapping).Observe(s.ReadyAfter.Seconds())
	}
	m.cost.WithLabelValues(mapping).Add(float64(s.Cost))
	m.costErrors.WithLabelValues(mapping).Add(float64(s.ExpressionErrors))
}

// Watch adds the metrics that are read from the engine when they are asked for, and lets the series of a mapping go
// with it.
func (m *Meter) Watch(e *engine.Engine) {
	m.register(&collector{engine: e})
	e.Subscribe(func(mapping string) {
		if !e.Running(mapping) {
			m.forget(mapping)
			return
		}
		for _, end := range []lifecycle.Action{lifecycle.Finish, lifecycle.Wait, lifecycle.Retry, lifecycle.Stall} {
			m.passes.WithLabelValues(mapping, string(end)).Add(0)
		}
		for _, counter := range m.ofMapping() {
			counter.WithLabelValues(mapping).Add(0)
		}
	})
}

// WatchFlows adds the metrics that are read from the endpoints when they are asked for.
func (m *Meter) WatchFlows(flows func() map[string]httpapi.Flow) {
	m.register(&flowCollector{flows: flows, seen: m.endpoints})
}

// endpoints begins the series of endpoints with zero, and lets those of endpoints that are gone go with them.
func (m *Meter) endpoints(flows map[string]httpapi.Flow) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name := range m.known {
		if _, there := flows[name]; !there {
			m.forgetEndpoint(name)
			delete(m.known, name)
		}
	}
	for name := range flows {
		if m.known[name] {
			continue
		}
		m.known[name] = true
		m.throttleSeconds.WithLabelValues(name).Add(0)
		m.lastSuccess.WithLabelValues(name).Add(0)
		for _, by := range []rest.Hold{rest.HeldByAddress, rest.HeldByCircuit, rest.HeldByLock, rest.HeldByServer} {
			m.held.WithLabelValues(name, string(by)).Add(0)
		}
	}
}

// know notes an endpoint that has series, so that they go when it does.
func (m *Meter) know(endpoint string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, known := m.known[endpoint]; !known {
		m.known[endpoint] = false
	}
}

func (m *Meter) forgetEndpoint(name string) {
	labels := prometheus.Labels{"endpoint": name}
	m.requests.DeletePartialMatch(labels)
	m.requestSeconds.DeletePartialMatch(labels)
	m.throttleSeconds.DeletePartialMatch(labels)
	m.held.DeletePartialMatch(labels)
	m.lastSuccess.DeletePartialMatch(labels)
}

// ofMapping are the counters that have one series for each mapping.
func (m *Meter) ofMapping() []*prometheus.CounterVec {
	return []*prometheus.CounterVec{m.drift, m.corrected, m.cost, m.costErrors}
}

func (m *Meter) forget(mapping string) {
	labels := prometheus.Labels{"mapping": mapping}
	m.passes.DeletePartialMatch(labels)
	m.passSeconds.DeletePartialMatch(labels)
	m.readySeconds.DeletePartialMatch(labels)
	for _, counter := range m.ofMapping() {
		counter.DeletePartialMatch(labels)
	}
}
