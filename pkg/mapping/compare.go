package mapping

import (
	"context"
	"hash/fnv"

	"github.com/restmapping/operator/pkg/rest"
)

// Difference is a field whose observed value is not as specified.
type Difference struct {
	// Path is the place in the body, as the mapping writes it.
	Path string
	// Detail says for people where in it the first difference is, what is observed and what is wanted, cut to a length.
	// Empty when the value may be sensitive.
	Detail string
}

// String gives the detail where there is one, and the path otherwise.
func (d Difference) String() string {
	if d.Detail != "" {
		return d.Detail
	}
	return d.Path
}

// Comparison is what differs between the custom resource and the observed object.
type Comparison struct {
	// Differences can be put right by an update.
	Differences []Difference
	// Immutable are differences in fields that are sent on create only, or that the mapping calls immutable.
	Immutable []Difference
	// AsSent tells that none of them is in a field that a create sends: a create of this very specification leaves such an
	// object.
	AsSent bool
	// Digest stands for the fields that differ and what is wanted of them. What is observed there has no part in it.
	Digest uint64
}

// Compare finds what differs. Only fields that the mapping owns count: never what the server added, never writeOnly
// fields. A field that cannot be changed counts when the observed object shows its value.
func (s *Pass) Compare(ctx context.Context, observed any) (Comparison, error) {
	result, digest := Comparison{AsSent: true}, fnv.New64a()
	for i := range s.program.fields {
		f := &s.program.fields[i]
		if !f.compared() {
			continue
		}
		if _, ok := observed.(map[string]any); !ok {
			return Comparison{}, &NoObjectError{rest.Read, s.program.observedField(), "an object", kindOf(observed)}
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
		if differs {
			result.note(f, f.differs(want, got), got != nil)
			wanted, err := encodeJSON([]any{f.written, want})
			if err != nil {
				return Comparison{}, err
			}
			_, _ = digest.Write(wanted) // never fails (documented by the package)
		}
	}
	result.Digest = digest.Sum64()
	return result, nil
}

// note takes a field's difference into account. One that cannot be changed counts where the object shows its value.
func (c *Comparison) note(f *fieldPlan, d Difference, shown bool) {
	switch {
	case f.onUpdate && !f.immutable:
		c.Differences = append(c.Differences, d)
	case shown:
		c.Immutable = append(c.Immutable, d)
	default:
		return
	}
	c.AsSent = c.AsSent && !f.onCreate
}
