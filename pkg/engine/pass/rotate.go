package pass

import (
	"context"
	"errors"
	"strconv"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/lifecycle"
	"github.com/restmapping/operator/pkg/rest"
)

// A rotation makes the server give an object a new secret, which only its answer shows. That it was done is written down with
// the value, in one write: who is killed before that rotates once more, and the value of the last is the one that is kept.

// rotationWish is a hash of what the annotation asks for, "" for nothing.
func (u *run) rotationWish() string {
	token := u.obj.GetAnnotations()[v1alpha1.RotateAnnotation]
	if token == "" {
		return ""
	}
	return strconv.FormatUint(hashOf(token), 36)
}

// noteRotation finds out whether the object is to get a new secret. What cannot be known is no reason for one: the output
// itself tells people what is wrong with it.
func (u *run) noteRotation(ctx context.Context) {
	u.facts.Rotate = false
	if !u.program.Supports(rest.Rotate) || u.facts.Deleting || u.facts.Record != lifecycle.RecordCreated {
		return
	}
	for _, output := range u.program.Outputs() {
		if !output.OnRotate {
			continue
		}
		ref, err := u.outputRef(ctx, output)
		if err != nil {
			return
		}
		known, current, err := u.knownOutput(ctx, ref)
		if err != nil {
			return
		}
		if !current {
			live, err := u.Outputs.Get(ctx, ref)
			if err != nil || live != nil && live.Controller != u.obj.GetUID() {
				return
			}
			known = outputMemory{}
			if live != nil {
				note := readNote(live)
				known.rotated, known.at = note.Rotated, note.At
			}
		}
		u.facts.Rotate = u.facts.Rotate || u.rotationDue(known)
	}
}

func (u *run) rotationDue(known outputMemory) bool {
	if wish := u.rotationWish(); wish != "" && wish != known.rotated {
		return true
	}
	every, since := u.program.RotateEvery(), known.at
	if since.IsZero() {
		since = u.obj.GetCreationTimestamp().Time
	}
	return every > 0 && u.Clock.Now().Sub(since) >= every
}

// sendRotate asks for the new secret and stores it.
func (u *run) sendRotate(ctx context.Context) *lifecycle.Step {
	req, err := u.pass.RotateRequest(ctx, u.observed)
	if err != nil {
		return stall(v1alpha1.ReasonExpressionFailed, err.Error())
	}
	resp, stop := u.mutate(ctx, req)
	if stop != nil || u.facts.Sent.Outcome != lifecycle.Success {
		return stop
	}
	if err := u.storeRotated(ctx, resp); err != nil {
		return retry(v1alpha1.ReasonOutputNotWritten, u.redact(err.Error()))
	}
	u.facts.Rotate = false
	u.Events.Normal(u.obj, "Rotated", string(rest.Rotate), "got a new secret: "+req.Method+" "+req.Route)
	return nil
}

// storeRotated writes the new values. A key that the answer does not hold keeps its value, and an event says so: asking
// again would give the same.
func (u *run) storeRotated(ctx context.Context, resp *rest.Response) error {
	var problems []error
	for _, output := range u.program.Outputs() {
		if !output.OnRotate {
			continue
		}
		data, err := u.pass.CreatedData(ctx, output, resp)
		u.conceal(output, data)
		if err != nil {
			u.Events.Warning(u.obj, v1alpha1.ReasonExpressionFailed, string(rest.Rotate), u.redact(err.Error()))
		}
		problems = append(problems, u.storeOne(ctx, output, data, true))
	}
	return errors.Join(problems...)
}
