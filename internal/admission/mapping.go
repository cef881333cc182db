package admission

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/mapping"
)

// Previewer compiles a mapping that is not stored yet.
type Previewer interface {
	Preview(ctx context.Context, m *v1alpha1.RestMapping) (warnings []string, err error)
}

// Mappings refuses mappings that cannot be compiled against their CRD, with all their errors at once. What may still come,
// such as the CRD, is a warning.
type Mappings struct{ Previewer Previewer }

var _ admission.Validator[*v1alpha1.RestMapping] = Mappings{}

// ValidateCreate implements admission.Validator.
func (v Mappings) ValidateCreate(ctx context.Context, m *v1alpha1.RestMapping) (admission.Warnings, error) {
	return v.judge(ctx, m)
}

// ValidateUpdate implements admission.Validator. What does not touch the spec is let through: a mapping that was stored
// before its CRD changed must still be able to let its finalizer go.
func (v Mappings) ValidateUpdate(ctx context.Context, before, m *v1alpha1.RestMapping) (admission.Warnings, error) {
	if m.DeletionTimestamp != nil || equality.Semantic.DeepEqual(before.Spec, m.Spec) {
		return nil, nil
	}
	return v.judge(ctx, m)
}

// ValidateDelete implements admission.Validator. A mapping in use is not refused: its finalizer lets nothing be lost, and a
// tool that deletes mapping and custom resources together must be able to. Who deletes it by hand is told.
func (v Mappings) ValidateDelete(_ context.Context, m *v1alpha1.RestMapping) (admission.Warnings, error) {
	if o := m.Status.Objects; o != nil && o.Total > 0 {
		return admission.Warnings{fmt.Sprintf(
			"%d custom resources of kind %s use this mapping; it goes on serving until those with objects outside are gone, and deletes nothing outside by itself", o.Total, m.Spec.Target.Kind)}, nil
	}
	return nil, nil
}

func (v Mappings) judge(ctx context.Context, m *v1alpha1.RestMapping) (admission.Warnings, error) {
	warnings, err := v.Previewer.Preview(ctx, m)
	if err == nil {
		return warnings, nil
	}
	invalid := (*mapping.InvalidError)(nil)
	if !errors.As(err, &invalid) {
		return warnings, apierrors.NewInternalError(fmt.Errorf("judge RestMapping %s: %w; try again", m.Name, err))
	}
	var list field.ErrorList
	for _, one := range invalid.Errors {
		list = append(list, &field.Error{Type: field.ErrorTypeInvalid, Field: one.Field, BadValue: field.OmitValueType{}, Detail: detail(one)})
	}
	return warnings, apierrors.NewInvalid(schema.GroupKind{Group: v1alpha1.Group, Kind: "RestMapping"}, m.Name, list)
}

func detail(e v1alpha1.ExpressionError) string {
	if e.Line == 0 {
		return e.Message
	}
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Message)
}
