package pass

import (
	"context"
	"errors"
	"maps"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/engine/outputs"
	"github.com/restmapping/operator/pkg/lifecycle"
	"github.com/restmapping/operator/pkg/mapping"
	"github.com/restmapping/operator/pkg/rest"
)

// A value that only the answer to a create holds is there once. So its place is made before the create is sent, when a
// foreign object or a missing right costs nothing yet; the value goes there before anything else is done with the answer;
// and who does not know what became of a create looks there first.

var errForeignOutput = errors.New("an object of somebody else took the place of the output while the create was under way")

// reserveOutputs makes the place of each output that a create will fill.
func (u *run) reserveOutputs(ctx context.Context) *lifecycle.Step {
	for _, output := range u.program.Outputs() {
		if !output.OnCreate {
			continue
		}
		if problem := u.reserveOutput(ctx, output); problem != nil {
			if problem.stalled {
				return stall(problem.reason, problem.message)
			}
			return retry(problem.reason, problem.message)
		}
	}
	return nil
}

func (u *run) reserveOutput(ctx context.Context, output mapping.Output) *outputProblem {
	ref, err := u.outputRef(ctx, output)
	if err != nil {
		return &outputProblem{v1alpha1.ReasonExpressionFailed, err.Error(), true}
	}
	live, err := u.Outputs.Get(ctx, ref)
	switch {
	case err != nil:
		return u.outputFailed(ref, err)
	case live == nil:
		if _, err := u.putOutput(ctx, ref, nil, nil, outputNote{}); err != nil {
			return u.outputFailed(ref, err)
		}
	case live.Controller != u.obj.GetUID():
		return conflicting(ref)
	}
	return nil
}

// storeCreated writes what the answer to the create holds, and with it what was made. It is tried for as long as the
// identity is, since it cannot be asked for again; when it cannot be stored at all, the identity is kept all the same.
func (u *run) storeCreated(ctx context.Context, resp *rest.Response) {
	for _, output := range u.program.Outputs() {
		if !output.OnCreate {
			continue
		}
		data, err := u.pass.CreatedData(ctx, output, resp)
		u.conceal(output, data)
		if err != nil {
			u.Events.Warning(u.obj, v1alpha1.ReasonExpressionFailed, string(rest.Create), u.redact(err.Error()))
		}
		if err := u.storeOne(ctx, output, data, false); err != nil {
			u.Events.Warning(u.obj, v1alpha1.ReasonOutputNotWritten, string(rest.Create), u.redact(err.Error()))
		}
	}
	failpoint("after-output-before-record")
}

// storeOne writes the values of an output. over keeps those that the answer does not hold.
func (u *run) storeOne(ctx context.Context, output mapping.Output, data map[string]string, over bool) error {
	ref, err := u.outputRef(ctx, output)
	if err != nil {
		return err
	}
	note := outputNote{Attempt: u.record.Attempt, Made: true, Identifiers: u.ids, Rotated: u.rotationWish(), At: u.Clock.Now().UTC().Truncate(time.Second)}
	var last error
	err = wait.PollUntilContextTimeout(ctx, keepPause, keepTime, true, func(ctx context.Context) (bool, error) {
		last = u.storeOnce(ctx, output, ref, data, note, over)
		return last == nil || hopeless(last), nil
	})
	return errors.Join(err, last)
}

func (u *run) storeOnce(ctx context.Context, output mapping.Output, ref outputs.Ref, data map[string]string, note outputNote, over bool) error {
	live, err := u.Outputs.Get(ctx, ref)
	if err != nil {
		return err
	}
	if live != nil && live.Controller != u.obj.GetUID() {
		return errForeignOutput
	}
	if over && live != nil {
		former := maps.Clone(live.Data)
		if former == nil {
			former = map[string]string{}
		}
		maps.Copy(former, data)
		data = former
	}
	written, err := u.putOutput(ctx, ref, live, data, note)
	if err != nil {
		return err
	}
	u.rememberOutput(ref, written, lostKeys(ref, output, written))
	return nil
}

// hopeless tells which writes of an output need not be tried again.
func hopeless(err error) bool {
	return errors.Is(err, errForeignOutput) || apierrors.IsForbidden(err) || apierrors.IsInvalid(err)
}

// recall looks whether an output was written with the answer to the recorded attempt: then that create is known to have
// worked, and what it made.
func (u *run) recall(ctx context.Context) *lifecycle.Step {
	if u.facts.Record != lifecycle.RecordCreating || u.facts.Suspended || u.record.Attempt == "" {
		return nil
	}
	for _, output := range u.program.Outputs() {
		if !output.OnCreate {
			continue
		}
		ref, err := u.outputRef(ctx, output)
		if err != nil {
			continue // nothing was written under a name that cannot be known
		}
		live, err := u.Outputs.Get(ctx, ref)
		if err != nil {
			problem := u.outputFailed(ref, err)
			return retry(problem.reason, problem.message)
		}
		if live != nil && live.Controller == u.obj.GetUID() {
			u.recognise(u.genuineNote(ref, live))
		}
	}
	return nil
}

// recognise takes the assigned identifiers from the note of the recorded attempt, when it has all of them.
func (u *run) recognise(note outputNote) {
	if note.Attempt != u.record.Attempt || !note.Made {
		return
	}
	stored := map[string]string{}
	for _, name := range u.program.AssignedIdentifiers() {
		if note.Identifiers[name] == "" {
			return
		}
		stored[name] = note.Identifiers[name]
	}
	u.stored, u.facts.Stored = stored, true
}
