package lifecycle

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/restmapping/operator/pkg/rest"
)

type object = map[string]any

func TestServerWords(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		body any
		want string
	}{
		"a problem of RFC 9457":   {object{"type": "about:blank", "title": "Out of credit", "status": int64(403), "detail": "Your balance is 30."}, "Your balance is 30.: Out of credit"},
		"Gitea":                   {object{"message": "user does not exist", "url": "https://x/swagger"}, "user does not exist"},
		"RabbitMQ":                {object{"error": "bad_request", "reason": "invalid regex"}, "invalid regex: bad_request"},
		"OAuth":                   {object{"error": "invalid_grant", "error_description": "expired"}, "expired: invalid_grant"},
		"a list of errors":        {object{"errors": []any{object{"message": "a is wrong"}, object{"message": "b is wrong"}}}, "a is wrong; b is wrong"},
		"errors by field":         {object{"data": object{"name": object{"code": "x", "message": "too short"}}}, "name: too short"},
		"errors by field as text": {object{"errors": object{"b": "is taken", "a": []any{"is blank"}}}, "a: is blank; b: is taken"},
		"nested":                  {object{"error": object{"error": object{"message": "deep"}}}, "deep"},
		"one thing said twice":    {object{"message": "no", "error": "no"}, "no"},
		"a list at the top":       {[]any{"one", object{"msg": "two"}, nil}, "one; two"},
		"plain text":              {"  Not\n\tallowed  ", "Not allowed"},
		"markup":                  {"\n<!DOCTYPE html><html>…", ""},
		"nothing known":           {object{"foo": "bar"}, `{"foo":"bar"}`},
		"a code beside the words": {object{"error": int64(401), "message": "please log in"}, "please log in"},
		"fields with known names": {object{"message": "Failed.", "data": object{"title": object{"code": "x", "message": "Cannot be blank."}}}, "Failed.: title: Cannot be blank."},
		"empty":                   {nil, ""},
		"a number":                {int64(42), "42"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := ServerWords(&rest.Response{Body: tc.body}, asItIs); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
	if got := ServerWords(nil, asItIs); got != "" {
		t.Errorf("no response says %q", got)
	}
}

func TestServerWordsAreCut(t *testing.T) {
	t.Parallel()
	huge := make([]any, 10_000)
	for i := range huge {
		huge[i] = object{"message": strings.Repeat("ü", 1000)}
	}
	deep := any("bottom")
	for range 1000 {
		deep = object{"error": deep}
	}
	for name, body := range map[string]any{"long": strings.Repeat("é", 100_000), "many": object{"errors": huge}, "deep": deep} {
		words := ServerWords(&rest.Response{Body: body}, asItIs)
		if n := utf8.RuneCountInString(words); n > maxWords+1 || !utf8.ValidString(words) {
			t.Errorf("%s: %d characters", name, n)
		}
	}
}

func TestServerWordsAreAlwaysOneShortLine(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		words := ServerWords(&rest.Response{Body: body(t, 0)}, asItIs)
		if utf8.RuneCountInString(words) > maxWords+1 || strings.ContainsAny(words, "\n\r\t") {
			t.Fatalf("%q", words)
		}
	})
}

func body(t *rapid.T, depth int) any {
	kind := rapid.IntRange(0, 5).Draw(t, "kind")
	if depth > 5 {
		kind = 0
	}
	switch kind {
	case 1:
		return rapid.Float64().Draw(t, "number")
	case 2:
		return nil
	case 3:
		list := make([]any, rapid.IntRange(0, 4).Draw(t, "length"))
		for i := range list {
			list[i] = body(t, depth+1)
		}
		return list
	case 4, 5:
		o := object{}
		for range rapid.IntRange(0, 4).Draw(t, "members") {
			o[rapid.SampledFrom(append([]string{"field", "other"}, wordKeys...)).Draw(t, "key")] = body(t, depth+1)
		}
		return o
	default:
		return rapid.String().Draw(t, "text")
	}
}

func asItIs(text string) string { return text }

// A secret across the place where words are cut would be shown in part: what is left of it is no secret that is known.
func TestWordsAreRedactedBeforeTheyAreCut(t *testing.T) {
	t.Parallel()
	const secret = "hunter2-and-more"
	redact := func(text string) string { return strings.ReplaceAll(text, secret, "[redacted]") }
	for before := range len(secret) {
		body := strings.Repeat("a", maxWords-before) + secret
		if words := ServerWords(&rest.Response{Body: body}, redact); strings.Contains(words, "hu") {
			t.Fatalf("a part of the secret is shown: …%s", words[len(words)-30:])
		}
	}
}
