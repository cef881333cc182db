package lifecycle

import "github.com/restmapping/operator/api/v1alpha1"

// Elapsed is what one process knows about the times that have passed for one custom resource. It is kept in memory;
// every field's zero value is the careful one.
type Elapsed struct {
	// Settled: Timing.Settle has passed since this process first saw the attempt that the record names.
	Settled bool
	// Window: the consistency window is over since this process's last create or update, and since it first saw a
	// record that it did not write: an earlier process may have written just before.
	Window bool
	// Seen: the object was observed since.
	Seen bool
	// Led: Timing.Settle has passed since this process began to act.
	Led bool
	// First: this process wrote the first intent of this custom resource, so no earlier process sent anything for it.
	First bool
	// Answered: this process knows the server's answer to the recorded attempt.
	Answered bool
	// Closed: no request of this process whose answer was lost can still take effect.
	Closed bool
}

// Apply fills in the facts that depend on time; the others must be there.
func (e Elapsed) Apply(f *Facts) {
	f.Settled, f.Quiet, f.Steady, f.Fenced = e.Settled, e.Window || e.Seen, e.Window, e.fenced(*f)
}

// fenced reports whether no request that could bring the object back is still under way.
//
// A request of an earlier process matters where a create may be sent again at once: a late PUT makes the object again,
// an update by PUT too, and so does a late POST once its key is free again. Everywhere else no create is sent before the former one has had
// its time, so that the attempt alone counts.
func (e Elapsed) fenced(f Facts) bool {
	attemptOver := f.knownToExist() || e.Answered || e.Settled
	if !e.Closed || !attemptOver {
		return false
	}
	return !f.RecordedFirst() && f.Safety != v1alpha1.SafetyUpsert || e.Led || e.First
}
