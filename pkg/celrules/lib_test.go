package celrules

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The table enumerates our own functions; TestOwnFunctionsHaveExamples refuses one that is not in it.
func ownExamples() map[string]map[string]any {
	return map[string]map[string]any{
		"urlEncode": {
			"urlEncode('a b/c?d=é')":      "a%20b%2Fc%3Fd%3D%C3%A9",
			"urlEncode('A-Za.z0_9~')":     "A-Za.z0_9~",
			"urlEncode('')":               "",
			"urlEncode('%2F') + '*'":      "%252F*",
			"urlEncode(dyn('/'))":         "%2F",
			"urlEncode(identifiers.org)":  "acme",
			"'/x/' + urlEncode('q&r;s:')": "/x/q%26r%3Bs%3A",
		},
		"lastSegment": {
			"lastSegment('https://h/api/orgs/7')":           "7",
			"lastSegment('https://h/api/orgs/7/')":          "7",
			"lastSegment('https://h/orgs/a%2Fb?x=1/2#3/4')": "a/b",
			"lastSegment('/orgs/a%252Fb')":                  "a%2Fb",
			"lastSegment('orgs')":                           "orgs",
			"lastSegment('../orgs/x')":                      "x",
		},
		"merge": {
			"merge({'a': 1, 'b': 2}, {'b': 3})":                obj("a", int64(1), "b", int64(3)),
			"merge({'a': {'x': 1}}, {'a': {'y': 1}})":          obj("a", obj("y", int64(1))),
			"merge(self.spec.labels, {'x': 1})":                obj("a.b/c", "v", "x", int64(1)),
			"merge(self.spec.free, {'known': self.spec.port})": obj("any", obj("x", int64(1)), "known", int64(5)),
			"merge({}, {})": obj(),
		},
		"omit": {
			"omit({'a': 1, 'b': 2}, ['b', 'c'])":     obj("a", int64(1)),
			"omit(self.spec.free, ['any'])":          obj("known", "k"),
			"omit({'a': 1}, [])":                     obj("a", int64(1)),
			"merge(omit({'a': 1}, ['a']), {'b': 2})": obj("b", int64(2)),
		},
		"keys": {
			"keys({'b': 1, 'a': {'c': 2}, 'B': 3})": []any{"B", "a", "b"},
			"keys({})":                              []any{},
			"keys(self.spec.free)":                  []any{"any", "known"},
			"keys(optional.none().orValue({}))":     []any{},
		},
		"toJSON": {
			"toJSON({'b': 1, 'a': [true, null, 1.5, '<é>']})": `{"a":[true,null,1.5,"<é>"],"b":1}`,
			"toJSON(self.spec.labels)":                        `{"a.b/c":"v"}`,
			"toJSON('x')":                                     `"x"`,
			"toJSON(null)":                                    `null`,
			"toJSON(optional.of(1))":                          `1`,
		},
		"parseJSON": {
			`parseJSON('{"a": [1, 1.5, 18446744073709551615, true]}')`: obj("a", []any{int64(1), 1.5, uint64(1<<64 - 1), true}),
			`parseJSON(' 5 ') + 1`:                int64(6),
			`parseJSON('"x"') + 'y'`:              "xy",
			`parseJSON('null')`:                   nil,
			`parseJSON(toJSON({'a': 'b'})).a`:     "b",
			`parseJSON('{"a": {"b": 2}}').a.?c`:   nil,
			`parseJSON('{"a": 1}').?a.orValue(2)`: int64(1),
		},
	}
}

func TestOwnFunctions(t *testing.T) {
	t.Parallel()
	for _, examples := range ownExamples() {
		for source, want := range examples {
			got, present, err := mustCompile(t, source).Evaluate(t.Context(), NewBudget(0), testVariables())
			if err != nil {
				t.Errorf("%s: %v", source, err)
				continue
			}
			if diff := cmp.Diff(want, got); diff != "" || present != (want != nil) {
				t.Errorf("%s: present %v, -want +got:\n%s", source, present, diff)
			}
		}
	}
}

func TestOwnFunctionsHaveExamples(t *testing.T) {
	t.Parallel()
	examples := ownExamples()
	for _, f := range ownFunctions() {
		if len(examples[f.name]) == 0 {
			t.Errorf("%s has no example", f.name)
		}
		delete(examples, f.name)
	}
	for name := range examples {
		t.Errorf("there is no function %s", name)
	}
}

