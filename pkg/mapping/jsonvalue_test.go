package mapping

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEncodeJSON(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		value any
		want  string
	}{
		"keys are sorted":              {map[string]any{"b": int64(1), "a": map[string]any{"d": nil, "c": true}}, `{"a":{"c":true,"d":null},"b":1}`},
		"whole numbers are exact":      {[]any{int64(math.MaxInt64), int64(math.MinInt64), uint64(math.MaxUint64)}, `[9223372036854775807,-9223372036854775808,18446744073709551615]`},
		"a whole double has no dot":    {float64(5350200), `5350200`},
		"fractions keep their digits":  {0.1, `0.1`},
		"markup is not escaped":        {"<a>&b", `"<a>&b"`},
		"an empty document":            {map[string]any{}, `{}`},
		"text that needs to be quoted": {"a\"\n", `"a\"\n"`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := encodeJSON(tc.value)
			noError(t, err)
			if string(got) != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
	_, err := encodeJSON(math.NaN())
	wantError(t, err, "encode JSON")
}

func TestDecodeJSON(t *testing.T) {
	t.Parallel()
	got, err := decodeJSON([]byte(`{"i":9007199254740993,"u":18446744073709551615,"f":1.5,"e":1e3,"l":[1,null,"x",true]}`))
	noError(t, err)
	want := map[string]any{
		"i": int64(9007199254740993), "u": uint64(math.MaxUint64), "f": 1.5, "e": float64(1000),
		"l": []any{int64(1), nil, "x", true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("value (-want +got):\n%s", diff)
	}
	for _, bad := range []string{`{`, ``, `[1e999]`} {
		if _, err := decodeJSON([]byte(bad)); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func TestFormatScalar(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		value any
		want  string
		ok    bool
	}{
		"text":               {"a b", "a b", true},
		"empty text":         {"", "", true},
		"a boolean":          {true, "true", true},
		"a number":           {int64(-5), "-5", true},
		"a large number":     {uint64(math.MaxUint64), "18446744073709551615", true},
		"no exponent":        {float64(5350200), "5350200", true},
		"no exponent at all": {1e21, "1000000000000000000000", true},
		"a fraction":         {0.25, "0.25", true},
		"not a number":       {math.NaN(), "", false},
		"infinite":           {math.Inf(1), "", false},
		"null":               {nil, "", false},
		"a list":             {[]any{"a"}, "", false},
		"an object":          {map[string]any{}, "", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, ok := formatScalar(tc.value); got != tc.want || ok != tc.ok {
				t.Errorf("got %q, %v", got, ok)
			}
		})
	}
}

func TestKindOf(t *testing.T) {
	t.Parallel()
	kinds := map[string]any{
		"null": nil, "a boolean": true, "text": "x", "a list": []any{}, "an object": map[string]any{},
		"a number": 1.5, "an unknown kind of value": struct{}{},
	}
	for want, value := range kinds {
		if got := kindOf(value); got != want {
			t.Errorf("%v: got %s, want %s", value, got, want)
		}
	}
}
