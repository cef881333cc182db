package lifecycle

import (
	"time"

	"github.com/restmapping/operator/api/v1alpha1"
)

// A server may take an update and keep values of its own: it writes an address in another way, adds an element to a list,
// leaves out what has its default. Sending the same again changes nothing there, but costs: a serial number that grows, a
// notification, a restart. So a person is asked after a few times, and what is sent on is sent seldom.

const (
	// fruitlessUpdates is how many updates without effect are enough to ask a person. One may be lost in a server that is
	// busy, a second in one that comes back from a restart.
	fruitlessUpdates = 3
	// maxRest bounds the pause between two of them, unless the interval of the mapping is longer.
	maxRest = time.Hour
)

// Rest is how long nothing is sent after so many updates in a row that had no effect. It doubles with each, from the
// interval of the mapping on; the first ones are as far apart as reads may lag behind, and need no pause of their own.
func Rest(fruitless int, interval time.Duration) time.Duration {
	if fruitless < fruitlessUpdates {
		return 0
	}
	rest, most := interval, max(interval, maxRest)
	for range fruitless - fruitlessUpdates {
		if rest *= 2; rest >= most {
			return most
		}
	}
	return rest
}

// ineffective tells that the server takes the update and shows the same differences as before.
func (f Facts) ineffective() bool { return f.Fruitless >= fruitlessUpdates }

func ineffective() Step {
	return Step{Action: Stall, Reason: v1alpha1.ReasonUpdateIneffective, Message: "the server accepts the update, and shows the same as before: write these values as it gives them back, or let the mapping compare or send them differently (compare, read.select, update.body), or wait longer for it (sync.consistencyWindow); meanwhile the update is sent with growing pauses"}
}
