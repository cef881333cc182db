// Package process runs the servers that tests and the demo need as child processes: it starts them with a log file,
// waits until they are ready, stops them in order, and sees to it that none outlives its parent. It knows nothing about
// what the servers do, and the operator itself must not import it.
package process
