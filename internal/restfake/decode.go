package restfake

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
)

// decode reads one JSON object into plain values: whole numbers as int64, others as float64. Nothing is an empty object.
func decode(data []byte) (map[string]any, error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return map[string]any{}, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var fields map[string]any
	if err := decoder.Decode(&fields); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) || fields == nil {
		return nil, errors.New("not one JSON object")
	}
	for name, value := range fields {
		fields[name] = plain(value)
	}
	return fields, nil
}

func plain(value any) any {
	switch v := value.(type) {
	case json.Number:
		if i, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			return i
		}
		f, _ := v.Float64() // out of range is infinite, and the answer then says 500
		return f
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = plain(v[name])
		}
	}
	return value
}
