package celrules

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// jsonFunctions are toJSON and parseJSON.
func jsonFunctions() []function {
	return []function{
		{name: "toJSON", overload: "restmapping_to_json_dyn", args: []*cel.Type{cel.DynType}, result: cel.StringType, factor: 2, call: toJSON},
		{name: "parseJSON", overload: "restmapping_parse_json_string", args: []*cel.Type{cel.StringType}, result: cel.DynType, factor: 2, call: parseJSON},
	}
}

// toJSON writes a value as JSON, with sorted keys, so that equal values give equal text.
func toJSON(args []ref.Val) (ref.Val, error) {
	value, err := plain(args[0])
	if err != nil {
		return nil, &refusalError{"toJSON was given a value that it cannot write: " + err.Error()}
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, &refusalError{"toJSON was given a value that JSON cannot hold"}
	}
	return types.String(strings.TrimSuffix(b.String(), "\n")), nil
}

// parseJSON reads a JSON text.
func parseJSON(args []ref.Val) (ref.Val, error) {
	text, ok := args[0].(types.String)
	if !ok {
		return nil, &refusalError{"parseJSON needs a string"}
	}
	if len(text) > MaxResultBytes {
		return nil, tooLarge("parseJSON")
	}
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, &refusalError{"parseJSON was given a text that is not JSON"}
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, &refusalError{"parseJSON was given more than one JSON value"}
	}
	parsed, err := withNumbers(value)
	if err != nil {
		return nil, err
	}
	return types.DefaultTypeAdapter.NativeToValue(parsed), nil
}

// withNumbers turns JSON numbers into the plain kinds: int64 where it fits, then uint64, then float64.
func withNumbers(value any) (any, error) {
	switch v := value.(type) {
	case json.Number:
		return number(v.String())
	case []any:
		for i, element := range v {
			converted, err := withNumbers(element)
			if err != nil {
				return nil, err
			}
			v[i] = converted
		}
	case map[string]any:
		for key, element := range v {
			converted, err := withNumbers(element)
			if err != nil {
				return nil, err
			}
			v[key] = converted
		}
	}
	return value, nil
}

func number(text string) (any, error) {
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		return i, nil
	}
	if u, err := strconv.ParseUint(text, 10, 64); err == nil {
		return u, nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil, &refusalError{"parseJSON was given a number that is too large"}
	}
	return f, nil
}
