// Package chart renders the operator's Helm chart with the helm program and takes the manifest apart, so that tests and
// the demo run the operator with exactly the rights that the chart grants. It must not talk to a cluster.
package chart
