// Package suite is what the end-to-end tests stand on: a control plane, the operator as the built program with exactly
// the chart's ServiceAccount and rights, and kubectl as a person types it. It is for tests alone.
package suite
