package lifecycle

import (
	"time"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/rest"
)

// RecordState is what the record annotation says, after it was checked.
type RecordState string

// The states of a record.
const (
	// RecordMissing: there is no annotation. Together with the finalizer it means that it was stripped.
	RecordMissing RecordState = "Missing"
	// RecordForeign: it was written for another custom resource: a copied or restored manifest.
	RecordForeign RecordState = "Foreign"
	// RecordForged: it is not what was written: its signature is not of its content.
	RecordForged RecordState = "Forged"
	// RecordNewer: a newer operator wrote it, and what it says is not known.
	RecordNewer RecordState = "Newer"
	// RecordUnverified: the key that it was signed with is not there, or it was never signed.
	RecordUnverified RecordState = "Unverified"
	// RecordNone: nothing of ours is outside.
	RecordNone RecordState = "None"
	// RecordCreating: a create may have been sent; its identity is not known.
	RecordCreating RecordState = "Creating"
	// RecordCreated: the identity is known.
	RecordCreated RecordState = "Created"
)

// Look is what this pass has observed.
type Look string

// The results of looking.
const (
	// LookNotYet: not looked, or something was written since.
	LookNotYet Look = "NotYet"
	// LookImpossible: the identity is not known, and nothing can be searched by.
	LookImpossible Look = "Impossible"
	// LookFailed: it could not be observed.
	LookFailed Look = "Failed"
	// LookAbsent: it is not there.
	LookAbsent Look = "Absent"
	// LookFound: exactly one is there.
	LookFound Look = "Found"
	// LookSeveral: more than one matches.
	LookSeveral Look = "Several"
)

// ProbeState is what the endpoint's probe says.
type ProbeState string

// The states of a probe.
const (
	ProbeNotYet   ProbeState = "NotYet"
	ProbeOK       ProbeState = "OK"
	ProbeFailed   ProbeState = "Failed"
	ProbeNotThere ProbeState = "NotDeclared"
)

// Dependents tells whether other custom resources refer to this one, whose objects are to go before its own.
type Dependents string

// The states of dependents.
const (
	// DependentsNone: nobody refers to it.
	DependentsNone Dependents = ""
	// DependentsUnknown: not all custom resources that may refer to it are known yet.
	DependentsUnknown Dependents = "Unknown"
	// DependentsExist: at least one refers to it.
	DependentsExist Dependents = "Exist"
)

// GuardState is what is known of deletions that look like an accident.
type GuardState string

// The states of a guard.
const (
	// GuardNone: there is nothing to ask.
	GuardNone   GuardState = ""
	GuardNotYet GuardState = "NotYet"
	GuardOpen   GuardState = "Open"
	// GuardHolds: no delete may be sent until a person has acknowledged it.
	GuardHolds GuardState = "Holds"
	// GuardFailed: it could not be asked.
	GuardFailed GuardState = "Failed"
)

// KeyState is what is known of the idempotency key of a create whose outcome is not known: whether the create can be sent
// again without making a second object.
type KeyState string

// The states of a key.
const (
	// KeyNone: the create carries none.
	KeyNone KeyState = ""
	// KeyNotYet: it has one, and was not looked at yet.
	KeyNotYet KeyState = "NotYet"
	// KeyHonoured: the server knows it for certain, and the request would be the very one that was sent.
	KeyHonoured KeyState = "Honoured"
	// KeyOver: the server may have forgotten it.
	KeyOver KeyState = "Over"
	// KeyOfAnother: the request would be another than the one that was sent with it.
	KeyOfAnother KeyState = "OfAnother"
	// KeyRefused: the server has refused the request that was sent again with it.
	KeyRefused KeyState = "Refused"
)

// Answer is what a person said about a create whose outcome is unknown.
type Answer string

// The answers.
const (
	AnswerNone   Answer = ""
	AnswerAbsent Answer = "Absent"
	AnswerAdopt  Answer = "Adopt"
)

// Sent is the mutating request of this pass.
type Sent struct {
	Operation rest.Operation
	Outcome   Outcome
	// Identified tells, after a create, that every identifier is known from the response.
	Identified bool
	// Kept tells that the identity, or the operation that the server answered with, was persisted since.
	Kept bool
	// Forgotten tells that the record was set to none since.
	Forgotten bool
	// Step tells that it was sent before the delete, to make the object ready for it.
	Step bool
	// Earlier tells that an earlier pass sent it, and that this one has learned how it ended.
	Earlier bool
	// Again tells that it is the create of the recorded attempt, sent once more with its idempotency key.
	Again bool
}

