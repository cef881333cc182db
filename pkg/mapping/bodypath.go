package mapping

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxPathDepth bounds the segments of a body path.
const maxPathDepth = 32

// bodyPath is the place of a value in a JSON document: the keys from the root on.
type bodyPath []string

// syntaxError is a mistake in a path; column counts from 1.
type syntaxError struct {
	column  int
	message string
}

// Error implements error.
func (e *syntaxError) Error() string { return e.message }

// parseBodyPath reads a path such as config.url or ["a.b"].c.
func parseBodyPath(text string) (bodyPath, error) {
	var path bodyPath
	for at := 0; at < len(text) || len(path) == 0; {
		if len(path) == maxPathDepth {
			return nil, &syntaxError{at + 1, fmt.Sprintf("the path has more than %d segments", maxPathDepth)}
		}
		segment, next, err := parseSegment(text, at, len(path) == 0)
		if err != nil {
			return nil, err
		}
		path, at = append(path, segment), next
	}
	return path, nil
}

// parseSegment reads one segment that begins at a byte offset and gives the offset behind it.
func parseSegment(text string, at int, first bool) (string, int, error) {
	if at < len(text) && text[at] == '[' {
		return parseQuoted(text, at)
	}
	if !first {
		if text[at] != '.' {
			return "", 0, &syntaxError{at + 1, `a dot or [" is expected here`}
		}
		at++
	}
	return parseName(text, at)
}

func parseName(text string, at int) (string, int, error) {
	end := at
	for end < len(text) {
		r, size := utf8.DecodeRuneInString(text[end:])
		if r == '.' || r == '[' {
			break
		}
		if r == ']' || r == '"' || r == '\'' || r == utf8.RuneError || unicode.IsSpace(r) || unicode.IsControl(r) {
			return "", 0, &syntaxError{end + 1, fmt.Sprintf(`the character %q cannot stand in a plain segment; write the segment as ["..."]`, r)}
		}
		end += size
	}
	if end == at {
		return "", 0, &syntaxError{at + 1, `a segment is empty; write keys joined by dots, such as config.url`}
	}
	return text[at:end], end, nil
}

// parseQuoted reads ["..."], whose inside is a JSON string.
func parseQuoted(text string, at int) (string, int, error) {
	if !strings.HasPrefix(text[at:], `["`) {
		return "", 0, &syntaxError{at + 1, `positions in a list cannot be addressed; map the whole list, with a CEL value where it must be built`}
	}
	decoder := json.NewDecoder(strings.NewReader(text[at+1:]))
	var segment string
	if err := decoder.Decode(&segment); err != nil {
		return "", 0, &syntaxError{at + 1, `["..."] does not hold a JSON string`}
	}
	end := at + 1 + int(decoder.InputOffset())
	if end >= len(text) || text[end] != ']' {
		return "", 0, &syntaxError{at + 1, `["..."] is not closed by ]`}
	}
	if segment == "" {
		return "", 0, &syntaxError{at + 1, `a segment is empty`}
	}
	return segment, end + 1, nil
}

// String writes the path so that parseBodyPath reads it back.
func (p bodyPath) String() string {
	var b strings.Builder
	for i, segment := range p {
		_, end, err := parseName(segment, 0)
		if err != nil || end != len(segment) {
			b.WriteString("[")
			b.Write(mustQuote(segment))
			b.WriteString("]")
			continue
		}
		if i > 0 {
			b.WriteString(".")
		}
		b.WriteString(segment)
	}
	return b.String()
}

// mustQuote writes a string as JSON; strings always can be.
func mustQuote(s string) []byte {
	quoted, err := encodeJSON(s)
	if err != nil {
		return []byte(`""`)
	}
	return quoted
}

// startsWith tells whether prefix is p or stands above it.
func (p bodyPath) startsWith(prefix bodyPath) bool {
	return len(prefix) <= len(p) && slices.Equal(p[:len(prefix)], prefix)
}

// get gives the value at the path, and whether every key on the way is there.
func (p bodyPath) get(document any) (any, bool) {
	for _, key := range p {
		object, ok := document.(map[string]any)
		if !ok {
			return nil, false
		}
		if document, ok = object[key]; !ok {
			return nil, false
		}
	}
	return document, true
}

// drop removes what stands at the path. The path must not be empty.
func (p bodyPath) drop(document map[string]any) {
	last := len(p) - 1
	above, _ := p[:last].get(document)
	if object, ok := above.(map[string]any); ok {
		delete(object, p[last])
	}
}

// with gives a copy of a document that has a value at the path. The document itself, which may be the custom resource's own,
// stays as it is. The path must not be empty.
func (p bodyPath) with(document map[string]any, value any) map[string]any {
	changed := map[string]any{}
	maps.Copy(changed, document)
	at := changed
	for i, key := range p {
		if i == len(p)-1 {
			at[key] = value
			break
		}
		child := map[string]any{}
		if former, ok := at[key].(map[string]any); ok {
			maps.Copy(child, former)
		}
		at[key], at = child, child
	}
	return changed
}

// set puts a value at the path and makes the objects on the way. What stands in the way and is no object is
// replaced. The path must not be empty.
func (p bodyPath) set(document map[string]any, value any) {
	last := len(p) - 1
	for _, key := range p[:last] {
		child, ok := document[key].(map[string]any)
		if !ok {
			child = map[string]any{}
			document[key] = child
		}
		document = child
	}
	document[p[last]] = value
}
