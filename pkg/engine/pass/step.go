package pass

import (
	"context"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/lifecycle"
	"github.com/restmapping/operator/pkg/rest"
)

// findStep finds out whether the object as seen must be made ready before it can be deleted.
func (u *run) findStep(ctx context.Context) *lifecycle.Step {
	u.facts.StepDue = false
	if !u.facts.Deleting || !u.program.HasDeleteSteps() {
		return nil
	}
	step, due, err := u.pass.DeleteStep(ctx, u.observed)
	if err != nil {
		return stall(v1alpha1.ReasonExpressionFailed, err.Error())
	}
	u.step, u.facts.StepDue = step, due
	return nil
}

// sendStep sends the request that comes next before the delete. What it does is seen by the next look, so that a process
// that is killed here has lost nothing.
func (u *run) sendStep(ctx context.Context) *lifecycle.Step {
	req, err := u.pass.DeleteStepRequest(ctx, u.step, u.observed)
	if err != nil {
		return stall(v1alpha1.ReasonExpressionFailed, err.Error())
	}
	before := u.mem.lastWrite
	u.stepping = true
	failpoint("before-step-send")
	_, stop := u.mutate(ctx, req)
	failpoint("after-step-send")
	u.stepping, u.facts.StepDue, u.facts.Sent.Step = false, false, true
	u.mem.lastWrite, u.mem.steppedAt = before, u.Clock.Now()
	if u.facts.Sent.Outcome == lifecycle.Success {
		u.Events.Normal(u.obj, "Preparing", string(rest.Delete), "made ready to be deleted: "+req.Method+" "+req.Route)
	}
	return stop
}
