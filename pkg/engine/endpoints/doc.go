// Package endpoints keeps one live HTTP client for each RestEndpoint and ClusterRestEndpoint, shared by everybody who
// talks to that server, so that connections are reused and the endpoint's limits hold for all mappings together. A
// client is replaced when the endpoint's generation or one of its Secrets changes; the old one ends after its last
// request.
//
// It answers which endpoint a custom resource may use: one in its own namespace, or a ClusterRestEndpoint that allows
// its namespace. It must not read Secrets itself, write to the API server, or judge what a server answered beyond
// whether the probe succeeded.
package endpoints
