package lifecycle

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/rest"
)

// maxSteps is the longest pass; pkg/engine/pass allows twice as many.
const maxSteps = 12

var actions = []Action{
	CheckKey, ResendCreate, SendStep, KeepOperation, PollOperation, EndOperation, Observe, CheckProbe, CheckGuard, WriteIntent, SendCreate, KeepIdentity, ForgetIntent, BeginReplacing, EndReplacing, SendUpdate, SendRotate, SendDelete, Release, Finish, Wait, Retry, Stall,
}

var outcomes = []Outcome{Success, Absent, Conflict, Throttled, Unauthorized, Rejected, Waiting, Failed, NotSent, Ambiguous, Accepted}

func TestNextIsTotal(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := anyFacts(t)
		if rapid.Bool().Draw(t, "sent") {
			f.Sent = &Sent{
				Operation: rapid.SampledFrom([]rest.Operation{rest.Create, rest.Update, rest.Delete, rest.Rotate, rest.Read}).Draw(t, "operation"),
				Outcome:   rapid.SampledFrom(outcomes).Draw(t, "outcome"), Identified: rapid.Bool().Draw(t, "identified"),
				Kept: rapid.Bool().Draw(t, "kept"), Forgotten: rapid.Bool().Draw(t, "forgotten"), Again: rapid.Bool().Draw(t, "again"),
			}
		}
		step := Next(f)
		if !slices.Contains(actions, step.Action) {
			t.Fatalf("%+v gives %+v", f, step)
		}
		if again := Next(f); again != step {
			t.Fatalf("the same facts gave %+v and %+v", step, again)
		}
	})
}

func TestAPassEnds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := anyFacts(t)
		e := &executor{}
		for range maxSteps {
			step := Next(f)
			if step.Terminal() || step.Action == Release {
				return
			}
			e.carryOut(t, &f, step.Action)
		}
		t.Fatalf("no end after %v with %+v", e.done, f)
	})
}

// executor carries out steps honestly against a world that answers anything, and checks what must hold in any pass.
type executor struct{ done []Action }

func (e *executor) carryOut(t *rapid.T, f *Facts, a Action) {
	e.done = append(e.done, a)
	switch a {
	case Observe:
		f.Look = rapid.SampledFrom([]Look{LookImpossible, LookFailed, LookAbsent, LookFound, LookSeveral}).Draw(t, "look")
		f.StepDue = f.Look == LookFound && rapid.Bool().Draw(t, "step")
		f.Equal, f.Immutable = rapid.Bool().Draw(t, "equal"), rapid.Bool().Draw(t, "immutable")
		f.AsSent = f.Equal && !f.Immutable || rapid.Bool().Draw(t, "asSent")
	case CheckProbe:
		f.Probe = rapid.SampledFrom([]ProbeState{ProbeOK, ProbeFailed, ProbeNotThere}).Draw(t, "probe")
	case CheckGuard:
		f.Guard = rapid.SampledFrom([]GuardState{GuardOpen, GuardHolds, GuardFailed}).Draw(t, "guard")
	case CheckKey:
		f.Key = rapid.SampledFrom([]KeyState{KeyHonoured, KeyOver, KeyOfAnother, KeyRefused}).Draw(t, "looked at the key")
	case WriteIntent:
		f.Unresolved = f.MayBeOutside()
		f.Record, f.Finalizer, f.Intended, f.Confirmed, f.Answer = RecordCreating, true, true, false, AnswerNone
		if f.RecordedFirst() {
			f.Record = RecordCreated
		}
	case BeginReplacing, EndReplacing:
		f.Replacing = a == BeginReplacing
	case SendCreate, ResendCreate, SendUpdate, SendRotate, SendDelete, SendStep:
		e.send(t, f, a)
	case KeepOperation:
		f.Sent.Kept = true
	case PollOperation:
		f.Underway.Progress = rapid.SampledFrom([]Progress{ProgressRunning, ProgressDone, ProgressFailed, ProgressForgotten, ProgressUnreadable}).Draw(t, "progress")
		f.Underway.Outcome = rapid.SampledFrom([]Outcome{Conflict, Rejected, Waiting, Failed}).Draw(t, "failure")
		f.Underway.Identified = rapid.Bool().Draw(t, "told")
	case EndOperation:
		Conclude(f, a)
	case KeepIdentity:
		f.Record, f.Finalizer, f.Confirmed, f.Answer = RecordCreated, true, true, AnswerNone
		if f.Sent != nil {
			f.Sent.Kept = true
		}
		Conclude(f, a)
	case ForgetIntent:
		f.Record, f.Confirmed, f.Answer = RecordNone, false, AnswerNone
		f.Replaced, f.Replacing = f.Replacing, false
		if f.Sent != nil {
			f.Sent.Forgotten = true
		}
		Conclude(f, a)
	default:
		t.Fatalf("%s is not to be carried out", a)
	}
}

