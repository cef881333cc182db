package mapping

import (
	"context"
	"fmt"
	"maps"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/celrules"
	"github.com/restmapping/operator/pkg/rest"
)

// body builds the encoded body of a request and its media type; nil when it has none.
func (s *Pass) body(ctx context.Context, plan *operationPlan, observed any) (body []byte, contentType string, err error) {
	value, present, err := s.bodyValue(ctx, plan, observed)
	if err == nil {
		value, present, err = s.keyed(plan, value, present)
	}
	if err != nil || !present {
		return nil, "", err
	}
	contentType = plan.contentType
	switch plan.encoding {
	case v1alpha1.EncodingForm:
		body, err = encodeForm(plan.field, value)
	case v1alpha1.EncodingMultipart:
		body, contentType, err = encodeMultipart(plan.field, value)
	case v1alpha1.EncodingRaw:
		text, _ := value.(string) // a RawResult
		body = []byte(text)
	default:
		if body, err = encodeJSON(value); err != nil {
			err = fmt.Errorf("%s: the body cannot be written as JSON: %w", plan.field, err)
		}
	}
	if err != nil {
		return nil, "", err
	}
	return body, contentType, nil
}

func (s *Pass) bodyValue(ctx context.Context, plan *operationPlan, observed any) (value any, present bool, err error) {
	if plan.bodyFrom != nil {
		return s.bodyFromExpression(ctx, plan, observed)
	}
	switch plan.body {
	case v1alpha1.BodyDesired:
		value, err = s.carried(plan, observed)(s.desired(ctx, plan.operation))
	case v1alpha1.BodyChanged:
		value, err = s.carried(plan, observed)(s.changed(ctx, observed))
	case v1alpha1.BodyOverlay:
		value, err = s.overlay(ctx, plan, observed)
	case v1alpha1.BodyJSONPatch:
		value, err = s.jsonPatch(ctx, plan, observed)
	default:
		return nil, false, nil
	}
	return value, err == nil, err
}

// bodyFromExpression evaluates a whole body. Only what the expression names is computed.
func (s *Pass) bodyFromExpression(ctx context.Context, plan *operationPlan, observed any) (any, bool, error) {
	more := s.observedVariables(observed)
	if plan.bodyFrom.uses(celrules.Desired) {
		desired, err := s.desired(ctx, plan.operation)
		if err != nil {
			return nil, false, err
		}
		more[celrules.Desired] = desired
	}
	if plan.bodyFrom.uses(celrules.Changed) {
		changed, err := s.changed(ctx, observed)
		if err != nil {
			return nil, false, err
		}
		more[celrules.Changed] = changed
	}
	return s.evaluate(ctx, plan.bodyFrom, more)
}

// carried copies what the server wants back out of the observed object into a body.
func (s *Pass) carried(plan *operationPlan, observed any) func(map[string]any, error) (any, error) {
	return func(document map[string]any, err error) (any, error) {
		if err != nil {
			return nil, err
		}
		for _, path := range plan.carry {
			if value, there := path.get(observed); there {
				path.set(document, value)
			}
		}
		return document, nil
	}
}

// fieldValue gives what the custom resource wants for a field. present is false for null and for what is not there,
// unless the field sends null.
func (s *Pass) fieldValue(ctx context.Context, f *fieldPlan) (value any, present bool, err error) {
	if f.value != nil {
		value, present, err = s.evaluate(ctx, f.value, nil)
	} else {
		value, _ = f.from.get(s.source())
		present = value != nil
	}
	switch {
	case err != nil:
		return nil, false, err
	case !present:
		return nil, f.nulls == v1alpha1.NullsSend, nil
	case f.compare != v1alpha1.CompareMapByKey:
		return value, true, nil
	}
	if _, problem := byKey(f.key, value); problem != "" {
		return nil, false, &ExpressionError{Field: f.field, Problem: problem}
	}
	return value, true, nil
}

// desired is the body that the fields of an operation make.
func (s *Pass) desired(ctx context.Context, operation rest.Operation) (map[string]any, error) {
	document := map[string]any{}
	for i := range s.program.fields {
		f := &s.program.fields[i]
		if !f.on(operation) {
			continue
		}
		value, present, err := s.fieldValue(ctx, f)
		if err != nil {
			return nil, err
		}
		if present {
			f.to.set(document, value)
		}
	}
	return document, nil
}

