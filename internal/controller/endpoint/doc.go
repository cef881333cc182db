// Package endpoint reconciles RestEndpoints and ClusterRestEndpoints: it has their client built by the registry, probes
// the server at the declared interval, and says in the status whether the endpoint can be used and what to do if not.
// It writes only when that changed.
//
// It must not hold clients or read Secrets itself, and must not write anything but the endpoints' status.
package endpoint
