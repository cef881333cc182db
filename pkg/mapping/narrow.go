package mapping

import (
	"maps"
	"slices"
	"strconv"

	"github.com/restmapping/operator/api/v1alpha1"
)

// narrowed is the first place inside a value that differs. It only goes down where the custom resource has something, so
// what the server keeps beside that is never in it.
type narrowed struct {
	place            string
	wanted, observed any
}

// narrow goes down to the first place inside a field that differs.
func (f *fieldPlan) narrow(want, got any) narrowed {
	at := narrowed{place: f.to.String(), wanted: want, observed: got}
	if f.compare == v1alpha1.CompareMapByKey {
		return at.byKey(f.key)
	}
	return at.first(f.compare)
}

func (n narrowed) first(mode v1alpha1.Compare) narrowed {
	switch want := n.wanted.(type) {
	case map[string]any:
		got, ok := n.observed.(map[string]any)
		if !ok {
			return n
		}
		for _, key := range slices.Sorted(maps.Keys(want)) {
			if !equalValues(mode, want[key], got[key]) {
				return narrowed{n.inside(key), want[key], got[key]}.first(mode)
			}
		}
	case []any:
		got, ok := n.observed.([]any)
		switch {
		case !ok:
		case mode == v1alpha1.CompareSet:
			return n.apart(want, got)
		case len(want) == len(got):
			for i := range want {
				if !equalValues(mode, want[i], got[i]) {
					return narrowed{n.place + "[" + strconv.Itoa(i) + "]", want[i], got[i]}.first(mode)
				}
			}
		}
	}
	return n
}

// inside is the place of a key of an object.
func (n narrowed) inside(key string) string {
	segment := bodyPath{key}.String()
	if segment[0] == '[' {
		return n.place + segment
	}
	return n.place + "." + segment
}

// apart leaves out of two long sets what they have in common.
func (n narrowed) apart(want, got []any) narrowed {
	if len(want) <= maxShownList && len(got) <= maxShownList {
		return n
	}
	n.wanted, n.observed = onlyIn(want, got), onlyIn(got, want)
	return n
}

func onlyIn(list, others []any) []any {
	left := []any{}
	for _, element := range list {
		if !slices.ContainsFunc(others, func(other any) bool { return equalValues(v1alpha1.CompareExact, element, other) }) {
			left = append(left, element)
		}
	}
	return left
}

// byKey shows which keys there are where those differ, and otherwise goes down into the first element that differs.
func (n narrowed) byKey(key string) narrowed {
	want, problem := byKey(key, n.wanted)
	if problem != "" {
		return n
	}
	got, problem := byKey(key, n.observed)
	if problem != "" {
		return n
	}
	names, others := slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got))
	if !slices.Equal(names, others) {
		n.place += "[]." + key
		n.wanted, n.observed = keysOf(names), keysOf(others)
		return n.apart(keysOf(names), keysOf(others))
	}
	for _, name := range names {
		if !equalValues(v1alpha1.CompareExact, want[name], got[name]) {
			return narrowed{n.place + "[" + name + "]", want[name], got[name]}.first(v1alpha1.CompareExact)
		}
	}
	return n
}

func keysOf(names []string) []any {
	values := make([]any, len(names))
	for i, name := range names {
		values[i] = name
	}
	return values
}
