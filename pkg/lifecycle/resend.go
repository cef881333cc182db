package lifecycle

import (
	"crypto/sha256"
	"time"

	"github.com/google/uuid"

	"github.com/restmapping/operator/api/v1alpha1"
)

// A server that knows a create again by a key gives the answer of the first to the second. So where the answer was lost, the
// way to learn it is to send the create again, while it is certain that the server still knows the key, and only as the very
// same request: with another body some servers refuse, some answer as if it were the first, and some make a second object.

// resend tells whether the create of the recorded attempt is sent again, or looked at for that. One that goes on at the server
// is followed instead. A deletion that can search for the object does that: it makes nothing in order to delete it.
func resend(f Facts) (Step, bool) {
	searchable := f.Deleting && f.Safety == v1alpha1.SafetyMarker
	if f.Underway != nil || searchable || !f.CanCreate || f.Policy.Management == v1alpha1.ManagementObserveOnly {
		return Step{}, false
	}
	switch f.Key {
	case KeyNotYet:
		return Step{Action: CheckKey}, true
	case KeyHonoured:
		return Step{Action: ResendCreate, Reason: v1alpha1.ReasonCreating}, true
	default:
		return Step{}, false
	}
}

// afterResend takes a success for the answer that was lost. Nothing else says that the first request came to nothing: it may
// be the one that the server is at work on.
func afterResend(f Facts) Step {
	switch o := f.Sent.Outcome; {
	case o == Success && f.Sent.Identified:
		if f.Deleting && f.Sent.Kept {
			return Step{Action: Wait, Reason: v1alpha1.ReasonDeleting, Delay: DelayNone}
		}
		return verifyCreated(f)
	case o == Success, o == Ambiguous:
		return Step{Action: Retry, Reason: v1alpha1.ReasonCreating, Message: "the create was sent again with its idempotency key, and the answer was lost once more"}
	case o == Conflict:
		return Step{Action: Retry, Reason: v1alpha1.ReasonConflict, Message: "the create was sent again with its idempotency key; the server may be at work on the first"}
	case o == Rejected && f.Safety == v1alpha1.SafetyMarker:
		return awaitSettle()
	case o == Rejected:
		f.Key = KeyRefused
		return unknownCreate(f)
	default:
		return refused(o)
	}
}

// whyNotAgain says, for a person, why the key did not help.
func whyNotAgain(k KeyState) string {
	switch k {
	case KeyOver:
		return "it cannot be sent again because the server may have forgotten its idempotency key, "
	case KeyOfAnother:
		return "it cannot be sent again with its idempotency key because it would be another request (put the specification back to let it be sent), "
	case KeyRefused:
		return "the server refused it when it was sent again with its idempotency key, "
	default:
		return ""
	}
}

// keySpace sets the keys apart from other identifiers that are made of the same texts.
var keySpace = uuid.MustParse("6f8a4b52-9c1e-4d77-8a35-1f0c2e7b9d64")

// IdempotencyKey is the key of one attempt to make the object of one custom resource. It says nothing of either, and has the
// form of a random UUID (version 4), because some servers take no other.
func IdempotencyKey(uid, attempt string) string {
	return uuid.NewHash(sha256.New(), keySpace, []byte(uid+"/"+attempt), 4).String()
}

// KeyLeft is how long from now a create may still begin to be sent again with the key of an intent of that time, when the server
// knows a key for the window; nothing or less when it may not. A request that begins in time comes to its end before the
// server may forget the key, also where the clock of the machine that wrote the intent was ahead of this one's, or behind it.
func (t Timing) KeyLeft(intent time.Time, window time.Duration, now time.Time) time.Duration {
	age := now.Sub(intent)
	if age < -v1alpha1.MaxClockSkew {
		return 0 // no two clocks of the operator differ so much; what is wrong with them is not known
	}
	return window - age - v1alpha1.MaxClockSkew - t.Request - t.Slack
}
