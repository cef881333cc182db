// Package queue runs the work of one mapping: a queue of names ordered by priority and due time, and a fixed number of
// workers that handle them. Each mapping has its own, so that a server which answers slowly or not at all occupies only
// the workers of its own mapping.
//
// A name is in the queue at most once and is never handled by two workers at the same time. What is waiting for later
// is handled at once when something happens to it, and no later wish can postpone an earlier one. Failures are tried
// again with growing, scattered delays, for ever.
//
// The package must not know what is handled, must not decide whether something failed, and must not drop a name.
package queue
