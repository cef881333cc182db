package mapping

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/restmapping/operator/api/v1alpha1"
)

// maxMessage is the longest message of a condition that the API accepts.
const maxMessage = 32768

// write sends the status if it changed.
func (r *Reconciler) write(ctx context.Context, m *v1alpha1.RestMapping, rep *report) error {
	before := m.DeepCopy()
	rep.summarise()
	if equality.Semantic.DeepEqual(before.Status, m.Status) {
		return nil
	}
	if err := client.IgnoreNotFound(r.Client.Status().Patch(ctx, m, client.MergeFrom(before))); err != nil {
		return fmt.Errorf("write status of RestMapping %s: %w", m.Name, err)
	}
	return nil
}

// summarise makes the mapping's status of the report.
func (r *report) summarise() {
	s := &r.m.Status
	s.ObservedGeneration = r.m.Generation
	s.ExpressionErrors, s.ChangePlan = r.errors, r.plan
	r.describeProgram(s)
	r.count(s)
	for _, c := range []metav1.Condition{r.targetCompatible, r.accepted, r.watching, r.ready()} {
		r.setCondition(c)
	}
	r.toggle(v1alpha1.ConditionStalled, r.stalled)
	r.toggle(v1alpha1.ConditionReconciling, r.working)
}

func (r *report) describeProgram(s *v1alpha1.RestMappingStatus) {
	s.Endpoint = string(r.m.Spec.Endpoint.Kind) + "/" + r.m.Spec.Endpoint.Name
	if r.m.Spec.Endpoint.NameExpression != "" {
		s.Endpoint = fmt.Sprintf("%s/(%s)", r.m.Spec.Endpoint.Kind, r.m.Spec.Endpoint.NameExpression)
	}
	if r.serves && (s.AcceptedGeneration != r.m.Generation || s.AcceptedSpec == "") {
		s.AcceptedGeneration, s.AcceptedSpec = r.m.Generation, pack(&r.m.Spec)
	}
	if r.program != nil {
		s.CreateSafety, s.CreateSafetyMessage = r.program.CreateSafety()
	}
}

func (r *report) count(s *v1alpha1.RestMappingStatus) {
	if r.state == nil {
		s.Objects, s.Summary = nil, ""
		return
	}
	s.Objects = &v1alpha1.ObjectCounts{Total: count32(r.state.Objects), Ready: count32(r.state.Ready), Stalled: count32(r.state.Stalled)}
	s.Summary = fmt.Sprintf("%d/%d", r.state.Ready, r.state.Objects)
	s.HeldDeletions = nil
	if r.state.HeldSince != "" {
		s.HeldDeletions = &v1alpha1.HeldDeletions{Since: r.state.HeldSince, Message: r.state.HeldBecause}
	}
}

func count32(n int) int32 { return int32(min(n, 1<<31-1)) } //nolint:gosec // bounded by min

func (r *report) ready() metav1.Condition {
	c := metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonServing, Message: "serving its custom resources"}
	if r.reason != "" {
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, r.reason, r.message
	}
	return c
}

func (r *report) toggle(kind string, on bool) {
	if !on {
		meta.RemoveStatusCondition(&r.m.Status.Conditions, kind)
		return
	}
	r.setCondition(metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: r.reason, Message: r.message})
}

func (r *report) setCondition(c metav1.Condition) {
	c.ObservedGeneration = r.m.Generation
	if runes := []rune(c.Message); len(runes) > maxMessage/4 {
		c.Message = string(runes[:maxMessage/4]) + "…"
	}
	meta.SetStatusCondition(&r.m.Status.Conditions, c)
}
