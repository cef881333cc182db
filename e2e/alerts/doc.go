// Package alerts holds the tests of the chart's alert rules, evaluated by Prometheus' own engine. It is a module of its own, so that
// the operator does not depend on Prometheus.
package alerts
