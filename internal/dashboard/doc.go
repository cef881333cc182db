// Package dashboard makes the Grafana dashboard of the chart from the names of the operator's metrics. It is not part of the
// operator: its test writes the file and keeps it, the alerts and docs/metrics.md in step.
package dashboard
