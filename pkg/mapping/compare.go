package mapping

import (
	"context"

	"github.com/restmapping/operator/pkg/rest"
)

// Difference is a field whose observed value is not as specified. It holds no value, since that may be sensitive.
type Difference struct {
	// Path is the place in the body, as the mapping writes it.
	Path string
}

// Comparison is what differs between the custom resource and the observed object.
type Comparison struct {
	// Differences can be put right by an update.
	Differences []Difference
	// Immutable are differences in fields that are sent on create only, or that the mapping calls immutable.
	Immutable []Difference
}

// Compare finds what differs. Only fields that the mapping owns count: never what the server added, never writeOnly
// fields. A field that cannot be changed counts when the observed object shows its value.
func (s *Pass) Compare(ctx context.Context, observed any) (Comparison, error) {
	var result Comparison
	for i := range s.program.fields {
		f := &s.program.fields[i]
		if !f.compared() {
			continue
		}
		if _, ok := observed.(map[string]any); !ok {
			return Comparison{}, &NoObjectError{rest.Read, "spec.operations.read.select", "an object", kindOf(observed)}
		}
		want, present, err := s.fieldValue(ctx, f)
		if err != nil {
			return Comparison{}, err
		}
		got, _ := f.observedAt.get(observed)
		differs := f.leaves(got)
		if present {
			differs = !f.equal(want, got)
		}
		switch {
		case !differs:
		case f.onUpdate && !f.immutable:
			result.Differences = append(result.Differences, Difference{f.written})
		case got != nil:
			result.Immutable = append(result.Immutable, Difference{f.written})
		}
	}
	return result, nil
}
