package pass

import "time"

// noteChange notes since when the specification as it is now waits to be ready: since it was made, or for an edit since this
// process has first looked at it. Time before this process began to act does not count.
func (u *run) noteChange() {
	m, generation := u.mem, u.obj.GetGeneration()
	switch {
	case m.generation == generation:
	case m.generation == 0 && !u.neverReported():
		m.changedAt = noTime
	case m.generation == 0:
		m.changedAt = u.obj.GetCreationTimestamp().Time
		if m.changedAt.Before(u.LeaderSince) {
			m.changedAt = u.LeaderSince
		}
	default:
		m.changedAt = u.Clock.Now()
	}
	m.generation = generation
}

// neverReported tells that no operator has said yet how an earlier generation went.
func (u *run) neverReported() bool {
	observed, _ := u.currentStatus()["observedGeneration"].(int64)
	return observed < 1
}

// readyAfter is how long the change took that has become ready in this pass; zero for none, and for one of somebody who is going.
func (u *run) readyAfter(ready bool) time.Duration {
	if !ready || u.mem.changedAt.IsZero() || u.facts.Deleting || !u.settledGeneration() {
		return 0
	}
	took := u.Clock.Now().Sub(u.mem.changedAt)
	u.mem.changedAt = noTime
	return max(took, time.Nanosecond)
}
