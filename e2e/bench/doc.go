// Command bench measures the operator beside a controller that was compiled by hand for the same kind and the same REST
// API, in one run and by the same driver: a control plane of its own, a REST server in memory as a process of its own,
// and the two contenders one after the other as child processes. It prints tables and writes docs/benchmarks.md.
//
// What it proves is a ratio on one machine; it must never be read as a promise about time.
package main
