package pass

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/engine/fleet"
	"github.com/restmapping/operator/pkg/lifecycle"
	"github.com/restmapping/operator/pkg/rest"
)

// writeIntent persists finalizer and record in one write before anything is sent. It carries the resourceVersion that
// this pass acts on, so that a stale cache, or another process, stops here.
func (u *run) writeIntent(ctx context.Context) *lifecycle.Step {
	attempt := string(uuid.NewUUID())[:8]
	u.pass.SetIdempotencyKey(lifecycle.IdempotencyKey(u.subject().UID, attempt))
	req, err := u.pass.CreateRequest(ctx)
	if err != nil {
		return stall(v1alpha1.ReasonExpressionFailed, err.Error())
	}
	if stop := u.reserveOutputs(ctx); stop != nil {
		return stop
	}
	u.create, u.intendedAt = req, u.Clock.Now()
	phase, state := lifecycle.PhaseCreating, lifecycle.RecordCreating
	if u.facts.RecordedFirst() {
		phase, state = lifecycle.PhaseCreated, lifecycle.RecordCreated
	}
	record := lifecycle.NewRecord(u.subject(), u.endpoint.Identity(), phase).WithParts(u.ownRecord()).
		WithAttempt(attempt, u.intendedAt)
	u.keepRequest(&record, req)
	record.Identifiers, record.Again = u.chosen(), u.provesByName() && u.statusNamesObject()
	if !u.facts.MayBeOutside() {
		record.Values = u.writeOnly // an object of an earlier attempt may have others
	}
	unresolved, first := u.facts.MayBeOutside(), u.facts.Record == lifecycle.RecordMissing && !u.facts.Finalizer
	record.Generation, record.Forced = u.obj.GetGeneration(), u.wish()
	if unresolved && u.hasRecord() {
		record.Generation = u.record.Generation // what is found then may be of the attempt before
	}
	failpoint("before-intent")
	if stop := u.patchRecord(ctx, record); stop != nil {
		return stop
	}
	u.mem.outputs = nil // what is in them is of an earlier object
	u.mem.createdHere, u.mem.seenEver, u.mem.lookedAt, u.facts.NeverSeen = false, false, false, true
	u.facts.Unresolved, u.mem.first = unresolved, u.mem.first || first
	u.ids = u.chosen()
	u.pass.SetIdentifiers(u.ids)
	u.mem.confirmed, u.facts.Confirmed = false, false
	u.facts.Record, u.facts.Intended = state, true
	u.beginKey()
	return nil
}

// ownRecord is the record where it is believed to be this custom resource's, nil otherwise: parts of another, and those that
// somebody wrote in, are not taken over.
func (u *run) ownRecord() *lifecycle.Record {
	state := u.facts.Record
	if state == "" { // the facts are being gathered
		state = u.opened.State
	}
	switch state {
	case lifecycle.RecordNone, lifecycle.RecordCreating, lifecycle.RecordCreated:
		return u.record
	default:
		return nil
	}
}

// provesByName tells that the key of an object is known before it is made, and may be taken by somebody else meanwhile.
func (u *run) provesByName() bool {
	return u.facts.Safety == v1alpha1.SafetyUniqueKey && u.facts.AllChosen
}

// chosen are the identifiers without those that a server assigned to an earlier object.
func (u *run) chosen() map[string]string {
	out := make(map[string]string, len(u.ids))
	for name, value := range u.ids {
		if !slices.Contains(u.program.AssignedIdentifiers(), name) {
			out[name] = value
		}
	}
	return out
}

// patchRecord writes finalizer and record with an optimistic lock.
func (u *run) patchRecord(ctx context.Context, record lifecycle.Record) *lifecycle.Step {
	text, err := u.ring.Seal(record)
	if err != nil {
		return stall(v1alpha1.ReasonInternalError, err.Error())
	}
	metadata := u.locked()
	metadata["annotations"] = map[string]any{v1alpha1.RecordAnnotation: text, v1alpha1.ResolveAnnotation: nil}
	if finalizers := u.obj.GetFinalizers(); !slices.Contains(finalizers, v1alpha1.Finalizer) {
		metadata["finalizers"] = append(slices.Clone(finalizers), v1alpha1.Finalizer)
	}
	got, err := u.Writer.PatchMetadata(ctx, u.key, map[string]any{"metadata": metadata})
	if err != nil {
		return u.writeFailed(err)
	}
	u.wrote(got)
	u.record, u.facts.Finalizer, u.mem.recordText = &record, true, text
	u.noteAttempt()
	return nil
}

// locked is the metadata of a patch that fails when anything changed since.
func (u *run) locked() map[string]any {
	return map[string]any{"uid": string(u.obj.GetUID()), "resourceVersion": u.obj.GetResourceVersion()}
}

// wrote takes over the object as it is after a write.
func (u *run) wrote(got *fleet.Object) { u.obj, u.mem.written, u.mem.owed = got, got, nil }

// writeFailed ends the pass: nothing that depends on the write may go on.
func (u *run) writeFailed(err error) *lifecycle.Step {
	u.writeErr = err
	return retry(v1alpha1.ReasonInternalError, err.Error())
}

