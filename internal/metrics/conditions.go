package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/engine/endpoints"
)

// conditionsCollector reads the operator's own kinds from the cache when it is scraped: what does not run has no runner that
// could tell.
type conditionsCollector struct{ reader client.Reader }

// listTimeout bounds reading from a cache, which may not be in sync yet.
const listTimeout = 2 * time.Second

type conditionDescriptions struct{ mapping, endpoint *prometheus.Desc }

func describeConditions() conditionDescriptions {
	return conditionDescriptions{
		mapping: prometheus.NewDesc(prometheus.BuildFQName(namespace, "", "mapping_condition"),
			"1 while the condition of the RestMapping is True, otherwise 0.", []string{"mapping", "condition"}, nil),
		endpoint: prometheus.NewDesc(prometheus.BuildFQName(namespace, "", "endpoint_condition"),
			"1 while the condition of the endpoint is True, otherwise 0.", []string{"endpoint", "condition"}, nil),
	}
}

// mappingConditions and endpointConditions are those that have a series each.
func mappingConditions() []string {
	return []string{
		v1alpha1.ConditionReady, v1alpha1.ConditionAccepted, v1alpha1.ConditionTargetCompatible, v1alpha1.ConditionWatching, v1alpha1.ConditionStalled,
	}
}

func endpointConditions() []string {
	return []string{v1alpha1.ConditionReady, v1alpha1.ConditionStalled, v1alpha1.ConditionThrottled}
}

// WatchConditions adds the metrics that are read from the operator's own kinds when they are asked for.
func (m *Meter) WatchConditions(reader client.Reader) {
	m.register(&conditionsCollector{reader: reader})
}

// Describe implements prometheus.Collector.
func (c *conditionsCollector) Describe(out chan<- *prometheus.Desc) {
	d := describeConditions()
	out <- d.mapping
	out <- d.endpoint
}

// Collect implements prometheus.Collector. What cannot be read has no series.
func (c *conditionsCollector) Collect(out chan<- prometheus.Metric) {
	d := describeConditions()
	ctx, cancel := context.WithTimeout(context.Background(), listTimeout)
	defer cancel()
	mappings := &v1alpha1.RestMappingList{}
	if err := c.reader.List(ctx, mappings); err == nil {
		for i := range mappings.Items {
			send(out, d.mapping, mappings.Items[i].Name, mappings.Items[i].Status.Conditions, mappingConditions())
		}
	}
	named := &v1alpha1.RestEndpointList{}
	if err := c.reader.List(ctx, named); err == nil {
		for i := range named.Items {
			e := &named.Items[i]
			ref := endpoints.Ref{Kind: endpoints.KindRestEndpoint, Namespace: e.Namespace, Name: e.Name}
			send(out, d.endpoint, ref.String(), e.Status.Conditions, endpointConditions())
		}
	}
	shared := &v1alpha1.ClusterRestEndpointList{}
	if err := c.reader.List(ctx, shared); err == nil {
		for i := range shared.Items {
			e := &shared.Items[i]
			ref := endpoints.Ref{Kind: endpoints.KindClusterRestEndpoint, Name: e.Name}
			send(out, d.endpoint, ref.String(), e.Status.Conditions, endpointConditions())
		}
	}
}

func send(out chan<- prometheus.Metric, desc *prometheus.Desc, name string, conditions []metav1.Condition, kinds []string) {
	for _, kind := range kinds {
		value := 0.0
		for _, c := range conditions {
			if c.Type == kind && c.Status == metav1.ConditionTrue {
				value = 1
			}
		}
		out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, name, kind)
	}
}
