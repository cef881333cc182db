// Package lifecycle decides what to do next about one custom resource and its object outside. It is a pure
// function over facts: the record that was persisted, what the policy allows, what this pass has observed and sent,
// and which waiting times have passed. It holds the rules that keep an object from being doubled, leaked or lost:
//
//   - a create is sent only in the pass that wrote its intent, and once;
//   - an outcome that is not known is never taken for a failure;
//   - a failed observation never leads to a mutation, and is never absence;
//   - absence is believed outside the consistency window, twice, and with a probe that works;
//   - a deletion is verified by observing absence, and the finalizer goes last.
//
// Next is driven by pkg/engine in production and by the model in this package's tests; both run the same code.
// It must never read a clock, touch the network or know a JSON shape.
package lifecycle
