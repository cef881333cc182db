package parts

import (
	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/lifecycle"
	"github.com/restmapping/operator/pkg/rest"
)

// State is what the record says of a key.
type State string

// The states of a key.
const (
	// None: nothing of ours has this key.
	None State = ""
	// Creating: a create may have been sent, and its outcome is not written down.
	Creating State = "Creating"
	// Made: the object is ours.
	Made State = "Made"
)

// Key is all that is known of one key.
type Key struct {
	Name string
	// Wanted tells that an element of the custom resource has it.
	Wanted bool
	State  State
	// Own tells that the list shows the object that the record speaks of: the one with the recorded identifiers or, where
	// the server assigns none, the one with this key.
	Own bool
	// Others counts the objects in the list with this key that are not Own.
	Others int
	// Equal and Immutable compare Own with what is wanted.
	Equal, Immutable bool
	// Identified tells that the answer to the create has given the object's identifiers.
	Identified bool
	// Refused tells that the server has refused the create that the record speaks of, and that the record does not say so
	// yet.
	Refused bool
	// NeverSeen tells that the object was made, and that no list has shown it since.
	NeverSeen bool
	// JustWritten: these very values were written, and accepted, within the consistency window.
	JustWritten bool
	// Quiet: the consistency window of the last write for this key is over.
	Quiet bool
	// Settled: no request for this key that was sent before can still take effect.
	Settled bool
	// AbsentBefore: an earlier list, far enough back, did not show it either.
	AbsentBefore bool
	// Gone: the server has answered a delete, and no list has shown the object since.
	Gone bool
	// Held: the last request for it failed, and it is too early for another.
	Held bool
}

// Sent is the mutating request of this pass.
type Sent struct {
	Key       string
	Operation rest.Operation
	Outcome   lifecycle.Outcome
	// Restored tells that the record says again what it said before the create.
	Restored bool
	// Last is that of the step.
	Last bool
}

// Facts is all that a decision about one part is made from.
type Facts struct {
	// Look is NotYet, Failed or Found; Found is a list that was read to its end.
	Look lifecycle.Look
	// Deleting tells that all parts must go, because their custom resource does.
	Deleting bool
	// Policy is the mapping's.
	Policy v1alpha1.Policy
	Prune  v1alpha1.Prune
	// CanCreate, CanUpdate and CanDelete say which operations the part has.
	CanCreate, CanUpdate, CanDelete bool
	// ByKey tells that the server assigns no identifiers, so that the key alone names an object.
	ByKey bool
	// Keys are those that are wanted, recorded or, where everything is pruned, found; in the order of work.
	Keys []Key
	// Intended is the key whose create this pass has written down; empty for none.
	Intended string
	// Sent is the mutating request of this pass, nil for none or once the list was read again.
	Sent *Sent
	// Spent tells that this pass has sent its one mutating request and has read the list again.
	Spent bool
}

// Action is one step.
type Action string

// The actions. End ends the pass for this part; the others go on.
const (
	// List reads the list to its end.
	List Action = "List"
	// Write persists Changes, and the intent to create Key where that is set, with an optimistic lock.
	Write Action = "Write"
	// Create, Update and Delete send a request about Key, once.
	Create Action = "Create"
	Update Action = "Update"
	Delete Action = "Delete"
	// End ends the pass for this part.
	End Action = "End"
)

// Change is what the record shall say of a key.
type Change struct {
	Key string
	// To is None to forget it, Made to keep the object that was found or answered, Creating for an intent.
	To State
	// Restore gives back what stood there before the intent of this pass.
	Restore bool
}

// Problem is why one key does not come to rest.
type Problem struct {
	Key, Reason, Message string
}

// Waiting is a key that something must pass for.
type Waiting struct {
	Key   string
	Delay lifecycle.Delay
}

// Step is what to do next.
type Step struct {
	Action  Action
	Key     string
	Changes []Change
	// Last, of a request or its intent, tells that no other key needs one. Then its success is looked at in the same pass.
	Last bool

	// Again, at the end, tells that the next pass follows at once.
	Again bool
	// Failed, at the end, tells that the list could not be read.
	Failed bool
	// Problems are keys for which a person must act, Held those whose last request failed, Waiting those that need time.
	Problems []Problem
	Held     []string
	Waiting  []Waiting
	// Differs are keys that are not as specified and are left so.
	Differs []string
}

// Complete tells, at the end, that everything is as it should be.
func (s Step) Complete() bool {
	return s.Action == End && !s.Again && !s.Failed && len(s.Problems)+len(s.Held)+len(s.Waiting) == 0
}
