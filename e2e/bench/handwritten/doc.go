// Command handwritten is the controller that benchmarks compare the operator with: it was written for one kind and one
// REST API, the way a good engineer writes such a controller, with a typed client and without CEL. It keeps to the same
// rules where they matter for the figures (finalizer before the first request, nothing written when nothing changed, one
// look an interval), and it has none of the operator's generality. Nothing else may use it.
package main
