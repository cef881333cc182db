package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/restmapping/operator/pkg/engine"
)

// collector reads the engine when it is scraped, so that a mapping that is gone leaves no series.
type collector struct{ engine *engine.Engine }

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(prometheus.BuildFQName(namespace, "", name), help, append([]string{"mapping"}, labels...), nil)
}

type descriptions struct{ objects, queued, running, synced, watches, bytes *prometheus.Desc }

func (d descriptions) all() []*prometheus.Desc {
	return []*prometheus.Desc{d.objects, d.queued, d.running, d.synced, d.watches, d.bytes}
}

func describeAll() descriptions {
	return descriptions{
		objects: describe("objects", "Custom resources, by state: total, ready, stalled.", "state"),
		queued:  describe("queue_ready", "Custom resources that wait for a worker."),
		running: describe("queue_running", "Custom resources that are being worked on."),
		synced:  describe("watch_synced", "1 while the mapping's custom resources are all known and watched."),
		watches: describe("informers", "Informers that watch the mapping's custom resources."),
		bytes:   describe("cache_bytes", "Bytes of the mapping's custom resources that are kept in memory."),
	}
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(out chan<- *prometheus.Desc) {
	d := describeAll()
	for _, desc := range d.all() {
		out <- desc
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	d := describeAll()
	for _, name := range c.engine.Names() {
		state, ok := c.engine.State(name)
		if !ok {
			continue
		}
		gauge := func(desc *prometheus.Desc, value int, labels ...string) {
			out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(value), append([]string{name}, labels...)...)
		}
		gauge(d.objects, state.Objects, "total")
		gauge(d.objects, state.Ready, "ready")
		gauge(d.objects, state.Stalled, "stalled")
		gauge(d.queued, state.Queue.Ready)
		gauge(d.running, state.Queue.Running)
		gauge(d.synced, synced(state))
		gauge(d.watches, state.Watches)
		gauge(d.bytes, state.Bytes)
	}
}

func synced(s engine.State) int {
	if s.Synced && s.WatchError == nil {
		return 1
	}
	return 0
}
