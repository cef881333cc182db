// Package metrics counts what the operator does, for Prometheus. Labels are names that an administrator chose
// (mappings, endpoints) and closed sets; never the name of a custom resource. It must not decide anything.
package metrics