func (e *executor) send(t *rapid.T, f *Facts, a Action) {
	last := len(e.done) - 2
	switch {
	case f.Underway != nil:
		t.Fatalf("a mutating request beside an operation under way: %v", e.done)
	case f.Sent != nil && !f.Sent.Earlier:
		t.Fatalf("a second mutating request in one pass: %v", e.done)
	case a == ResendCreate && (f.Record != RecordCreating || f.Key != KeyHonoured || f.Policy.Management == v1alpha1.ManagementObserveOnly || !f.CanCreate):
		t.Fatalf("a create that was sent again and may not be: %+v", f)
	case a == SendCreate && (last < 0 || e.done[last] != WriteIntent):
		t.Fatalf("a create without its intent just before: %v", e.done)
	case a == SendRotate && (f.Deleting || f.Record != RecordCreated || f.Look != LookFound || !f.Equal || f.Policy.Management == v1alpha1.ManagementObserveOnly):
		t.Fatalf("a rotation of what is not ours, or not as specified: %+v", f)
	case a == SendUpdate && f.Look != LookFound:
		t.Fatalf("an update of what was not seen: %v", e.done)
	case (a == SendDelete || a == SendStep) && f.Dependents != DependentsNone:
		t.Fatalf("a delete, or a step towards it, of what others depend on: %+v", f)
	case a == SendDelete && f.StepDue && f.Look == LookFound:
		t.Fatalf("a delete of what is not ready for it: %v", e.done)
	case a == SendStep && f.Look != LookFound:
		t.Fatalf("a step for what was not seen: %v", e.done)
	case a == SendStep && (!f.Deleting || f.Record != RecordCreated):
		t.Fatalf("a step towards the delete of what is not ours: %+v", f)
	case (a == SendDelete || a == SendStep) && f.Deleting && f.Guard != GuardNone && f.Guard != GuardOpen:
		t.Fatalf("a delete, or a step towards it, that is held: %+v", f)
	case a == SendDelete && (f.Record != RecordCreated || !f.Deleting && (!f.Replacing || f.Look != LookFound)):
		t.Fatalf("a delete of what is not ours: %+v", f)
	}
	f.Sent = &Sent{
		Operation: map[Action]rest.Operation{SendCreate: rest.Create, ResendCreate: rest.Create, SendUpdate: rest.Update, SendRotate: rest.Rotate, SendDelete: rest.Delete, SendStep: rest.Delete}[a],
		Step:      a == SendStep, Again: a == ResendCreate,
		Outcome: rapid.SampledFrom(outcomes).Draw(t, "outcome"), Identified: rapid.Bool().Draw(t, "identified"),
	}
	f.Look, f.Intended = LookNotYet, false
	f.Rotate = f.Rotate && f.Sent.Outcome != Success
}

