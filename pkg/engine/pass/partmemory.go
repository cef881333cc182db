package pass

import (
	"time"

	"github.com/restmapping/operator/pkg/lifecycle"
	"github.com/restmapping/operator/pkg/lifecycle/parts"
	"github.com/restmapping/operator/pkg/mapping"
)

// partMemory is what this process knows about one object of a part beyond what is recorded. Losing it costs time, never
// safety: every field's zero value is the careful one.
type partMemory struct {
	// since is when this process first knew of what the record says, or wrote it.
	since time.Time
	// clean tells that nothing which was sent before the intent that this process wrote can still take effect.
	clean bool
	// answered tells that the server's answer to that create is known; identifiers are what it gave, refused that it was
	// not applied and that the record does not say so yet. before is what the record said before the intent.
	answered, refused bool
	identifiers       map[string]string
	before            *lifecycle.PartEntry
	// unseen tells that the object was made, and that no list has shown it since.
	unseen bool
	// gone tells that a delete was answered, and that no list has shown the object since.
	gone bool
	// absentAt is when the list first did not show it, of lists that all did not.
	absentAt time.Time
	// lastWrite is when the last create or update was sent, openUntil until when one whose answer was lost may take effect.
	lastWrite, openUntil time.Time
	// acceptedGeneration and acceptedProgram are those of the last update that the server accepted.
	acceptedGeneration int64
	acceptedProgram    *mapping.Program
	// failures counts requests in a row that led to nothing; heldUntil is before when none is sent again, for this
	// generation and program.
	failures       int
	heldUntil      time.Time
	heldGeneration int64
	heldProgram    *mapping.Program
	failure        requestFailure
}

// The waiting times after a request for a part that led to nothing.
const (
	minPartHold = time.Second
	maxPartHold = 5 * time.Minute
)

// backoff doubles with each failure.
func (m *partMemory) backoff() time.Duration {
	hold := minPartHold
	for range m.failures - 1 {
		if hold *= 2; hold >= maxPartHold {
			return maxPartHold
		}
	}
	return hold
}

// written notes that this process wrote an intent. An entry that an earlier process may have acted on is only clean once
// that can no longer take effect.
func (m *partMemory) written(now time.Time, settled bool, before *lifecycle.PartEntry) {
	*m = partMemory{
		since: now, clean: before == nil || settled, before: before, failures: m.failures,
		openUntil: m.openUntil, lastWrite: m.lastWrite,
	}
}

// facts fills in what depends on this process and on time.
func (m *partMemory) facts(k *parts.Key, now time.Time, t lifecycle.Timing) {
	passed := func(at time.Time, d time.Duration) bool { return now.Sub(at) >= d }
	k.Identified, k.Refused, k.NeverSeen, k.Gone = m.identifiers != nil, m.refused, m.unseen, m.gone
	k.Quiet = passed(m.lastWrite, t.Window) && (m.clean || passed(m.since, t.Window))
	k.Settled = !now.Before(m.openUntil) && (m.clean && m.answered || passed(m.since, t.Settle()))
	k.AbsentBefore = !m.absentAt.IsZero() && passed(m.absentAt, shortDelay)
}

// partMemories gives the memories of one part.
func (m *memory) partMemories(part string) map[string]*partMemory {
	if m.parts == nil {
		m.parts = map[string]map[string]*partMemory{}
	}
	if m.parts[part] == nil {
		m.parts[part] = map[string]*partMemory{}
	}
	return m.parts[part]
}
