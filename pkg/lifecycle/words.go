package lifecycle

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/restmapping/operator/pkg/rest"
)

// maxWords bounds what is shown of a server's own words.
const maxWords = 512

// wordKeys are the members in which servers explain an error: RFC 9457 (detail, title) and what is in use beside it.
var wordKeys = []string{"detail", "message", "error_description", "reason", "title", "error", "errorMessage", "description", "errors", "msg", "data"}

// ServerWords gives what a server itself said about a failure: one line, cut, without markup. It is empty when the
// response says nothing that a person could read. redact takes out what must not be shown; it comes before the cut, which
// would leave a part of a secret that nobody knows again.
func ServerWords(r *rest.Response, redact func(string) string) string {
	if r == nil {
		return ""
	}
	words := strings.Join(strings.Fields(speech(r.Body, 0)), " ")
	if words == "" {
		words = asWritten(r.Body)
	}
	if strings.HasPrefix(words, "<") {
		return ""
	}
	return CutWords(redact(words))
}

// CutWords bounds a server's own words, on one line.
func CutWords(words string) string {
	words = strings.Join(strings.Fields(words), " ")
	if runes := []rune(words); len(runes) > maxWords {
		words = string(runes[:maxWords]) + "…"
	}
	return words
}

// asWritten gives a body that says nothing in a known place as it is: better than nothing.
func asWritten(body any) string {
	switch body.(type) {
	case map[string]any, []any:
		text, err := json.Marshal(body)
		if err != nil || len(text) <= len("{}") {
			return ""
		}
		return string(text)
	default:
		return ""
	}
}

const maxSpeechDepth = 4

func speech(body any, depth int) string {
	if depth > maxSpeechDepth {
		return ""
	}
	switch b := body.(type) {
	case string:
		return b
	case int64, float64, bool:
		return fmt.Sprint(b)
	case []any:
		return speechOfList(b, depth)
	case map[string]any:
		return speechOfObject(b, depth)
	default:
		return ""
	}
}

func speechOfList(list []any, depth int) string {
	parts := make([]string, 0, len(list))
	for _, item := range list[:min(len(list), 5)] {
		if text := speech(item, depth+1); text != "" {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, "; ")
}

// speechOfObject reads the known members, each text once; an object without any is read as field: problem.
func speechOfObject(object map[string]any, depth int) string {
	var parts []string
	for _, key := range wordKeys {
		if text := word(key, object[key], depth); text != "" && !slices.Contains(parts, text) {
			parts = append(parts, text)
		}
	}
	if len(parts) > 0 || depth == 0 {
		return strings.Join(parts, ": ")
	}
	return speechOfFields(object, depth)
}

// word reads a known member. Below one that may be nested there are problems by field; elsewhere an object under a known
// name is a field of that name, and a number is a code that stands in the status line already.
func word(key string, value any, depth int) string {
	switch value.(type) {
	case map[string]any, []any:
		if !slices.Contains(nestedKeys, key) {
			return ""
		}
	case int64, float64, bool:
		return ""
	}
	return speech(value, depth+1)
}

// nestedKeys are the known members whose value may be an object or a list.
var nestedKeys = []string{"error", "errors", "detail", "details", "data", "message"}

// speechOfFields reads an object as field: problem.
func speechOfFields(object map[string]any, depth int) string {
	var parts []string
	keys := make([]string, 0, len(object))
	for key := range object {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys[:min(len(keys), 8)] {
		if text := speech(object[key], depth+1); text != "" {
			parts = append(parts, key+": "+text)
		}
	}
	return strings.Join(parts, "; ")
}