func anyFacts(t *rapid.T) Facts {
	flag := func(name string) bool { return rapid.Bool().Draw(t, name) }
	var under *Underway
	if flag("underway") {
		under = &Underway{
			Operation: rapid.SampledFrom([]rest.Operation{rest.Create, rest.Update, rest.Delete}).Draw(t, "underway operation"),
			Progress:  rapid.SampledFrom([]Progress{ProgressUnknown, ProgressForgotten}).Draw(t, "underway progress"),
			Named:     flag("named"), Identified: flag("identified"), Overdue: flag("overdue"),
		}
		if under.Operation == rest.Create && flag("failed") {
			under.Progress, under.Outcome, under.Kept = ProgressFailed, Failed, true
		}
	}
	return Facts{
		Underway: under, CreatesLater: flag("later"),
		Deleting: flag("deleting"), Finalizer: flag("finalizer"), Suspended: flag("suspended"),
		Policy: v1alpha1.Policy{
			Adoption:   rapid.SampledFrom([]v1alpha1.AdoptionPolicy{v1alpha1.AdoptNever, v1alpha1.AdoptByIdentity}).Draw(t, "adoption"),
			Deletion:   rapid.SampledFrom([]v1alpha1.DeletionPolicy{v1alpha1.DeletionDelete, v1alpha1.DeletionOrphan}).Draw(t, "deletion"),
			OnMissing:  rapid.SampledFrom([]v1alpha1.MissingPolicy{v1alpha1.MissingRecreate, v1alpha1.MissingStall}).Draw(t, "onMissing"),
			Drift:      rapid.SampledFrom([]v1alpha1.DriftPolicy{v1alpha1.DriftCorrect, v1alpha1.DriftReport}).Draw(t, "drift"),
			Immutable:  rapid.SampledFrom([]v1alpha1.ImmutablePolicy{v1alpha1.ImmutableStall, v1alpha1.ImmutableReplace}).Draw(t, "immutable"),
			Management: rapid.SampledFrom([]v1alpha1.ManagementPolicy{v1alpha1.ManagementFull, v1alpha1.ManagementObserveOnly}).Draw(t, "management"),
		},
		Safety: rapid.SampledFrom([]v1alpha1.CreateSafety{
			v1alpha1.SafetyUpsert, v1alpha1.SafetyUniqueKey, v1alpha1.SafetyMarker, v1alpha1.SafetyNone,
		}).Draw(t, "safety"),
		Key:        rapid.SampledFrom([]KeyState{KeyNone, KeyNotYet}).Draw(t, "key"),
		Dependents: rapid.SampledFrom([]Dependents{DependentsNone, DependentsUnknown, DependentsExist}).Draw(t, "dependents"),
		CanCreate:  flag("create"), CanUpdate: flag("update"), CanDelete: flag("delete"), AllChosen: flag("chosen"),
		Record: rapid.SampledFrom([]RecordState{
			RecordMissing, RecordForeign, RecordForged, RecordNewer, RecordUnverified, RecordNone, RecordCreating, RecordCreated,
		}).Draw(t, "record"),
		Confirmed: flag("confirmed"), EndpointChanged: flag("endpoint"), IdentityChanged: flag("identity"),
		Answer: rapid.SampledFrom([]Answer{AnswerNone, AnswerAbsent, AnswerAdopt}).Draw(t, "answer"),
		Edited: flag("edited"), Rotate: flag("rotate"), Forced: flag("forced"), Replacing: flag("replacing"), Steady: flag("steady"),
		Look: LookNotYet, Probe: ProbeNotYet, Guard: rapid.SampledFrom([]GuardState{GuardNone, GuardNotYet}).Draw(t, "guard"),
		Stored: flag("stored"), Settled: flag("settled"), JustWritten: flag("written"), Quiet: flag("quiet"), Fenced: flag("fenced"),
		AbsentBefore: flag("absentBefore"), JustStepped: flag("stepped"),
	}
}
