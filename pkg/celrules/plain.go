package celrules

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// plain turns a result into plain JSON: nil, bool, int64, uint64 (only above the range of int64), float64, string, []any and
// map[string]any. It copies everything, and stops at the limits of a result.
func plain(value ref.Val) (any, error) {
	c := &converter{nodes: MaxResultNodes, bytes: MaxResultBytes}
	return c.convert(value, 0)
}

// convert gives a value in the form of the result: plain JSON, or for a RawResult the bytes themselves.
func (r Result) convert(value ref.Val) (any, error) {
	if optional, ok := value.(*types.Optional); ok && r == RawResult && optional.HasValue() {
		value = optional.GetValue()
	}
	raw, ok := value.(types.Bytes)
	if !ok || r != RawResult {
		return plain(value)
	}
	if len(raw) > MaxResultBytes {
		return nil, fmt.Errorf("gave more than %d bytes", MaxResultBytes)
	}
	return string(raw), nil
}

// converter counts down what a result may still hold.
type converter struct {
	nodes, bytes int
}

func (c *converter) convert(value any, depth int) (any, error) {
	if c.nodes--; c.nodes < 0 {
		return nil, fmt.Errorf("gave more than %d values", MaxResultNodes)
	}
	if depth > MaxResultDepth {
		return nil, fmt.Errorf("gave more than %d levels", MaxResultDepth)
	}
	switch v := value.(type) {
	case map[string]any:
		return c.object(v, depth)
	case []any:
		return c.list(v, depth)
	case *types.Optional:
		if !v.HasValue() {
			return nil, nil
		}
		return c.convert(v.GetValue(), depth)
	case traits.Mapper:
		if native, ok := v.Value().(map[string]any); ok {
			return c.object(native, depth)
		}
		return c.mapper(v, depth)
	case traits.Lister:
		return c.lister(v, depth)
	default:
		return c.scalar(value)
	}
}

func (c *converter) scalar(value any) (any, error) {
	switch v := value.(type) {
	case nil, types.Null:
		return nil, nil
	case types.Bool:
		return bool(v), nil
	case bool:
		return v, nil
	case types.Int:
		return int64(v), nil
	case int64:
		return v, nil
	case types.Uint:
		return unsigned(uint64(v)), nil
	case uint64:
		return unsigned(v), nil
	case types.Double:
		return finite(float64(v))
	case float64:
		return finite(v)
	default:
		return c.text(value)
	}
}

func (c *converter) text(value any) (any, error) {
	var text string
	switch v := value.(type) {
	case string:
		text = v
	case types.String:
		text = string(v)
	case types.Bytes:
		text = base64.StdEncoding.EncodeToString(v)
	case types.Timestamp:
		text = v.UTC().Format(time.RFC3339Nano)
	case types.Duration:
		text = v.String()
	default:
		return nil, errors.New("gave something that JSON cannot hold; turn it into text with string()")
	}
	if c.bytes -= len(text); c.bytes < 0 {
		return nil, fmt.Errorf("gave more than %d bytes of text", MaxResultBytes)
	}
	return text, nil
}

// unsigned keeps the plain kinds few: only what does not fit an int64 stays unsigned.
func unsigned(v uint64) any {
	if v <= math.MaxInt64 {
		return int64(v)
	}
	return v
}

func finite(v float64) (any, error) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil, errors.New("gave a number that is not finite, which JSON cannot hold")
	}
	return v, nil
}
