// Package status turns what a pass has found out into the status of a custom resource: conditions as kstatus and
// kubectl wait read them, identifiers, the last error, the paths that drifted, and the mapping's projections.
// It computes the smallest patch, and none when nothing has changed. It must never talk to the API server.
package status
