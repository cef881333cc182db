package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/restmapping/operator/pkg/httpapi"
)

// flowCollector reads the endpoints when it is scraped, so that one that is gone leaves no series.
type flowCollector struct {
	flows func() map[string]httpapi.Flow
	// seen is told which endpoints there are.
	seen func(map[string]httpapi.Flow)
}

type flowDescriptions struct{ open, rate, paused, inFlight, certificate *prometheus.Desc }

func (d flowDescriptions) all() []*prometheus.Desc {
	return []*prometheus.Desc{d.open, d.rate, d.paused, d.inFlight, d.certificate}
}

func describeFlows() flowDescriptions {
	desc := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc(prometheus.BuildFQName(namespace, "", name), help, []string{"endpoint"}, nil)
	}
	return flowDescriptions{
		open:        desc("endpoint_circuit_open", "1 while nothing is sent to the endpoint because it failed too often in a row, or one request tries how it does."),
		rate:        desc("endpoint_requests_per_second", "The rate that the endpoint gets now: its limit, or less while the server asks for less."),
		paused:      desc("endpoint_paused_seconds_total", "How long the server asked, with 429 or 503, that nothing be sent."),
		inFlight:    desc("endpoint_in_flight", "Requests to the endpoint that are under way."),
		certificate: desc("endpoint_certificate_expiry_timestamp_seconds", "When the client certificate for the endpoint ends."),
	}
}

// Describe implements prometheus.Collector.
func (c *flowCollector) Describe(out chan<- *prometheus.Desc) {
	d := describeFlows()
	for _, desc := range d.all() {
		out <- desc
	}
}

// Collect implements prometheus.Collector.
func (c *flowCollector) Collect(out chan<- prometheus.Metric) {
	d := describeFlows()
	flows := c.flows()
	c.seen(flows)
	for name, flow := range flows {
		open := 0.0
		if flow.Circuit != httpapi.CircuitClosed {
			open = 1
		}
		out <- prometheus.MustNewConstMetric(d.open, prometheus.GaugeValue, open, name)
		out <- prometheus.MustNewConstMetric(d.rate, prometheus.GaugeValue, flow.RequestsPerSecond, name)
		out <- prometheus.MustNewConstMetric(d.paused, prometheus.CounterValue, flow.Paused.Seconds(), name)
		out <- prometheus.MustNewConstMetric(d.inFlight, prometheus.GaugeValue, float64(flow.InFlight), name)
		if !flow.CertificateEnd.IsZero() {
			out <- prometheus.MustNewConstMetric(d.certificate, prometheus.GaugeValue, float64(flow.CertificateEnd.Unix()), name)
		}
	}
}