// changed is a JSON merge patch (RFC 7386) of what differs, together with the writeOnly fields: nobody can see whether
// those differ.
func (s *Pass) changed(ctx context.Context, observed any) (map[string]any, error) {
	patch := map[string]any{}
	for i := range s.program.fields {
		f := &s.program.fields[i]
		if !s.sends(f) {
			continue
		}
		want, present, err := s.fieldValue(ctx, f)
		if err != nil {
			return nil, err
		}
		got, _ := f.observedAt.get(observed)
		switch {
		case !present:
			if f.leaves(got) {
				f.to.set(patch, nil) // a merge patch removes what is null (RFC 7386, section 2)
			}
		case s.unasked(f):
			f.to.set(patch, want)
		case !f.equal(want, got):
			f.to.set(patch, difference(f.compare, want, got))
		}
	}
	return patch, nil
}

// leaves tells whether the server has something where the custom resource, which has nothing there, wants nothing left.
// Nobody can see that of a writeOnly field.
func (f *fieldPlan) leaves(got any) bool {
	return f.nulls == v1alpha1.NullsRemove && (f.writeOnly || !isNothing(f.compare, got))
}

// difference narrows a wanted object down to the keys that differ. Everything else, lists included, is sent whole: a
// merge patch cannot change part of a list.
func difference(mode v1alpha1.Compare, want, got any) any {
	wanted, ok := want.(map[string]any)
	if !ok {
		return want
	}
	present, ok := got.(map[string]any)
	if !ok {
		return want
	}
	patch := map[string]any{}
	for key, value := range wanted {
		if !equalValues(mode, value, present[key]) {
			patch[key] = difference(mode, value, present[key])
		}
	}
	if owns(mode) {
		for _, key := range surplus(mode, wanted, present) {
			patch[key] = nil // a merge patch removes what is null (RFC 7386, section 2)
		}
	}
	return patch
}

// overlay is the observed object with the fields laid over it, key by key within objects.
func (s *Pass) overlay(ctx context.Context, plan *operationPlan, observed any) (map[string]any, error) {
	base, ok := observed.(map[string]any)
	if !ok {
		return nil, &NoObjectError{plan.operation, s.program.observedField(), "an object", kindOf(observed)}
	}
	desired, err := s.desired(ctx, plan.operation)
	if err != nil {
		return nil, err
	}
	merged := copyObjects(layOver(base, desired))
	for i := range s.program.fields {
		f := &s.program.fields[i]
		value, wanted := f.to.get(desired)
		switch {
		case !f.on(plan.operation):
		case wanted && owns(f.compare):
			f.to.set(merged, copyValue(value)) // as a whole: what the server has beside it goes
		case !wanted && f.nulls == v1alpha1.NullsRemove:
			f.to.drop(merged)
		}
	}
	for _, path := range plan.strip {
		path.drop(merged)
	}
	return merged, nil
}

// layOver gives base with the keys of top over it. Neither is changed: only the objects that both have are made anew.
func layOver(base, top map[string]any) map[string]any {
	merged := maps.Clone(base)
	for key, value := range top {
		upper, isObject := value.(map[string]any)
		lower, wasObject := merged[key].(map[string]any)
		if isObject && wasObject {
			value = layOver(lower, upper)
		}
		merged[key] = value
	}
	return merged
}

// WriteOnlyValues is the encoded value of all writeOnly fields, for a keyed hash that tells whether they changed since
// they were last sent. It may hold secrets and must never be shown or stored as it is. Nil when nothing is writeOnly.
func (s *Pass) WriteOnlyValues(ctx context.Context) ([]byte, error) {
	values := map[string]any{}
	for i := range s.program.fields {
		f := &s.program.fields[i]
		if !f.writeOnly || !f.onUpdate {
			continue
		}
		value, present, err := s.fieldValue(ctx, f)
		if err != nil {
			return nil, err
		}
		if present {
			values[f.to.String()] = value
		}
	}
	if len(values) == 0 {
		return nil, nil
	}
	return encodeJSON(values)
}
