// Package mapping gives a RestMapping its meaning. Compile turns it once into an immutable Program; a Pass of the
// program says, for one custom resource, what to send, what differs, and what to show of an answer.
//
// Everything here is a pure function of its inputs: the same mapping, resource and response give the same bytes.
// The package must not do I/O, keep time, or decide whether something is tried again.
package mapping