// keepIdentity persists which object is ours. After a create this is the one write that must not be lost, so it is
// tried for as long as the process lives; when the custom resource is gone, the object just made is taken back.
func (u *run) keepIdentity(ctx context.Context) *lifecycle.Step {
	record := lifecycle.NewRecord(u.subject(), u.endpoint.Identity(), lifecycle.PhaseCreated).WithParts(u.ownRecord())
	record.Identifiers, record.Seen = u.ids, u.facts.Policy.OnMissing == v1alpha1.MissingStall
	record.Generation = u.obj.GetGeneration()
	if u.hasRecord() {
		record.Generation, record.Forced = u.record.Generation, u.record.Forced // the create may be of an earlier pass
	}
	if u.record != nil {
		record.Attempt, record.At, record.Values = u.record.Attempt, u.record.At, u.record.Values
	}
	switch {
	case u.facts.Record == lifecycle.RecordCreated && maps.Equal(u.record.Identifiers, u.ids) && u.answer.kind == lifecycle.AnswerNone:
		// The identity was chosen by the client, and stands in the record since the intent.
	case u.facts.Record != lifecycle.RecordCreating || u.answer.kind != lifecycle.AnswerNone:
		if stop := u.patchRecord(ctx, record); stop != nil {
			return stop
		}
		u.answer, u.facts.Answer = answer{}, lifecycle.AnswerNone
	default:
		if stop := u.swapUntilKept(ctx, record); stop != nil {
			return stop
		}
	}
	u.facts.Record = lifecycle.RecordCreated
	u.mem.confirmed, u.facts.Confirmed = true, true
	if u.facts.Sent != nil {
		u.facts.Sent.Kept = true
	}
	lifecycle.Conclude(&u.facts, lifecycle.KeepIdentity)
	return u.claim(ctx)
}

func (u *run) swapUntilKept(ctx context.Context, record lifecycle.Record) *lifecycle.Step {
	var last error
	err := wait.PollUntilContextTimeout(ctx, keepPause, keepTime, true, func(ctx context.Context) (bool, error) {
		last = u.swapRecord(ctx, record)
		if last == nil || !lostRecord(last) {
			return last == nil, nil
		}
		again, why := u.takenUp(ctx, last)
		last = why
		return !again, nil
	})
	switch {
	case last != nil && lostRecord(last):
		return u.compensate(ctx, last)
	case err != nil, last != nil:
		return u.writeFailed(errors.Join(err, last))
	default:
		return nil
	}
}

const (
	// keepPause lies between two tries, and keepTime bounds all of them; the drain time of the process ends them earlier.
	keepPause = 500 * time.Millisecond
	keepTime  = 10 * time.Minute
)

func (u *run) swapRecord(ctx context.Context, record lifecycle.Record) error {
	to, err := u.ring.Seal(record)
	if err != nil {
		return err
	}
	from := u.obj.GetAnnotations()[v1alpha1.RecordAnnotation]
	if from == to {
		return nil
	}
	got, err := u.Writer.SwapAnnotation(ctx, u.key, u.obj.GetUID(), v1alpha1.RecordAnnotation, from, to)
	if err != nil {
		return err
	}
	u.wrote(got)
	u.record, u.mem.recordText = &record, to
	u.noteAttempt()
	return nil
}

// compensate takes back exactly the object that this attempt made, because nothing will ever remember it.
func (u *run) compensate(ctx context.Context, cause error) *lifecycle.Step {
	if !u.made() {
		return u.writeFailed(cause)
	}
	return u.writeFailed(errors.Join(cause, u.takeBack(ctx)))
}

// forgetIntent persists that nothing of ours is outside.
func (u *run) forgetIntent(ctx context.Context) *lifecycle.Step {
	record := lifecycle.NewRecord(u.subject(), u.record.Endpoint, lifecycle.PhaseNone).WithParts(u.ownRecord())
	if u.answer.kind != lifecycle.AnswerNone {
		if stop := u.patchRecord(ctx, record); stop != nil {
			return stop
		}
		u.answer, u.facts.Answer = answer{}, lifecycle.AnswerNone
	} else if err := u.swapRecord(ctx, record); err != nil {
		return u.writeFailed(err)
	}
	u.facts.Record, u.facts.Confirmed, u.mem.confirmed = lifecycle.RecordNone, false, false
	u.facts.Replaced, u.facts.Replacing = u.facts.Replacing, false
	if u.facts.Sent != nil {
		u.facts.Sent.Forgotten = true
	}
	lifecycle.Conclude(&u.facts, lifecycle.ForgetIntent)
	return nil
}

// release lets the custom resource go. It is the last thing that is ever done for it.
func (u *run) release(ctx context.Context) *lifecycle.Step {
	failpoint("gone-verified-before-release")
	metadata := u.locked()
	metadata["finalizers"] = slices.DeleteFunc(slices.Clone(u.obj.GetFinalizers()), func(f string) bool { return f == v1alpha1.Finalizer })
	got, err := u.Writer.PatchMetadata(ctx, u.key, map[string]any{"metadata": metadata})
	if err != nil && !apierrors.IsNotFound(err) {
		return u.writeFailed(err)
	}
	if got != nil {
		u.wrote(got)
	}
	u.released = true
	failpoint("after-release")
	u.Events.Normal(u.obj, "Released", string(rest.Delete), u.releasedText())
	return nil
}

func (u *run) releasedText() string {
	if u.facts.Sent != nil || u.facts.Look == lifecycle.LookAbsent {
		return "the object outside is gone"
	}
	return "let go; nothing was deleted outside"
}
