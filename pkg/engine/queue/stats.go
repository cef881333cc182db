package queue

import "sync/atomic"

// Stats is a look at a queue for metrics.
type Stats struct {
	// Ready is how many names wait for a worker. Names that wait for their time are not counted.
	Ready int
	// Running is how many names are being handled.
	Running int
	// Handled, Failed and Panicked count since the queue was made. Failed is part of Handled, Panicked part of Failed.
	Handled, Failed, Panicked uint64
}

type counters struct {
	running                   atomic.Int64
	handled, failed, panicked atomic.Uint64
}

// Len returns how many names wait for a worker.
func (w *Workers) Len() int { return w.queue.Len() }

// Stats returns the present numbers. They stay readable after Stop.
func (w *Workers) Stats() Stats {
	return Stats{
		Ready:    w.Len(),
		Running:  int(w.counters.running.Load()),
		Handled:  w.counters.handled.Load(),
		Failed:   w.counters.failed.Load(),
		Panicked: w.counters.panicked.Load(),
	}
}