func TestOwnFunctionsRefuse(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"urlEncode(dyn(1))":               "not defined for the types",
		"lastSegment('/')":                "without a path",
		"lastSegment('')":                 "without a path",
		"lastSegment('https://h')":        "without a path",
		"lastSegment('https://h?x=/a/b')": "without a path",
		"lastSegment('%zz')":              "needs a URL or a path",
		"merge(1, {})":                    "needs two objects",
		"merge({}, observed.nothing)":     "needs two objects",
		"omit([1], ['a'])":                "needs an object",
		"keys([1])":                       "needs an object",
		"keys({dyn(1): 2})":               "keys are strings",
		"omit({}, [dyn(1)])":              "not defined for the types",
		"toJSON(quantity('1Gi'))":         "cannot write",
		"toJSON({dyn(1): 2})":             "a key that is not a string",
		"parseJSON('')":                   "not JSON",
		"parseJSON('{} {}')":              "more than one",
		"parseJSON('1e999')":              "too large",
		"parseJSON('{\"a\": [1e999]}')":   "too large",
	} {
		_, _, err := mustCompile(t, source).Evaluate(t.Context(), nil, testVariables())
		if err == nil {
			t.Errorf("%s did not fail", source)
			continue
		}
		if got := evaluationError(t, err); !strings.Contains(got.Message, want) || got.Missing || got.Line != 1 {
			t.Errorf("%s: got %+v, want it to say %q", source, got, want)
		}
	}
}

func TestOwnFunctionsCost(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 100_000)
	vars := map[Variable]any{Observed: map[string]any{"long": long, "object": map[string]any{"a": long}, "json": `"` + long + `"`}}
	for _, source := range []string{
		"urlEncode(observed.long)", "lastSegment(observed.long)", "merge(observed.object, {}).size()", "omit(observed.object, []).size()",
		"keys({observed.long: 1}).size()",
		"toJSON(observed.object)", "parseJSON(observed.json)",
	} {
		budget := NewBudget(0)
		if _, _, err := mustCompile(t, source).Evaluate(t.Context(), budget, vars); err != nil {
			t.Fatalf("%s: %v", source, err)
		}
		if cost := DefaultBudget - budget.Left(); cost < 10_000 {
			t.Errorf("%s of 100,000 characters cost %d", source, cost)
		}
	}
}

// What Kubernetes and cel-go bring is there, in the version that the package documents.
func TestLibraryFunctionsAreThere(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]any{
		"url('https://h:8/p').getHost()":                             "h:8",
		"isURL('x') || 'a1'.find('[0-9]') == '1'":                    true,
		"quantity('1Gi').isGreaterThan(quantity('1Mi'))":             true,
		"ip('10.0.0.1').family()":                                    int64(4),
		"cidr('10.0.0.0/8').containsIP('10.1.1.1')":                  true,
		"!format.dns1123Label().validate('a').hasValue()":            true,
		"semver('1.2.3').major()":                                    int64(1),
		"[3, 1].sort() + [1, 2, 3].slice(0, 1)":                      []any{int64(1), int64(3), int64(1)},
		"base64.encode(b'abc') + string(base64.decode('YQ=='))":      "YWJja"[:4] + "a",
		"math.greatest(1, 2) + math.bitAnd(3, 1)":                    int64(3),
		"sets.contains([1], [1])":                                    true,
		"cel.bind(x, 2, x * x)":                                      int64(4),
		"{'a': 1}.transformMap(k, v, v + 1)":                         map[string]any{"a": int64(2)},
		"['a', 'b'].transformMapEntry(i, v, {v: i})":                 map[string]any{"a": int64(0), "b": int64(1)},
		"'Abc'.lowerAscii() + 'abc'.reverse() + 'a b'.split(' ')[1]": "abccbab",
		"strings.quote('a')":                                         `"a"`,
		"timestamp('2020-01-02T00:00:00Z').getDate()":                int64(2),
		"[1, 2].first().orValue(0)":                                  int64(1),
		"optional.ofNonZeroValue('').orValue('x')":                   "x",
	} {
		got, _, err := mustCompile(t, source).Evaluate(t.Context(), nil, testVariables())
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v, -want +got:\n%s", source, err, diff)
		}
	}
}

// Maps have no order in Go, and a list of their keys that changes from look to look would be a difference each time.
func TestKeysAreInOneOrder(t *testing.T) {
	t.Parallel()
	object := map[string]any{}
	for i := range 50 {
		object[fmt.Sprintf("key-%02d", i)] = int64(i)
	}
	want := []any{}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		want = append(want, name)
	}
	for range 20 {
		got, _, err := mustCompile(t, "keys(observed.object)").Evaluate(t.Context(), nil, map[Variable]any{Observed: map[string]any{"object": object}})
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Fatalf("%v, -want +got:\n%s", err, diff)
		}
	}
}
