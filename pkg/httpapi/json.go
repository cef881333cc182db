package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strconv"
)

// decodeJSON reads exactly one JSON document into plain values, whole numbers without loss.
func decodeJSON(data []byte) (any, error) {
	// Some servers begin with a byte order mark, which RFC 8259 lets a reader ignore.
	decoder := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))))
	decoder.UseNumber()
	var document any
	if err := decoder.Decode(&document); err != nil {
		return nil, plainJSONError(err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more text behind the JSON document")
	}
	return plainValue(document)
}

// plainJSONError keeps the position and drops the text, because the library quotes characters of the body.
func plainJSONError(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the JSON document is cut off")
	}
	if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
		return errors.New("the JSON document is not valid at byte " + strconv.FormatInt(syntax.Offset, 10))
	}
	return errors.New("the JSON document is not valid")
}

func plainValue(value any) (any, error) {
	var err error
	switch v := value.(type) {
	case json.Number:
		return plainNumber(string(v))
	case []any:
		for i := range v {
			if v[i], err = plainValue(v[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for key := range v {
			if v[key], err = plainValue(v[key]); err != nil {
				return nil, err
			}
		}
	}
	return value, nil
}

func plainNumber(literal string) (any, error) {
	if i, err := strconv.ParseInt(literal, 10, 64); err == nil {
		return i, nil
	}
	if u, err := strconv.ParseUint(literal, 10, 64); err == nil {
		return u, nil
	}
	f, err := strconv.ParseFloat(literal, 64)
	if err != nil || math.IsInf(f, 0) {
		return nil, errors.New("the JSON document holds a number that is too large")
	}
	return f, nil
}