// Facts is all that a decision is made from.
type Facts struct {
	// Deleting, Finalizer and Suspended are the custom resource's own.
	Deleting, Finalizer, Suspended bool
	// Policy is in force for this custom resource.
	Policy v1alpha1.Policy
	// Safety is the class of create safety by which an unknown outcome is found out: Marker or None for IdempotencyKey, where
	// it comes after Key.
	Safety v1alpha1.CreateSafety
	// Key is about the idempotency key of the create that the record is about.
	Key KeyState
	// CanCreate, CanUpdate and CanDelete say which operations the mapping has.
	CanCreate, CanUpdate, CanDelete bool
	// LookBeforeDelete tells that the delete request needs the object as it is.
	LookBeforeDelete bool
	// AllChosen tells that every identifier is chosen by the client, so that the identity is known before the create.
	AllChosen bool
	// CreatesLater tells that the server may only accept a create, and do it later.
	CreatesLater bool

	// Dependents are the custom resources that refer to this one. It is only asked of one that is being deleted.
	Dependents Dependents

	// Record is what was persisted.
	Record RecordState
	// Confirmed tells that the object was known to exist once.
	Confirmed bool
	// NeverSeen tells that the object was made, and that no look has found it since.
	NeverSeen bool
	// Unmarked tells that the object which was found by its recorded identity does not carry the marker.
	Unmarked bool
	// EndpointChanged and IdentityChanged tell that the record speaks of another server, or another identity.
	EndpointChanged, IdentityChanged bool
	// Forced tells that a person has asked for an update, whether anything differs or not, and that none was accepted since.
	Forced bool
	// Rotate tells that the object is to get a new secret now.
	Rotate bool
	// Edited tells that the custom resource was edited since the object was made, or was last seen as specified.
	Edited bool
	// Replacing tells that the record says that the object is being replaced, Replaced that this pass wrote down that the
	// old one is gone.
	Replacing, Replaced bool
	// Answer is a person's, for the recorded attempt.
	Answer Answer
	// Stored tells that an output which was written with the answer to the recorded attempt names the object it made.
	Stored bool

	// StepDue tells, of an object that was found, that a request must be sent before it can be deleted; JustStepped that
	// one was sent within the consistency window.
	StepDue, JustStepped bool
	// Look is what was observed in this pass, Equal whether the owned fields are as specified, Immutable whether
	// a field differs that cannot be changed.
	// AsSent tells whether no field differs that a create sends.
	Look      Look
	Equal     bool
	Immutable bool
	AsSent    bool
	// Intended tells that this pass wrote the intent to create.
	Intended bool
	// Unresolved tells that, when this pass wrote its intent, an earlier request might still have made the object, or
	// might still make it. It is what MayBeOutside gave before the intent was written.
	Unresolved bool
	// Sent is the mutating request of this pass, nil for none.
	Sent *Sent
	// Underway is the operation that the record names, nil for none.
	Underway *Underway
	// Probe is what the endpoint's probe says.
	Probe ProbeState
	// Guard tells, for a custom resource that is deleted, whether its object may be.
	Guard GuardState

	// Settled: no create that this record speaks of can still take effect.
	Settled bool
	// JustWritten: these very values were written, and accepted, within the consistency window.
	JustWritten bool
	// Fruitless counts the updates in a row that the server accepted for these very differences, without any effect; Rested
	// tells that the pause which the last of them calls for is over.
	Fruitless int
	Rested    bool
	// Quiet: the consistency window of the last write is over, or the object was seen since.
	Quiet bool
	// Steady: the consistency window of the last write is over, whatever was seen since.
	Steady bool
	// Fenced: no mutating request of an earlier process, and none whose answer was lost, can still take effect.
	Fenced bool
	// AbsentBefore: an earlier look, far enough back, found it absent too.
	AbsentBefore bool
}

// knownToExist tells that the object was there once. A record can only say Created before that where the identity is
// written down before the create is sent; an identity that a server has given is proof by itself.
func (f Facts) knownToExist() bool {
	return f.Confirmed || f.Record == RecordCreated && !f.RecordedFirst()
}

// Ours tells whether the object that was found under the recorded identity, or under the key of a create whose answer was
// lost, is this custom resource's. Where the server keeps keys unique, the pass that wrote the record has found the key
// free; but somebody else may have taken it before the create came, and that the server said so may be lost. So the object
// is ours when the server has said that it was made, when it is as the create sends it, or when that is said by a person
// or the policy. (An object that somebody else made just so in that moment cannot be told from ours.)
func (f Facts) Ours() bool {
	return f.Safety != v1alpha1.SafetyUniqueKey || f.knownToExist() || f.AsSent || f.Answer == AnswerAdopt ||
		f.Policy.Adoption == v1alpha1.AdoptByIdentity
}

// RecordedFirst tells that the identity is written down before the create is sent, and that a create may be sent again
// at once when its answer was lost: it makes no second object, and the object is known by its name. A server that does
// it later may still be at work on the first, so there the record says Creating until it has ended.
func (f Facts) RecordedFirst() bool {
	return f.AllChosen && !f.CreatesLater && (f.Safety == v1alpha1.SafetyUpsert || f.Safety == v1alpha1.SafetyUniqueKey)
}

