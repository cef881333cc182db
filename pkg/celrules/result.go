package celrules

import (
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
)

// Result is what an expression must give.
type Result int

// The results. An expression whose type is not known before it runs, and one that gives an optional, is accepted by
// all of them and checked when it ran.
const (
	// AnyResult is any value that JSON can hold.
	AnyResult Result = iota
	// BoolResult is true or false.
	BoolResult
	// StringResult is text.
	StringResult
	// ScalarResult is text, a number or a boolean.
	ScalarResult
	// ListResult is a list.
	ListResult
	// ObjectResult is an object.
	ObjectResult
	// RawResult is text or bytes. The bytes are given as they are, in a string, and not as base64.
	RawResult
)

// String names the result in messages.
func (r Result) String() string {
	switch r {
	case BoolResult:
		return "a boolean"
	case StringResult:
		return "a string"
	case ScalarResult:
		return "a string, a number or a boolean"
	case ListResult:
		return "a list"
	case ObjectResult:
		return "an object"
	case RawResult:
		return "text or bytes"
	case AnyResult:
		return "a value that JSON can hold"
	}
	return "an unknown result"
}

// acceptsType says whether an expression of this static type may stand where the result is asked for.
func (r Result) acceptsType(t *cel.Type) bool {
	t = withoutOptional(t)
	switch t.Kind() {
	case types.DynKind, types.AnyKind, types.TypeParamKind, types.NullTypeKind:
		return true
	case types.BoolKind:
		return r == AnyResult || r == BoolResult || r == ScalarResult
	case types.StringKind, types.BytesKind, types.TimestampKind, types.DurationKind:
		return r == AnyResult || r == StringResult || r == ScalarResult || r == RawResult
	case types.IntKind, types.UintKind, types.DoubleKind:
		return r == AnyResult || r == ScalarResult
	case types.ListKind:
		return r == AnyResult || r == ListResult
	case types.MapKind:
		return (r == AnyResult || r == ObjectResult) && isTextOrDyn(t.Parameters()[0])
	case types.StructKind:
		return (r == AnyResult || r == ObjectResult) && isSchemaTypeName(t.TypeName())
	default:
		return false
	}
}

// isTextOrDyn says whether a type may turn out to be a string, as the keys of a JSON object are.
func isTextOrDyn(t *cel.Type) bool {
	return t.Kind() == types.StringKind || t.Kind() == types.DynKind || t.Kind() == types.TypeParamKind
}

// withoutOptional gives the type inside an optional.
func withoutOptional(t *cel.Type) *cel.Type {
	if t.Kind() == types.OpaqueKind && t.TypeName() == cel.OptionalType(cel.DynType).TypeName() {
		return t.Parameters()[0]
	}
	return t
}

// acceptsValue says whether a plain value is what was asked for.
func (r Result) acceptsValue(value any) bool {
	switch value.(type) {
	case bool:
		return r == AnyResult || r == BoolResult || r == ScalarResult
	case string:
		return r == AnyResult || r == StringResult || r == ScalarResult || r == RawResult
	case int64, uint64, float64:
		return r == AnyResult || r == ScalarResult
	case []any:
		return r == AnyResult || r == ListResult
	case map[string]any:
		return r == AnyResult || r == ObjectResult
	default:
		return false
	}
}

// kindOf names the kind of a plain value, without the value.
func kindOf(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case string:
		return "a string"
	case int64, uint64, float64:
		return "a number"
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	default:
		return "something that JSON cannot hold"
	}
}
