package endpoint

import (
	"context"
	"errors"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/engine/endpoints"
	"github.com/restmapping/operator/pkg/httpapi"
	"github.com/restmapping/operator/pkg/rest"
)

const (
	// defaultInterval is that between two probes, and between two tries of an endpoint without one.
	defaultInterval = time.Minute
	// minInterval keeps a server from being probed more often than a probe's result is shared.
	minInterval = 10 * time.Second
	// maxRetryAfter bounds what a server may ask for.
	maxRetryAfter = time.Hour
	// jitter spreads the probes of many endpoints.
	jitter = 0.1
	// maxMessage is the longest message of a condition, in bytes.
	maxMessage = 1024
)

// finding is what one look at an endpoint showed.
type finding struct {
	ready    bool
	stalled  bool
	declared bool
	// fetched tells that the credential is made elsewhere and may fail later, although nothing changes here.
	fetched bool
	reason  string
	message string
	// retryAfter is the server's own wish.
	retryAfter time.Duration
	// held tells that nothing was sent, and that retryAfter is when something will be; unknown that the server's word on
	// the endpoint still stands.
	held, unknown bool
	// slowed tells that the server asked for fewer requests.
	slowed bool
	// moved says who has objects at a server to which the endpoint led before, empty for nobody. keepMoved leaves what
	// stands, because it could not be found out.
	moved     string
	keepMoved bool
}

// look builds the endpoint's client and probes the server. The error means that nothing was found out.
func look(ctx context.Context, registry *endpoints.Registry, ref endpoints.Ref) (finding, error) {
	found, err := registry.Refresh(ctx, ref)
	if err != nil {
		return failed(ctx, err)
	}
	fetched, err := found.Ready(ctx)
	if err != nil {
		return failed(ctx, err)
	}
	declared, err := found.Probe(ctx)
	flow := found.Flow()
	if err != nil {
		f, err := failed(ctx, err)
		f.slowed = flow.Slowed
		return f, err
	}
	if !declared && flow.Circuit != httpapi.CircuitClosed {
		return finding{
			reason: v1alpha1.ReasonCircuitOpen, slowed: flow.Slowed,
			message: ref.String() + " failed too often in a row and is left alone for a while, then one read tries how it does: look at that server (spec.circuitBreaker)",
		}, nil
	}
	if !declared {
		return finding{
			slowed: flow.Slowed,
			ready:  true, fetched: fetched, reason: v1alpha1.ReasonConfigured,
			message: "the endpoint can be used; it declares no spec.probe, so nothing was sent to the server",
		}, nil
	}
	return finding{
		ready: true, declared: true, slowed: flow.Slowed, reason: v1alpha1.ReasonProbeSucceeded,
		message: "the server answered the probe with success",
	}, nil
}

// failed turns an error into what it says about the endpoint. That the operator stops says nothing.
func failed(ctx context.Context, err error) (finding, error) {
	if ctx.Err() != nil || errors.Is(err, endpoints.ErrClosed) {
		return finding{}, err
	}
	reason, stalled := endpoints.Reason(err)
	f := finding{stalled: stalled, reason: reason, message: cut(err.Error())}
	if probe := (*endpoints.ProbeError)(nil); errors.As(err, &probe) {
		f.declared = true
		f.retryAfter = min(probe.Exchange.RetryAfter, maxRetryAfter)
		if failure := probe.Exchange.Failure; failure != nil {
			f.held = failure.Held == rest.HeldByCircuit || failure.Held == rest.HeldByServer
			f.unknown = failure.Held == rest.HeldByServer
		}
	}
	return f, nil
}

// after is when to look again without being told, zero for not at all. An endpoint that cannot be used is looked at
// again even where a watch would tell, because not everything that mends it is watched: a Secret without the label.
func (f finding) after(probe *v1alpha1.Probe) time.Duration {
	if f.ready && !f.declared && !f.fetched && f.moved == "" && !f.keepMoved {
		return 0
	}
	if f.held {
		return wait.Jitter(max(f.retryAfter, time.Second), jitter)
	}
	interval := defaultInterval
	if probe != nil && probe.Interval.Duration != 0 {
		interval = probe.Interval.Duration
	}
	return wait.Jitter(max(interval, minInterval, f.retryAfter), jitter)
}

// apply writes the finding into a status, as kstatus reads it: Reconciling and Stalled stand only while they are true.
func (f finding) apply(status *v1alpha1.EndpointStatus, generation int64, now time.Time) {
	status.ObservedGeneration = generation
	set := func(kind string, truth bool, reason string) {
		condition := metav1.Condition{
			Type: kind, Status: metav1.ConditionFalse, Reason: reason, Message: f.message,
			ObservedGeneration: generation, LastTransitionTime: metav1.NewTime(now),
		}
		if truth {
			condition.Status = metav1.ConditionTrue
		}
		meta.SetStatusCondition(&status.Conditions, condition)
	}
	f.applySlowed(status, generation, now)
	if known := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady); f.unknown && known != nil && known.ObservedGeneration == generation {
		return // the server was not asked, and what it said last still stands
	}
	set(v1alpha1.ConditionReady, f.ready, f.reason)
	if f.stalled {
		set(v1alpha1.ConditionStalled, true, f.reason)
	} else {
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionStalled)
	}
	f.applyMoved(status, generation, now)
	if !f.ready && !f.stalled {
		set(v1alpha1.ConditionReconciling, true, v1alpha1.ReasonProgressingWithRetry)
	} else {
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionReconciling)
	}
}

// applySlowed says that the server does not get the full rate, while that is so.
func (f finding) applySlowed(status *v1alpha1.EndpointStatus, generation int64, now time.Time) {
	if !f.slowed {
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionThrottled)
		return
	}

	meta.SetStatusCondition(&status.Conditions, metav1.Condition{
		Type: v1alpha1.ConditionThrottled, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonThrottled,
		Message:            "the server asked for fewer requests (429 or 503): they wait as long as it asked, and then go at a lower rate that grows again",
		ObservedGeneration: generation, LastTransitionTime: metav1.NewTime(now),
	})
}

func (f finding) applyMoved(status *v1alpha1.EndpointStatus, generation int64, now time.Time) {
	switch {
	case f.moved != "":
		meta.SetStatusCondition(&status.Conditions, metav1.Condition{
			Type: v1alpha1.ConditionTargetIdentityChanged, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonTargetIdentityChanged,
			Message: f.moved, ObservedGeneration: generation, LastTransitionTime: metav1.NewTime(now),
		})
	case f.keepMoved:
		if known := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionTargetIdentityChanged); known != nil {
			known.ObservedGeneration = generation
		}
	default:
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionTargetIdentityChanged)
	}
}

func cut(message string) string {
	if len(message) <= maxMessage {
		return message
	}
	const dots = "..."
	return strings.ToValidUTF8(message[:maxMessage-len(dots)], "") + dots
}