// MayBeOutside tells, of a look that found nothing, that there may be an object of ours all the same: the answer to an
// earlier create was lost and it may be late, or reads may not show it yet.
func (f Facts) MayBeOutside() bool {
	switch f.Record {
	case RecordMissing:
		return f.Finalizer
	case RecordCreating:
		return true
	case RecordCreated:
		return f.RecordedFirst() || !f.knownToExist() || !f.Fenced
	default:
		return false
	}
}

// Action is one step of a pass.
type Action string

// The actions. Finish, Wait, Retry and Stall end the pass; the others go on.
const (
	// Observe looks at the object: by its identity when that is known, otherwise by the list.
	Observe Action = "Observe"
	// CheckProbe asks the endpoint's probe.
	CheckProbe Action = "CheckProbe"
	// CheckGuard asks whether the object may be deleted.
	CheckGuard Action = "CheckGuard"
	// WriteIntent persists finalizer and record, with an optimistic lock, before a create.
	WriteIntent Action = "WriteIntent"
	// SendCreate sends the create, once.
	SendCreate Action = "SendCreate"
	// CheckKey finds out whether the create of the recorded attempt can be sent again with its idempotency key, ResendCreate
	// sends it again, once.
	CheckKey     Action = "CheckKey"
	ResendCreate Action = "ResendCreate"
	// KeepIdentity persists the identity that the create answered with, or that was found.
	KeepIdentity Action = "KeepIdentity"
	// ForgetIntent persists that nothing of ours is outside.
	ForgetIntent Action = "ForgetIntent"
	// BeginReplacing persists that the object is deleted to be made anew, EndReplacing that it is not after all.
	BeginReplacing Action = "BeginReplacing"
	EndReplacing   Action = "EndReplacing"
	// SendUpdate sends the update, once.
	SendUpdate Action = "SendUpdate"
	// SendRotate sends the request for a new secret, once, and stores what it answers with.
	SendRotate Action = "SendRotate"
	// SendDelete sends the delete, once.
	SendDelete Action = "SendDelete"
	// SendStep sends a request that makes the object ready to be deleted, once.
	SendStep Action = "SendStep"
	// KeepOperation persists the operation that the server answered with.
	KeepOperation Action = "KeepOperation"
	// PollOperation asks how far it has come.
	PollOperation Action = "PollOperation"
	// EndOperation persists that it has ended: it is taken out of the record, or its failure is noted there.
	EndOperation Action = "EndOperation"
	// Release removes the finalizer.
	Release Action = "Release"
	// Finish ends the pass until the next interval.
	Finish Action = "Finish"
	// Wait ends the pass until a known time.
	Wait Action = "Wait"
	// Retry ends the pass with backoff.
	Retry Action = "Retry"
	// Stall ends the pass: a person must act. It is looked at again at the interval.
	Stall Action = "Stall"
)

// Delay names how long to wait; the engine turns it into time.
type Delay string

// The delays.
const (
	// DelayNone: at once.
	DelayNone Delay = ""
	// DelayShort: between two looks that must agree.
	DelayShort Delay = "Short"
	// DelayConsistency: the rest of the consistency window.
	DelayConsistency Delay = "Consistency"
	// DelaySettle: until no create can still take effect.
	DelaySettle Delay = "Settle"
	// DelayFence: until no earlier request can still take effect.
	DelayFence Delay = "Fence"
	// DelayServer: as the server wishes, or a polite time.
	DelayServer Delay = "Server"
	// DelayEvent: until something that is watched changes; what waits is then looked at without delay. The interval is
	// for what an event might have missed.
	DelayEvent Delay = "Event"
	// DelayOperation: until the operation is asked about again.
	DelayOperation Delay = "Operation"
)

// Step is what to do next.
type Step struct {
	Action Action
	// Reason is the condition reason that a pass ending here shows.
	Reason string
	// Message says why, where the reason does not say it all. The engine adds names and the server's words.
	Message string
	// Delay is for Wait.
	Delay Delay
}

// Terminal reports whether the pass ends with this step.
func (s Step) Terminal() bool {
	switch s.Action {
	case Finish, Wait, Retry, Stall:
		return true
	default:
		return false
	}
}

// Timing is what the waiting times are made of.
type Timing struct {
	// Request is the timeout of one request, Slack how long the server may go on after it, Window how long reads
	// may lag behind.
	Request, Slack, Window time.Duration
	// Later is how long the server may be at work on a create or an update that it has accepted; zero where it does
	// everything at once.
	Later time.Duration
}

// Settle is how long after a send nothing can happen any more.
func (t Timing) Settle() time.Duration { return t.Request + t.Slack + t.Window + t.Later }
