package controlplane

import (
	"bytes"
	"context"
	"fmt"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"k8s.io/client-go/discovery"
)

// Call is one kind of request as kube-apiserver counts it.
type Call struct {
	// Verb is GET, LIST, WATCH, POST, PUT, PATCH, APPLY, DELETE or DELETECOLLECTION.
	Verb string
	// Group and Resource name what was asked for, for example "" and "secrets".
	Group, Resource string
	// Subresource is "status", "token" and so on, or empty.
	Subresource string
}

// Writes says whether the call changes something.
func (c Call) Writes() bool {
	switch c.Verb {
	case "POST", "PUT", "PATCH", "APPLY", "DELETE", "DELETECOLLECTION":
		return true
	}
	return false
}

// Counters says how often each call was answered since kube-apiserver started, whatever the answer was. A WATCH counts
// when it ends.
type Counters map[Call]int

// Since returns what was counted after an earlier reading. Calls that were not made are not in it.
func (c Counters) Since(earlier Counters) Counters {
	difference := Counters{}
	for call, n := range c {
		if n -= earlier[call]; n != 0 {
			difference[call] = n
		}
	}
	return difference
}

// Reads counts GET and LIST requests for a resource and its subresources.
func (c Counters) Reads(group, resource string) int {
	return c.sum(func(call Call) bool {
		return call.Group == group && call.Resource == resource && (call.Verb == "GET" || call.Verb == "LIST")
	})
}

// Writes counts the requests that change a resource or its subresources.
func (c Counters) Writes(group, resource string) int {
	return c.sum(func(call Call) bool { return call.Group == group && call.Resource == resource && call.Writes() })
}

func (c Counters) sum(counted func(Call) bool) int {
	total := 0
	for call, n := range c {
		if counted(call) {
			total += n
		}
	}
	return total
}

// APICounters reads kube-apiserver's own metric apiserver_request_total. The metric does not tell clients apart, so a
// test that counts has to be the only user of the resources that it looks at.
func (c *ControlPlane) APICounters(ctx context.Context) (Counters, error) {
	client, err := discovery.NewDiscoveryClientForConfig(c.admin)
	if err != nil {
		return nil, fmt.Errorf("client of the administrator: %w", err)
	}
	text, err := client.RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the metrics of kube-apiserver: %w", err)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("metrics of kube-apiserver: %w", err)
	}
	return count(families["apiserver_request_total"]), nil
}

// count adds up the series of a metric, which also differ in version, scope, status code and dry run.
func count(family *dto.MetricFamily) Counters {
	counters := Counters{}
	for _, series := range family.GetMetric() {
		var call Call
		for _, label := range series.GetLabel() {
			switch label.GetName() {
			case "verb":
				call.Verb = label.GetValue()
			case "group":
				call.Group = label.GetValue()
			case "resource":
				call.Resource = label.GetValue()
			case "subresource":
				call.Subresource = label.GetValue()
			}
		}
		counters[call] += int(series.GetCounter().GetValue())
	}
	return counters
}
