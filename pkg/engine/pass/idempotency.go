package pass

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/lifecycle"
	"github.com/restmapping/operator/pkg/rest"
)

// beginKey notes that the create which the record is about carries an idempotency key. One that was sent by a mapping without
// a place for it has none.
func (u *run) beginKey() {
	u.facts.Key = lifecycle.KeyNone
	if u.facts.Record == lifecycle.RecordCreating && u.record.Request != "" && u.program.KeyWindow() > 0 {
		u.facts.Key = lifecycle.KeyNotYet
	}
}

// keepRequest writes into an intent what tells whether a later request would be the very same.
func (u *run) keepRequest(record *lifecycle.Record, req rest.Request) {
	if u.program.KeyWindow() > 0 {
		record.Request = u.ring.HashValues(u.subject(), wholeRequest(req))
	}
}

// wholeRequest is all that a server could judge a request by. It may hold secrets, and is only for a keyed hash.
func wholeRequest(req rest.Request) []byte {
	type whole struct {
		Method, Path, Accept, ContentType string
		Query, Headers                    []rest.Parameter
		Body                              []byte
	}
	text, err := json.Marshal(whole{req.Method, req.Path, req.Accept, req.ContentType, req.Query, req.Headers, req.Body})
	if err != nil {
		return nil // never: texts, lists of texts and bytes can always be encoded
	}
	return text
}

// keyState finds out whether the create of the recorded attempt may be sent again with its key, and renders it.
func (u *run) keyState(ctx context.Context) lifecycle.KeyState {
	switch {
	case u.mem.keyRefused == u.record.Attempt:
		return lifecycle.KeyRefused
	case u.keyLeft() <= 0:
		return lifecycle.KeyOver
	}
	u.pass.SetIdempotencyKey(lifecycle.IdempotencyKey(u.subject().UID, u.record.Attempt))
	req, err := u.pass.CreateRequest(ctx)
	if err != nil {
		return lifecycle.KeyOfAnother
	}
	if same, known := u.ring.SameValues(u.record.Request, u.subject(), wholeRequest(req)); !known || !same {
		return lifecycle.KeyOfAnother
	}
	u.create = req
	return lifecycle.KeyHonoured
}

// keyLeft is how long from now the create may still begin to be sent again.
func (u *run) keyLeft() time.Duration {
	intent, err := time.Parse(time.RFC3339, u.record.At)
	if err != nil {
		return 0
	}
	return u.timing().KeyLeft(intent, u.program.KeyWindow(), u.Clock.Now())
}

// resendCreate sends the create of the recorded attempt once more, with its key. That it does is written down before, with
// an optimistic lock: an attempt that is over, or that a person has answered, is not taken up again on the word of an old cache;
// and a process that knows its own create to be unsent cannot take the attempt for undone.
func (u *run) resendCreate(ctx context.Context) *lifecycle.Step {
	began := u.Clock.Now()
	failpoint("before-resend")
	record := *u.record
	record.Resends++
	if stop := u.patchRecord(ctx, record); stop != nil {
		return stop
	}
	if u.keyLeft() <= 0 {
		u.facts.Key = lifecycle.KeyOver
		return nil
	}
	u.facts.Unresolved = true
	limited, cancel := context.WithTimeout(ctx, max(u.endpoint.Timeout()-u.Clock.Now().Sub(began), 0))
	defer cancel()
	resp, stop := u.mutate(limited, u.create)
	failpoint("after-resend-before-record")
	u.facts.Sent.Again = true
	if stop != nil {
		return stop
	}
	u.mem.createAnswered = u.facts.Sent.Outcome == lifecycle.Success
	if u.facts.Sent.Outcome == lifecycle.Rejected {
		u.mem.keyRefused = u.record.Attempt
	}
	u.Events.Normal(u.obj, "SentAgain", string(rest.Create), "the answer to a create was lost; it was sent again with its idempotency key: "+u.create.Method+" "+u.create.Route)
	return u.createAnswered(ctx, resp)
}

// errKept ends the keeping of what another process has kept.
var errKept = errors.New("another process has written down what the create has made")

// takenUp looks why the record of a create that carries a key is not as it was. The key gives every process that sends the
// attempt the same object, so taking it back would take it from the custom resource. Where another process is about to send
// it again, this one, which knows the answer, writes it down from the record as it is now (again); where another has written it
// down, there is nothing left to do (errKept). In all other cases the error is the one that is given.
func (u *run) takenUp(ctx context.Context, lost error) (again bool, err error) {
	sent := u.facts.Sent
	if u.record.Request == "" || sent == nil || sent.Operation != rest.Create || sent.Earlier {
		return false, lost // what was found, and not answered, may be made once more by another process
	}
	live, err := u.Writer.PatchMetadata(ctx, u.key, map[string]any{"metadata": map[string]any{"uid": string(u.obj.GetUID())}})
	switch {
	case apierrors.IsNotFound(err), apierrors.IsConflict(err), apierrors.IsInvalid(err): // it is gone, or a namesake is there
		return false, lost
	case err != nil:
		return true, err
	}
	opened := u.ring.Open(live.GetAnnotations()[v1alpha1.RecordAnnotation], u.subject(), live.GetCreationTimestamp().Time)
	switch {
	case opened.Record == nil || opened.Record.Attempt != u.record.Attempt:
		return false, lost
	case opened.State == lifecycle.RecordCreating && opened.Record.Underway == nil:
		u.wrote(live)
		u.record = opened.Record
		return true, lost
	case opened.State == lifecycle.RecordCreating, opened.State == lifecycle.RecordCreated && maps.Equal(opened.Record.Identifiers, u.ids):
		return false, errKept
	default:
		return false, lost
	}
}
