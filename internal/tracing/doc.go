// Package tracing sends the operator's traces where the standard variables of OpenTelemetry say (OTEL_*), and nowhere without
// them. It must not know what is traced.
package tracing
