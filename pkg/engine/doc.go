// Package engine keeps mappings at work: for each it holds the watch on its custom resources, a queue of its own with
// its workers, and the reconciler that makes passes. Mappings start, change and stop while the process runs, each
// without touching another. The sub-packages hold the parts: fleet (informers), queue (workers), pass (one look at one
// custom resource), status (what is written), endpoints and secrets (what a pass needs). The engine must not know what
// a request looks like, and must not decide what to do about a custom resource.
package engine
