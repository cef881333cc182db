// Package fleet watches custom resources whose kinds are only known at run time. It keeps one informer per kind,
// namespace and label selector, shares it between the mappings that subscribe to it, and holds each custom resource in
// a compact form. Informers start and stop while the operator runs: the first subscriber starts one, and the last one
// that leaves stops it and waits until nothing of it is left. Whether a watch works is a fact that subscribers can read
// and are told about; it is never only a log line.
//
// A kind that cannot be watched never delays another one: each informer retries on its own, and nothing here waits for
// all of them.
//
// The package must not decide what an event means, must not write to the API server, and must not hold a lock while it
// waits for anything.
package fleet
