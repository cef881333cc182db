package pass

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/engine/queue"
	"github.com/restmapping/operator/pkg/engine/status"
	"github.com/restmapping/operator/pkg/lifecycle"
)

// finish writes the status if it changed, and says when to come again.
func (u *run) finish(ctx context.Context, step lifecycle.Step) (queue.Result, error) {
	if u.released {
		return queue.Result{}, nil
	}
	if u.writeErr != nil {
		return queue.Result{}, u.writeErr
	}
	if u.facts.Deleting && !u.facts.Finalizer {
		return queue.Result{}, nil
	}
	if err := u.markSeen(ctx); err != nil {
		return queue.Result{}, err
	}
	ready := u.deliver(ctx, step, u.readiness(ctx))
	if u.facts.Sent != nil {
		failpoint("after-record-before-status")
	}
	if err := u.writeStatus(ctx, u.state(step, ready)); err != nil {
		if apierrors.IsNotFound(err) {
			return queue.Result{}, errGone
		}
		return queue.Result{}, err
	}
	u.mem.owed = nil
	return u.schedule(step, ready), nil
}

// greet writes the first status of a custom resource whose CRD has no default for it: without any, it would read as
// done.
func (u *run) greet(ctx context.Context) error {
	if _, has := u.currentStatus()["observedGeneration"]; has || u.facts.Deleting || status.Find(u.currentStatus(), v1alpha1.ConditionReady) != nil {
		return nil
	}
	c := status.Condition{Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonProgressing, Message: "not looked at yet"}
	working := c
	working.Status = metav1.ConditionTrue
	return u.writeStatus(ctx, status.State{Ready: &c, Synced: &c, Reconciling: &working})
}

// markSeen persists what has to be known later and stands nowhere else: which write-only values the object has now; that it is
// known to be ours, where a later absence is to be told from a first create, and where the status has no room for what tells it
// from somebody else's; and with which generation it was as specified, where an edit is to be told from what a server makes
// of it.
func (u *run) markSeen(ctx context.Context) error {
	if u.record == nil || u.facts.Record != lifecycle.RecordCreated {
		return nil
	}
	seen := *u.record
	if u.untoldValues() {
		seen.Values = u.writeOnly
	}
	if u.facts.Look == lifecycle.LookFound {
		untold := seen.Again || u.provesByName() && !u.program.StatusHas(status.FieldIdentifiers)
		seen.Seen = seen.Seen || u.facts.Confirmed && (untold || u.facts.Policy.OnMissing == v1alpha1.MissingStall)
		if u.facts.Policy.Immutable == v1alpha1.ImmutableReplace && u.facts.Equal && !u.facts.Immutable {
			seen.Generation = u.obj.GetGeneration()
		}
	}
	if seen.Seen == u.record.Seen && seen.Values == u.record.Values && seen.Generation == u.record.Generation {
		return nil
	}
	return u.swapRecord(ctx, seen)
}

// writeStatus sends the difference between the status as it is and as it should be; nothing when there is none.
func (u *run) writeStatus(ctx context.Context, state status.State) error {
	target := status.Target{Current: u.currentStatus(), Generation: u.obj.GetGeneration(), Has: u.program.StatusHas}
	wanted := status.Build(target, state, u.Clock.Now())
	if status.Equal(target.Current, wanted) {
		return nil
	}
	patch := map[string]any{"metadata": u.locked(), "status": status.MergePatch(target.Current, wanted)}
	got, err := u.Writer.PatchStatus(ctx, u.key, patch)
	if err != nil {
		return err
	}
	u.announce(wanted)
	u.wrote(got)
	u.self["status"] = wanted
	return nil
}

// announce makes an event of each change of state that a person would want to know: stalled, and well again.
func (u *run) announce(wanted map[string]any) {
	was, is := status.Find(u.currentStatus(), v1alpha1.ConditionStalled), status.Find(wanted, v1alpha1.ConditionStalled)
	switch {
	case is != nil && (was == nil || was["reason"] != is["reason"]):
		reason, _ := is["reason"].(string)
		message, _ := is["message"].(string)
		u.Events.Warning(u.obj, reason, "Reconcile", message)
	case u.reportsAnew(wanted):
		u.Events.Warning(u.obj, v1alpha1.ReasonDriftReported, "Observe", "differs from the specification and is left so: "+u.described(u.differences))
	case is == nil && was != nil && isTrue(wanted, v1alpha1.ConditionReady):
		u.Events.Normal(u.obj, "Recovered", "Reconcile", "no longer stalled")
	}
}

