package httpapi

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNumbersAreExact(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		in   string
		want any
	}{
		"a whole number":             {"5350200", int64(5350200)},
		"two to the 53 and one":      {"9007199254740993", int64(9007199254740993)},
		"the largest int64":          {"9223372036854775807", int64(math.MaxInt64)},
		"the smallest int64":         {"-9223372036854775808", int64(math.MinInt64)},
		"above int64":                {"18446744073709551615", uint64(math.MaxUint64)},
		"above uint64":               {"18446744073709551616", float64(18446744073709551616)},
		"a fraction":                 {"1.5", 1.5},
		"a fraction that is whole":   {"5.0", float64(5)},
		"an exponent":                {"1e3", float64(1000)},
		"nested":                     {`{"a":[1,{"b":2.5}],"c":null,"d":true,"e":"x"}`, map[string]any{"a": []any{int64(1), map[string]any{"b": 2.5}}, "c": nil, "d": true, "e": "x"}},
		"behind a byte order mark":   {"\xef\xbb\xbf{}", map[string]any{}},
		"white space around":         {" \n[] \n", []any{}},
		"a string that looks like 1": {`"1"`, "1"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := decodeJSON([]byte(tc.in))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestBadJSONIsRefusedWithoutQuotingIt(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ in, want string }{
		"cut off":               {`{"a":"canary`, "the JSON document is cut off"},
		"not JSON":              {`<html>`, "the JSON document is not valid at byte 1"},
		"two documents":         {`{} {}`, "there is more text behind the JSON document"},
		"text behind":           {`{} canary`, "there is more text behind the JSON document"},
		"a number out of range": {`[1e999]`, "the JSON document holds a number that is too large"},
		"the same in an object": {`{"a":{"b":-1e999}}`, "the JSON document holds a number that is too large"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := decodeJSON([]byte(tc.in))
			if err == nil || err.Error() != tc.want {
				t.Errorf("error %v, want %s", err, tc.want)
			}
		})
	}
}

func FuzzDecodeJSON(f *testing.F) {
	for _, seed := range []string{`{"a":[1,2.5,"x",null]}`, `[`, `1e400`, "\xef\xbb\xbf1"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		value, err := decodeJSON(data)
		if err != nil {
			return
		}
		switch value.(type) {
		case nil, bool, int64, uint64, float64, string, []any, map[string]any:
		default:
			t.Errorf("%T is not a plain value", value)
		}
	})
}
