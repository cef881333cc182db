package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/internal/controlplane"
)

// reading is everything that is counted, at one moment.
type reading struct {
	at    time.Time
	cpu   time.Duration // of the contender
	ours  time.Duration // of everything that the benchmark runs
	busy  time.Duration // of the machine
	calls controlplane.Counters
}

// read takes a reading. A process that is about to be started has used nothing: give 0.
func (t *turn) read(ctx context.Context, pid int) (reading, error) {
	r := reading{at: time.Now()}
	var err error
	if pid != 0 {
		times, err := timesOf(pid)
		if err != nil {
			return r, fmt.Errorf("the processor time of %s: %w", t.contender.name(), err)
		}
		r.cpu = times.own
	}
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return r, err
	}
	if r.busy, err = busyTime(string(text)); err != nil {
		return r, err
	}
	if r.ours, err = ourTime(); err != nil {
		return r, err
	}
	r.calls, err = t.plane.APICounters(ctx)
	return r, err
}

// result is what one scenario cost one contender.
type result struct {
	Scenario, Contender string
	// Objects is how many custom resources there were, Per what the costs are divided by, Unit what that is.
	Objects, Per int
	Unit         string
	Seconds      float64
	// REST counts requests at the REST server by "METHOD route".
	REST map[string]int
	// Reads and Writes are the contender's at the API server for the kind, Events and Mapping its writes beside it.
	Reads, Writes, Events, Mapping int
	CPU                            time.Duration
	PeakMiB                        float64
	// Noise is how many processors others used meanwhile.
	Noise float64
	// Duplicates are violations at the REST server until now, Left what a delete left behind there.
	Duplicates, Left int
}

// between fills in what two readings show. own is how many writes the driver made itself.
func (r *result) between(before, after reading, group string, own int) {
	calls := after.calls.Since(before.calls)
	r.Reads, r.Writes = calls.Reads(group, resource), calls.Writes(group, resource)-own
	for call, n := range calls {
		switch {
		case !call.Writes():
		case call.Resource == "events":
			r.Events += n
		case call.Group == v1alpha1.Group:
			r.Mapping += n
		}
	}
	r.CPU = after.cpu - before.cpu
	others := (after.busy - before.busy) - (after.ours - before.ours)
	r.Noise = max(0, others.Seconds()/after.at.Sub(before.at).Seconds())
}

func (r *result) requests() int {
	total := 0
	for _, n := range r.REST {
		total += n
	}
	return total
}

// each divides by the number of units.
func (r *result) each(n float64) float64 { return n / float64(r.Per) }
