package metrics_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/restmapping/operator/pkg/httpapi"
	"github.com/restmapping/operator/pkg/rest"
)

// withFlows gives every metric of endpoints a series.
func (b *bench) withFlows() {
	b.meter.Request("e", httpapi.Observation{Operation: rest.Read, Failure: rest.NotSent, Held: rest.HeldByCircuit})
	b.meter.WatchFlows(func() map[string]httpapi.Flow {
		return map[string]httpapi.Flow{"e": {Circuit: httpapi.CircuitOpen, RequestsPerSecond: 12.5, Paused: 3 * time.Second}}
	})
}

func TestWhatAnEndpointGetsIsShown(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.withFlows()
	got := b.series(t)
	for _, want := range []string{
		`endpoint_circuit_open{endpoint=e} 1`,
		`endpoint_requests_per_second{endpoint=e} 12.5`,
		`endpoint_paused_seconds_total{endpoint=e} 3`,
		`http_held_total{by=Circuit,endpoint=e} 1`,
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
