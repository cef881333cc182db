package metrics

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/restmapping/operator/pkg/engine"
	"github.com/restmapping/operator/pkg/engine/pass"
	"github.com/restmapping/operator/pkg/httpapi"
	"github.com/restmapping/operator/pkg/lifecycle"
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
	registry        prometheus.Registerer
	registered      []prometheus.Collector
}

// New makes the metrics and registers them.
func New(registry prometheus.Registerer) *Meter {
	m := &Meter{
		registry: registry,
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
			Namespace: namespace, Name: "http_held_total", Help: "Requests that were not sent, by what held them: Address, Circuit or Server.",
		}, []string{"endpoint", "by"}),
	}
	m.register(m.passes, m.passSeconds, m.drift, m.requests, m.requestSeconds, m.throttleSeconds, m.held)
	return m
}

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
	if o.Held != "" {
		m.held.WithLabelValues(endpoint, string(o.Held)).Inc()
		return
	}
	m.requests.WithLabelValues(endpoint, string(o.Operation), class(o)).Inc()
	m.requestSeconds.WithLabelValues(endpoint, string(o.Operation)).Observe((o.Duration - o.Waited).Seconds())
	m.throttleSeconds.WithLabelValues(endpoint).Add(o.Waited.Seconds())
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
		m.drift.WithLabelValues(mapping).Add(0)
	})
}

// WatchFlows adds the metrics that are read from the endpoints when they are asked for.
func (m *Meter) WatchFlows(flows func() map[string]httpapi.Flow) {
	m.register(&flowCollector{flows: flows})
}

func (m *Meter) forget(mapping string) {
	labels := prometheus.Labels{"mapping": mapping}
	m.passes.DeletePartialMatch(labels)
	m.passSeconds.DeletePartialMatch(labels)
	m.drift.DeletePartialMatch(labels)
}