func isTrue(current map[string]any, kind string) bool {
	c := status.Find(current, kind)
	return c != nil && c["status"] == "True"
}

// schedule says when to look again.
func (u *run) schedule(step lifecycle.Step, ready readiness) queue.Result {
	switch step.Action {
	case lifecycle.Retry:
		if after := u.serverWish(); after > 0 {
			return queue.Result{After: after}
		}
		return queue.Result{Err: &retryError{step: step}}
	case lifecycle.Wait:
		if u.comeBack > 0 {
			return queue.Result{After: u.comeBack}
		}
		return queue.Result{After: u.delay(step.Delay)}
	default:
		if step.Reason == v1alpha1.ReasonSuspended {
			return queue.Result{}
		}
		interval := u.interval()
		if u.facts.Look == lifecycle.LookFound && !ready.ok && !ready.stalled || unbelieved(step) || u.mayTakeEffect(step) || u.facts.Underway != nil {
			interval = min(interval, notReadyInterval)
		}
		if u.comeBack > 0 {
			interval = min(interval, u.comeBack)
		}
		return queue.Result{After: interval, Priority: queue.PriorityLow}
	}
}

// unbelieved: the record is put right without a sign to us: by a change of the annotation, which our own writes change too,
// or of the keys.
func unbelieved(step lifecycle.Step) bool {
	switch step.Reason {
	case v1alpha1.ReasonRecordForged, v1alpha1.ReasonRecordNewer, v1alpha1.ReasonRecordUnverified:
		return true
	default:
		return false
	}
}

// retryError carries a step to the queue, which backs off. The status has told people already.
type retryError struct{ step lifecycle.Step }

func asRetry(err error) (*retryError, bool) { return errors.AsType[*retryError](err) }

// Error implements error.
func (e *retryError) Error() string { return e.step.Reason + ": " + e.step.Message }

// interval is the mapping's, not below the floor, with a jitter of a tenth either way.
func (u *run) interval() time.Duration {
	base := max(u.program.Interval(), u.MinInterval)
	return time.Duration(float64(base) * (0.9 + 0.2*u.Jitter()))
}

func (u *run) serverWish() time.Duration {
	if u.failure == nil {
		return 0
	}
	return min(u.failure.verdict.After, maxServerDelay)
}

func (u *run) delay(d lifecycle.Delay) time.Duration {
	now, t := u.Clock.Now(), u.timing()
	until := func(at time.Time) time.Duration { return max(at.Sub(now), shortDelay) }
	switch d {
	case lifecycle.DelayNone:
		return time.Millisecond
	case lifecycle.DelayShort:
		return shortDelay
	case lifecycle.DelayConsistency:
		return max(until(u.mem.lastWrite.Add(t.Window)), until(u.mem.foreignSince.Add(t.Window)))
	case lifecycle.DelaySettle:
		return until(u.mem.attemptSince.Add(t.Settle()))
	case lifecycle.DelayFence:
		return until(u.fenceEnd(t))
	case lifecycle.DelayEvent:
		return u.interval()
	case lifecycle.DelayOperation:
		return u.pollDelay()
	case lifecycle.DelayServer:
		if wish := u.serverWish(); wish > 0 {
			return wish
		}
		return serverDelay
	default:
		return serverDelay
	}
}

func (u *run) fenceEnd(t lifecycle.Timing) time.Time {
	m, end := u.mem, u.mem.openUntil
	later := func(at time.Time) {
		if at.After(end) {
			end = at
		}
	}
	if !m.createAnswered && !m.confirmed {
		later(m.attemptSince.Add(t.Settle()))
	}
	if !m.first {
		later(u.LeaderSince.Add(t.Settle()))
	}
	return end
}

// summarise tells how the pass ended.
func (u *run) summarise(ctx context.Context, step lifecycle.Step, started time.Time, denied bool) {
	took := u.Clock.Now().Sub(started)
	current := u.currentStatus()
	s := Summary{
		Key: u.key, Ready: isTrue(current, v1alpha1.ConditionReady), Stalled: isTrue(current, v1alpha1.ConditionStalled),
		End: string(step.Action), Reason: u.reason(step), Message: u.message(step), Drifted: len(u.drifted) > 0, Duration: took, Started: started,
		Denied: denied || u.denied,
	}
	s.Corrected, s.ReadyAfter = u.corrected, u.readyAfter(s.Ready)
	if u.pass != nil {
		s.Cost, s.ExpressionErrors = u.pass.Spent()
	}
	traceEnd(ctx, s)
	u.tell(s)
}
