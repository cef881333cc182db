package admission

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// RuleJudge knows the rules of mappings.
type RuleJudge interface {
	// Violations gives the rules that a custom resource would break, and warnings about those that could not be judged.
	Violations(ctx context.Context, object *unstructured.Unstructured) (broken, warnings []string, err error)
}

// CustomResources refuses custom resources of managed kinds that break the rules of their mapping. Whatever it cannot judge it lets
// through: the operator judges again before it sends anything. What is being deleted, and a change that leaves spec and
// labels as they are, such as the operator's own of finalizers and annotations, is never refused.
type CustomResources struct{ Judge RuleJudge }

var _ admission.Handler = CustomResources{}

// Handle implements admission.Handler.
func (v CustomResources) Handle(ctx context.Context, req admission.Request) admission.Response {
	if req.Operation != admissionv1.Create && req.Operation != admissionv1.Update || req.SubResource != "" {
		return admission.Allowed("")
	}
	object, before := &unstructured.Unstructured{}, &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(req.Object.Raw); err != nil {
		return admission.Errored(http.StatusBadRequest, fmt.Errorf("decode the custom resource: %w", err))
	}
	if req.Operation == admissionv1.Update {
		if err := before.UnmarshalJSON(req.OldObject.Raw); err != nil {
			return admission.Errored(http.StatusBadRequest, fmt.Errorf("decode the custom resource as it was: %w", err))
		}
	}
	if object.GetDeletionTimestamp() != nil || req.Operation == admissionv1.Update && sameToRules(before, object) {
		return admission.Allowed("")
	}
	broken, warnings, err := v.Judge.Violations(ctx, object)
	switch {
	case err != nil:
		return admission.Allowed("").WithWarnings(fmt.Sprintf("the rules of the mapping were not checked: %v", err))
	case len(broken) > 0:
		return admission.Denied(strings.Join(broken, "; ")).WithWarnings(warnings...)
	default:
		return admission.Allowed("").WithWarnings(warnings...)
	}
}

// sameToRules tells that nothing was changed that a person writes and rules speak of.
func sameToRules(before, after *unstructured.Unstructured) bool {
	return equality.Semantic.DeepEqual(before.Object["spec"], after.Object["spec"]) && equality.Semantic.DeepEqual(before.GetLabels(), after.GetLabels())
}
