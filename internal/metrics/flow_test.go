package metrics_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/restmapping/operator/pkg/engine/pass"
	"github.com/restmapping/operator/pkg/httpapi"
	"github.com/restmapping/operator/pkg/rest"
)

// withAll gives every metric a series.
func (b *bench) withAll(t *testing.T) {
	t.Helper()
	b.withFlows()
	b.meter.Build("1.2.3")
	b.meter.Pass("things", pass.Summary{End: "Finish", ReadyAfter: time.Second})
	b.meter.Request("e", httpapi.Observation{Operation: rest.Read, Status: 200})
	b.meter.WatchConditions(conditions(t))
	b.meter.WatchCertificate(certificate(t))
}

// withFlows gives every metric of endpoints a series.
func (b *bench) withFlows() {
	b.meter.Request("e", httpapi.Observation{Operation: rest.Read, Failure: rest.NotSent, Held: rest.HeldByCircuit})
	b.meter.WatchFlows(func() map[string]httpapi.Flow {
		return map[string]httpapi.Flow{"e": {Circuit: httpapi.CircuitOpen, RequestsPerSecond: 12.5, Paused: 3 * time.Second, InFlight: 2, CertificateEnd: time.Unix(1800000000, 0)}}
	})
}

func TestWhatAnEndpointGetsIsShown(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.withFlows()
	b.series(t) // the first scrape makes the series of endpoints that it finds
	got := b.series(t)
	for _, want := range []string{
		`endpoint_circuit_open{endpoint=e} 1`,
		`endpoint_requests_per_second{endpoint=e} 12.5`,
		`endpoint_paused_seconds_total{endpoint=e} 3`,
		`endpoint_in_flight{endpoint=e} 2`,
		`endpoint_certificate_expiry_timestamp_seconds{endpoint=e} 1.8e+09`,
		`endpoint_last_success_timestamp_seconds{endpoint=e} 0`,
		`http_held_total{by=Circuit,endpoint=e} 1`,
		`http_held_total{by=Lock,endpoint=e} 0`,
		`http_throttled_seconds_total{endpoint=e} 0`,
	} {
		if !slices.Contains(got, want) {
			t.Errorf("%s is missing in\n%s", want, strings.Join(got, "\n"))
		}
	}
	for _, line := range got {
		if strings.HasPrefix(line, "http_requests_total") {
			t.Errorf("a request that was not sent counts: %s", line)
		}
	}
}

// An endpoint that is gone leaves nothing, also when a request of its ends after it.
func TestAnEndpointsSeriesGoWithIt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	flows := map[string]httpapi.Flow{"e": {}, "stays": {}}
	b.meter.WatchFlows(func() map[string]httpapi.Flow { return flows })
	answered := httpapi.Observation{Operation: rest.Read, Status: 200}
	b.meter.Request("e", answered)
	b.series(t)
	delete(flows, "e")
	b.series(t)
	b.meter.Request("e", answered)
	b.series(t)
	got := b.series(t)
	if text := strings.Join(got, "\n"); strings.Contains(text, "endpoint=e,") || strings.Contains(text, "endpoint=e}") || !strings.Contains(text, "endpoint=stays") {
		t.Errorf("series\n%s", text)
	}
}
