package mapping

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// encodeJSON writes a plain value: keys sorted, numbers exact, no HTML escapes. Equal values give equal bytes.
func encodeJSON(value any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, fmt.Errorf("encode JSON: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// decodeJSON reads a document into plain values; whole numbers stay exact.
func decodeJSON(data []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, fmt.Errorf("decode JSON: %w", err)
	}
	return plain(value)
}

// plain turns the numbers of a decoded document into int64, uint64 or float64, in place.
func plain(value any) (any, error) {
	var err error
	switch v := value.(type) {
	case json.Number:
		return plainNumber(v)
	case []any:
		for i := range v {
			if v[i], err = plain(v[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for key := range v {
			if v[key], err = plain(v[key]); err != nil {
				return nil, err
			}
		}
	}
	return value, nil
}

func plainNumber(number json.Number) (any, error) {
	if i, err := strconv.ParseInt(number.String(), 10, 64); err == nil {
		return i, nil
	}
	if u, err := strconv.ParseUint(number.String(), 10, 64); err == nil {
		return u, nil
	}
	f, err := number.Float64()
	if err != nil {
		return nil, fmt.Errorf("a number is out of range: %w", err)
	}
	return f, nil
}

// kindOf names the kind of a JSON value for messages.
func kindOf(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case string:
		return "text"
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	case int64, uint64, float64:
		return "a number"
	default:
		return "an unknown kind of value"
	}
}

// formatScalar writes a scalar as it stands in a URL or header: whole numbers without a fraction or an exponent.
func formatScalar(value any) (string, bool) {
	switch v := value.(type) {
	case string:
		return v, true
	case bool:
		return strconv.FormatBool(v), true
	case int64:
		return strconv.FormatInt(v, 10), true
	case uint64:
		return strconv.FormatUint(v, 10), true
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return "", false
		}
		return strconv.FormatFloat(v, 'f', -1, 64), true
	default:
		return "", false
	}
}
