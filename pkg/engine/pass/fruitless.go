package pass

import (
	"time"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/lifecycle"
	"github.com/restmapping/operator/pkg/mapping"
)

// patience is how long a server is looked at again and again after an update that had no effect.
const patience = 5 * time.Minute

// fruitless counts updates that the server has accepted, of one generation and program, while the same fields differed from
// the same wish before each of them. What is found there may change each time: a server that reformats a value may do so
// anew.
type fruitless struct {
	digest     uint64
	generation int64
	program    *mapping.Program
	times      int
}

// note takes an update into account that was accepted for a difference.
func (f *fruitless) note(digest uint64, generation int64, program *mapping.Program) {
	if !f.about(digest, generation, program) {
		*f = fruitless{digest: digest, generation: generation, program: program}
	}
	f.times++
}

func (f *fruitless) about(digest uint64, generation int64, program *mapping.Program) bool {
	return f.times > 0 && f.digest == digest && f.generation == generation && f.program == program
}

// noteFruitless fills in how often what differs now was sent without effect. A look that finds the object as specified, or
// different in another way, shows that an update had one. What was never read back does not show either way.
func (u *run) noteFruitless(digest uint64) {
	f := &u.mem.fruitless
	u.facts.Fruitless, u.facts.Rested = 0, false
	if u.secretChanged || !f.about(digest, u.obj.GetGeneration(), u.program) {
		if u.facts.Equal {
			*f = fruitless{}
		}
		return
	}
	u.facts.Fruitless = f.times
	u.facts.Rested = u.Clock.Now().Sub(u.mem.lastWrite) >= lifecycle.Rest(f.times, max(u.program.Interval(), u.MinInterval))
}

// mayTakeEffect: a server that is slower than the mapping says may still show what it was sent, so it is looked at soon
// until the first long pause is over.
func (u *run) mayTakeEffect(step lifecycle.Step) bool {
	if step.Reason != v1alpha1.ReasonUpdateIneffective {
		return false
	}
	return u.Clock.Now().Sub(u.mem.lastWrite) < patience
}
