package mapping

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/restmapping/operator/api/v1alpha1"
)

// jsonPatch is a JSON patch (RFC 6902) of what differs. Whatever it replaces or removes is tested first, so that the
// server refuses it when the object has changed since it was observed. What nobody can see is written without a test.
func (s *Pass) jsonPatch(ctx context.Context, plan *operationPlan, observed any) ([]any, error) {
	object, ok := observed.(map[string]any)
	if !ok {
		return nil, &NoObjectError{plan.operation, s.program.observedField(), "an object", kindOf(observed)}
	}
	patch := &patchBuilder{operations: []any{}, document: copyObjects(object)}
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
			if _, there := f.to.get(patch.document); there && f.leaves(got) {
				patch.remove(f.to)
			}
		case s.unasked(f):
			patch.put(f.to, want, !f.writeOnly)
		case !f.equal(want, got):
			patch.change(f.compare, f.to, want)
		}
	}
	return patch.operations, nil
}

// patchBuilder collects operations, and carries them out on its own copy of the document: each operation meets what
// the ones before it have left.
type patchBuilder struct {
	operations []any
	document   map[string]any
}

// change narrows a wanted object down to the keys that differ, as a merge patch does.
func (b *patchBuilder) change(mode v1alpha1.Compare, at bodyPath, want any) {
	got, _ := at.get(b.document)
	wanted, isObject := want.(map[string]any)
	present, wasObject := got.(map[string]any)
	if !isObject || !wasObject {
		b.put(at, want, true)
		return
	}
	for _, key := range slices.Sorted(maps.Keys(wanted)) {
		if !equalValues(mode, wanted[key], present[key]) {
			b.change(mode, below(at, key), wanted[key])
		}
	}
	if !owns(mode) {
		return
	}
	for _, key := range surplus(mode, wanted, present) {
		b.remove(below(at, key))
	}
}

// put writes a value, and the objects above it that are not there yet.
func (b *patchBuilder) put(at bodyPath, value any, tested bool) {
	for len(at) > 1 {
		if above, _ := at[:len(at)-1].get(b.document); isObject(above) {
			break
		}
		value, at = map[string]any{at[len(at)-1]: value}, at[:len(at)-1]
	}
	operation := "add"
	if _, there := at.get(b.document); there {
		operation = "replace"
		b.test(at, tested)
	}
	b.operations = append(b.operations, map[string]any{"op": operation, "path": at.pointer(), "value": value})
	at.set(b.document, copyValue(value))
}

func (b *patchBuilder) remove(at bodyPath) {
	b.test(at, true)
	b.operations = append(b.operations, map[string]any{"op": "remove", "path": at.pointer()})
	above, _ := at[:len(at)-1].get(b.document)
	if object, ok := above.(map[string]any); ok {
		delete(object, at[len(at)-1])
	}
}

// test lets the server refuse the patch when a value is no longer what was observed.
func (b *patchBuilder) test(at bodyPath, tested bool) {
	if value, there := at.get(b.document); there && tested {
		b.operations = append(b.operations, map[string]any{"op": "test", "path": at.pointer(), "value": copyValue(value)})
	}
}

// below gives the path of a key under a path, without touching it.
func below(path bodyPath, key string) bodyPath { return append(slices.Clip(path), key) }

func isObject(value any) bool {
	_, ok := value.(map[string]any)
	return ok
}

// pointer writes the path as a JSON pointer (RFC 6901).
func (p bodyPath) pointer() string {
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	var pointer strings.Builder
	for _, segment := range p {
		pointer.WriteString("/" + escape.Replace(segment))
	}
	return pointer.String()
}

// copyObjects copies an object and all objects under its keys. Lists are shared: they are replaced and never changed.
func copyObjects(object map[string]any) map[string]any {
	copied := make(map[string]any, len(object))
	for key, value := range object {
		copied[key] = copyValue(value)
	}
	return copied
}

func copyValue(value any) any {
	if object, ok := value.(map[string]any); ok {
		return copyObjects(object)
	}
	return value
}
