package mapping

import (
	"math/big"
	"slices"
	"strings"

	"github.com/restmapping/operator/api/v1alpha1"
)

// equal tells whether an observed value is what the field wants.
func (f *fieldPlan) equal(want, got any) bool {
	if f.compare == v1alpha1.CompareMapByKey {
		return equalByKey(f.key, want, got)
	}
	return equalValues(f.compare, want, got)
}

// equalValues tells whether an observed value is as desired.
//
// An object is compared key by key: what the server added inside it is not drift. Lists have the same length and are
// compared element by element, unless they are sets. A desired "", [] or {} equals an absent or null observed value,
// because many servers leave out what is empty; a desired null inside an object equals an absent key. Compared as a
// Whole, an object has no keys that are not desired, unless they hold nothing. Strict takes what is empty at its word.
func equalValues(mode v1alpha1.Compare, desired, observed any) bool {
	if observed == nil {
		return desired == nil || mode != v1alpha1.CompareStrict && isEmpty(desired)
	}
	switch want := desired.(type) {
	case map[string]any:
		got, ok := observed.(map[string]any)
		return ok && equalObjects(mode, want, got)
	case []any:
		got, ok := observed.([]any)
		if !ok {
			return false
		}
		if mode == v1alpha1.CompareSet {
			return equalSets(want, got)
		}
		return equalLists(mode, want, got)
	default:
		return equalScalars(mode, desired, observed)
	}
}

// isEmpty tells whether a value is one that servers leave out.
func isEmpty(value any) bool {
	switch v := value.(type) {
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	default:
		return false
	}
}

func equalObjects(mode v1alpha1.Compare, desired, observed map[string]any) bool {
	for key, want := range desired {
		if !equalValues(mode, want, observed[key]) {
			return false
		}
	}
	return !owns(mode) || len(surplus(mode, desired, observed)) == 0
}

// owns tells whether a field owns its objects as a whole, with the keys that are not desired.
func owns(mode v1alpha1.Compare) bool {
	return mode == v1alpha1.CompareWhole || mode == v1alpha1.CompareStrict
}

// surplus are the keys, sorted, under which the observed object holds something that is not desired.
func surplus(mode v1alpha1.Compare, desired, observed map[string]any) []string {
	var keys []string
	for key, got := range observed {
		if _, wished := desired[key]; !wished && !isNothing(mode, got) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// isNothing tells whether a value says no more than an absent key.
func isNothing(mode v1alpha1.Compare, value any) bool {
	return value == nil || mode != v1alpha1.CompareStrict && isEmpty(value)
}

func equalLists(mode v1alpha1.Compare, desired, observed []any) bool {
	if len(desired) != len(observed) {
		return false
	}
	for i := range desired {
		if !equalValues(mode, desired[i], observed[i]) {
			return false
		}
	}
	return true
}

// equalSets compares lists regardless of order and repetition.
func equalSets(desired, observed []any) bool {
	unmatchedDesired, unmatchedObserved := dropExactMatches(desired, observed)
	for _, want := range unmatchedDesired {
		if !slices.ContainsFunc(observed, func(got any) bool { return equalValues(v1alpha1.CompareExact, want, got) }) {
			return false
		}
	}
	for _, got := range unmatchedObserved {
		if !slices.ContainsFunc(desired, func(want any) bool { return equalValues(v1alpha1.CompareExact, want, got) }) {
			return false
		}
	}
	return true
}

// dropExactMatches leaves the elements that have no textual twin on the other side. Comparing every pair would take
// too long for long lists.
func dropExactMatches(desired, observed []any) (restDesired, restObserved []any) {
	desiredKeys, observedKeys := encodeAll(desired), encodeAll(observed)
	return without(desired, desiredKeys, observedKeys), without(observed, observedKeys, desiredKeys)
}

func encodeAll(values []any) []string {
	keys := make([]string, len(values))
	for i, value := range values {
		if encoded, err := encodeJSON(value); err == nil {
			keys[i] = string(encoded)
		}
	}
	return keys
}

func without(values []any, keys, otherKeys []string) []any {
	other := make(map[string]struct{}, len(otherKeys))
	for _, key := range otherKeys {
		other[key] = struct{}{}
	}
	var rest []any
	for i, value := range values {
		if _, twin := other[keys[i]]; !twin || keys[i] == "" {
			rest = append(rest, value)
		}
	}
	return rest
}

func equalScalars(mode v1alpha1.Compare, desired, observed any) bool {
	if mode == v1alpha1.CompareTimestamp {
		if a, b := asInstant(desired), asInstant(observed); a != nil && b != nil {
			return a.equal(b)
		}
	}
	if mode == v1alpha1.CompareQuantity {
		if a, b := asQuantity(desired), asQuantity(observed); a != nil && b != nil {
			return a.Cmp(b) == 0
		}
	}
	a, b := asNumber(desired, mode), asNumber(observed, mode)
	if a != nil && b != nil {
		return a.Cmp(b) == 0
	}
	switch want := desired.(type) {
	case string:
		got, ok := observed.(string)
		if mode == v1alpha1.CompareCaseInsensitive {
			return ok && strings.EqualFold(want, got)
		}
		return ok && want == got
	case bool:
		got, ok := observed.(bool)
		return ok && want == got
	default:
		return false
	}
}

// maxNumberText bounds the text that is read as a number, and so the work of reading it.
const maxNumberText = 64

// maxExponentDigits bounds an exponent. No double goes beyond 308.
const maxExponentDigits = 3

// asNumber gives the exact value of a number, or nil. Text counts only when the field is compared as Number.
func asNumber(value any, mode v1alpha1.Compare) *big.Rat {
	switch v := value.(type) {
	case int64:
		return new(big.Rat).SetInt64(v)
	case uint64:
		return new(big.Rat).SetUint64(v)
	case float64:
		return new(big.Rat).SetFloat64(v)
	case string:
		text := strings.TrimSpace(v)
		if mode != v1alpha1.CompareNumber || len(text) > maxNumberText || !isDecimal(text) {
			return nil
		}
		number, ok := new(big.Rat).SetString(text)
		if !ok {
			return nil
		}
		return number
	default:
		return nil
	}
}

// isDecimal admits what servers write for numbers. The exponent is short: 1e999999999 would fill the memory.
func isDecimal(text string) bool {
	if strings.Trim(text, "0123456789+-.eE") != "" {
		return false
	}
	exponent := ""
	if at := strings.IndexAny(text, "eE"); at >= 0 {
		exponent = strings.TrimLeft(text[at+1:], "+-")
	}
	return len(exponent) <= maxExponentDigits
}
