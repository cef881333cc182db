// Package flight lets many callers share one piece of slow work: the first one starts it, the others wait for the same
// result. Unlike golang.org/x/sync/singleflight the work has an owner: it does not end with the caller who happened to
// be first, it has a time limit, and Close cancels it and waits for it. It must not remember results; whoever calls it
// decides what to keep and for how long.
package flight
