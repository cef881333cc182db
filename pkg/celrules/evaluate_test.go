package celrules

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEvaluateGivesPlainValues(t *testing.T) {
	t.Parallel()
	// A nil value means that the expression gives none.
	cases := map[string]struct {
		source string
		want   any
	}{
		"an integer":                         {"self.spec.port", int64(5)},
		"a boolean":                          {"!self.spec.enabled", false},
		"a field named as a keyword":         {"self.spec.namespace", "ns"},
		"a field named as an operator":       {"self.spec.`in`", "inside"},
		"a dash in an index":                 {"self.spec['my-dash']", "dashed"},
		"a dash in backticks":                {"self.spec.`my-dash`", "dashed"},
		"presence of a dash":                 {"has(self.spec.`my-dash`)", true},
		"an optional dash":                   {"self.spec[?'my-dash']", "dashed"},
		"an identifier with a dash":          {"identifiers['my-id'] + identifiers.org", "macme"},
		"a default for what is absent":       {"self.spec.?description.orValue('none')", "none"},
		"an absent optional":                 {"self.spec.?description", nil},
		"null":                               {"observed.nothing", nil},
		"an optional below null":             {"observed.nothing.?x", nil},
		"a variable without a value":         {"item.?other", nil},
		"metadata":                           {"self.metadata.uid + self.metadata.name", "u-1one"},
		"metadata labels":                    {"self.metadata.labels['example.com/tier']", "gold"},
		"the generation":                     {"self.metadata.generation + 1", int64(4)},
		"apiVersion and kind":                {"self.apiVersion + '/' + self.kind", "example.com/v1/Thing"},
		"status":                             {"self.status.url", "https://h"},
		"a date-time is text":                {"self.spec.when + self.spec.data + self.spec.timeout", "2020-01-01T00:00:00ZYWJj1h"},
		"a known field of an open object":    {"self.spec.free.known + ''", "k"},
		"an unknown field of an open object": {"self.spec.free.any.x", int64(1)},
		"a field of an object without more":  {"self.spec.bag.x + 1", int64(8)},
		"a dynamic index of such an object":  {"self.spec.bag[self.spec.tags[0] == 'a' ? 'x' : 'y']", int64(7)},
		"a field of an empty object schema":  {"self.spec.empty.y", "z"},
		"an embedded resource":               {"self.spec.template.spec.z", int64(9)},
		"metadata of an embedded resource":   {"self.spec.template.metadata.name", "p"},
		"int or string":                      {"self.spec.percent", "5%"},
		"a map":                              {"self.spec.labels['a.b/c']", "v"},
		"comparing int with double":          {"self.spec.port > 4.5 && 4.5 < self.spec.port", true},
		"a list of mixed types":              {"[1, 'a', true]", []any{int64(1), "a", true}},
		"a body": {
			"{'port': self.spec.port, 'name': self.metadata.name, ?'d': self.spec.?description}",
			obj("port", int64(5), "name", "one"),
		},
		"an absent optional as a value":       {"{'a': self.spec.?description, 'b': [optional.none(), optional.of(1)]}", obj("b", []any{int64(1)})},
		"a raw object":                        {"self.spec.items", []any{obj("name", "x", "weight", 3.0)}},
		"bytes":                               {"b'abc'", "YWJj"},
		"a timestamp":                         {"timestamp(self.spec.when) + duration('1h')", "2020-01-01T01:00:00Z"},
		"a duration":                          {"duration('90s')", "1m30s"},
		"an unsigned integer":                 {"7u", int64(7)},
		"an unsigned integer above int64":     {"observed.huge", uint64(1 << 63)},
		"a double":                            {"5.0", 5.0},
		"a header":                            {"lastSegment(response.headers.location)", "7"},
		"the response":                        {"response.status == 201 && response.body.ok", true},
		"the endpoint":                        {"endpoint.name + endpoint.labels.zone + endpoint.values.team", "mainax"},
		"desired and changed":                 {"desired.size + changed.size", int64(3)},
		"a secret":                            {"secrets.token", "hunter2"},
		"a local name hides a variable":       {"[1, 2].all(self, self > 0)", true},
		"a bound name hides a variable":       {"cel.bind(self, 1, self + 1)", int64(2)},
		"null comparison of a nullable field": {"self.spec.?description.orValue(null) == null", true},
	}
	e := testEnvironment(t)
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x, err := e.Compile(c.source, everywhere())
			if err != nil {
				t.Fatal(err)
			}
			got, present, err := x.Evaluate(t.Context(), NewBudget(0), testVariables())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" || present != (c.want != nil) {
				t.Errorf("%s: present %v, -want +got:\n%s", c.source, present, diff)
			}
		})
	}
}

// The API server hands out 2 for a number written as 2.0.
func TestNumbersAreDoublesWhereverTheyAreReached(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]any{
		"self.spec.ratio * 1.5":                                3.0,
		"self.spec.?ratio.orValue(1.0) * 1.5":                  3.0,
		"self.?spec.?ratio.orValue(1.0) * 1.5":                 3.0,
		"self.spec[?'ratio'].orValue(1.0) * 1.5":               3.0,
		"optional.of(self.spec).ratio.orValue(2.0) * 1.5":      3.0,
		"cel.bind(s, self.spec, s.ratio * 1.5)":                3.0,
		"self.spec.ratios.map(r, r * 2.0)":                     []any{2.0, 5.0},
		"self.spec.ratioByName.a / 2.0":                        2.0,
		"self.spec.items.map(i, i.weight / 2.0)":               []any{1.5},
		"self.spec.items[?0].?weight.orValue(1.0) / 2.0":       1.5,
		"self.spec.items.transformList(n, i, i.weight * 10.0)": []any{30.0},
	} {
		vars := testVariables()
		got, _, err := mustCompile(t, source).Evaluate(t.Context(), nil, vars)
		if err != nil {
			t.Errorf("%s: %v", source, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", source, diff)
		}
		if diff := cmp.Diff(testVariables(), vars); diff != "" {
			t.Errorf("%s changed the variables: -want +got:\n%s", source, diff)
		}
	}
}

func TestResultsShareNothingWithTheVariables(t *testing.T) {
	t.Parallel()
	vars := testVariables()
	for _, source := range []string{"self.spec.labels", "self", "{'a': self.spec.labels}", "observed", "self.spec.tags"} {
		got, _, err := mustCompile(t, source).Evaluate(t.Context(), nil, vars)
		if err != nil {
			t.Fatalf("%s: %v", source, err)
		}
		overwrite(got)
		if diff := cmp.Diff(testVariables(), vars); diff != "" {
			t.Errorf("%s: changing the result changed a variable: -want +got:\n%s", source, diff)
		}
	}
}

// overwrite destroys everything that can be reached.
func overwrite(value any) {
	switch v := value.(type) {
	case map[string]any:
		for key, element := range v {
			overwrite(element)
			v[key] = "overwritten"
		}
	case []any:
		for i, element := range v {
			overwrite(element)
			v[i] = "overwritten"
		}
	}
}

func TestEvaluationErrorsSayWhereAndWhat(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		source    string
		line, col int
		contains  string
		missing   bool
	}{
		"a missing field":            {"'x' +\n  observed.name", 2, 11, "observed.name is not there", true},
		"the first that is missing":  {"observed.a.b.c", 1, 13, "observed.a is not there", true},
		"a field of null":            {"observed.nothing.x", 1, 17, "observed.nothing.x is not there", true},
		"a field of no value":        {"item.other", 1, 5, "item.other is not there", true},
		"a missing key of a map":     {"self.spec.labels['zz']", 1, 17, "self.spec.labels.zz is not there", true},
		"a missing dynamic key":      {"self.spec.labels[self.spec.in]", 1, 17, "is not there", true},
		"an index":                   {"self.spec.tags[7]", 1, 15, "the list is shorter", true},
		"an empty optional":          {"self.spec.?description.value()", 1, 29, "absent optional", true},
		"a type":                     {"observed.text + 1", 1, 15, "+ is not defined for the types", false},
		"a division":                 {"1 / (self.spec.port - 5)", 1, 3, "division by zero", false},
		"a conversion":               {"int(self.spec.namespace)", 1, 4, "int() does not take", false},
		"a function of a library":    {"lists.range(self.spec.port * 100000)", 1, 12, "lists.range() does not take", false},
		"a function of our own":      {"parseJSON(self.spec.namespace)", 1, 10, "not JSON", false},
		"a key that is not a string": {"{dyn(1): 2}", 0, 0, "a key that is not a string", false},
		"a number that is infinite":  {"1.0 / double(self.spec.port - 5)", 0, 0, "not finite", false},
		"a type JSON does not have":  {"[quantity('1Gi')]", 0, 0, "JSON cannot hold", false},
	}
	e := testEnvironment(t)
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x, err := e.Compile(strings.ReplaceAll(c.source, "self.spec.in]", "self.spec.`in`]"), everywhere())
			if err != nil {
				t.Fatal(err)
			}
			_, present, err := x.Evaluate(t.Context(), nil, testVariables())
			got := evaluationError(t, err)
			if present || got.Line != c.line || got.Column != c.col || got.Missing != c.missing || got.Field != "spec.test" {
				t.Errorf("got %+v, present %v", got, present)
			}
			if !strings.Contains(got.Error(), c.contains) {
				t.Errorf("got %q, want it to say %q", got, c.contains)
			}
		})
	}
}

// Whatever fails, the error names only what the expression itself says.
func TestEvaluationErrorsHoldNoValue(t *testing.T) {
	t.Parallel()
	for _, source := range []string{
		"observed[secrets.token]", "int(secrets.token)", "timestamp(secrets.token)", "duration(secrets.token)",
		"quantity(secrets.token).asInteger()", "url(':' + secrets.token).getHost()", "ip(secrets.token).family()", "cidr(secrets.token).prefixLength()",
		"{'a': 1}[secrets.token]", "[1][int(secrets.token.size()) + 40]", "parseJSON(secrets.token)", "lastSegment(secrets.token + '%zz')",
		"'%d'.format([dyn(secrets.token)])", "secrets.token.matches('[' + secrets.token)", "secrets.token.find('(' + secrets.token)",
		"semver(secrets.token).major()", "base64.decode('!' + secrets.token)", "merge(dyn(secrets.token), {})", "omit({}, [secrets.token, dyn(1)])",
		"dyn(secrets.token) + 1", "secrets.token.substring(99)", "secrets.token.charAt(99)", "parseJSON('{\"' + secrets.token + '\":1').x",
		"{secrets.token: 1}.missing", "timestamp(self.spec.when).getHours(secrets.token)", "self.spec.labels[secrets.token]",
		"{dyn(1): secrets.token}", "math.greatest(dyn(secrets.token), 1)", "lists.range(-secrets.token.size())",
	} {
		_, _, err := mustCompile(t, source).Evaluate(t.Context(), nil, testVariables())
		if err == nil {
			t.Errorf("%s did not fail", source)
		}
		for e := err; e != nil; e = errors.Unwrap(e) {
			if strings.Contains(e.Error(), "hunter2") {
				t.Errorf("%s: the error holds the secret: %v", source, e)
			}
		}
	}
}

func TestResultIsCheckedWhenTheTypeIsKnownOnlyAtRunTime(t *testing.T) {
	t.Parallel()
	sources := map[string]string{
		"boolean": "dyn(true)", "string": "dyn('a')", "number": "dyn(1)", "list": "dyn([1])", "object": "dyn({'a': 1})",
	}
	accepted := map[Result]string{
		AnyResult: "boolean string number list object", BoolResult: "boolean", StringResult: "string",
		ScalarResult: "boolean string number", ListResult: "list", ObjectResult: "object",
	}
	e := testEnvironment(t)
	for result, kinds := range accepted {
		for kind, source := range sources {
			x, err := e.Compile(source, Use{Field: "f", Result: result})
			if err != nil {
				t.Fatal(err)
			}
			_, present, err := x.Evaluate(t.Context(), nil, nil)
			want := strings.Contains(kinds, kind)
			if want != (err == nil) || present != want {
				t.Errorf("%v of a %s: present %v, error %v", result, kind, present, err)
			}
			if err != nil && !strings.Contains(err.Error(), "must give "+result.String()) {
				t.Errorf("%v of a %s: %v", result, kind, err)
			}
		}
	}
}

func TestEvaluateString(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"5": "5", "5.0": "5", "0.1": "0.1", "observed.big": "1000000000000000000000", "1e-7": "0.0000001", "true": "true",
		"'text'": "text", "observed.huge": "9223372036854775808", "5000000.0": "5000000",
	} {
		got, present, err := mustCompile(t, source).EvaluateString(t.Context(), nil, testVariables())
		if err != nil || !present || got != want {
			t.Errorf("%s gave %q, %v, %v; want %q", source, got, present, err, want)
		}
	}
	if _, _, err := mustCompile(t, "[1]").EvaluateString(t.Context(), nil, nil); err == nil {
		t.Error("a list was formatted as a string")
	}
	if got, present, err := mustCompile(t, "null").EvaluateString(t.Context(), nil, nil); got != "" || present || err != nil {
		t.Errorf("null gave %q, %v, %v", got, present, err)
	}
}

func TestEvaluateBoolAndList(t *testing.T) {
	t.Parallel()
	ctx, vars := t.Context(), testVariables()
	if got, present, err := mustCompile(t, "self.spec.enabled").EvaluateBool(ctx, nil, vars); !got || !present || err != nil {
		t.Errorf("got %v, %v, %v", got, present, err)
	}
	if _, _, err := mustCompile(t, "1").EvaluateBool(ctx, nil, vars); err == nil {
		t.Error("a number was taken as a boolean")
	}
	if _, present, err := mustCompile(t, "optional.none()").EvaluateBool(ctx, nil, vars); present || err != nil {
		t.Errorf("absent: %v, %v", present, err)
	}
	got, present, err := mustCompile(t, "self.spec.tags").EvaluateList(ctx, nil, vars)
	if diff := cmp.Diff([]any{"a", "b"}, got); diff != "" || !present || err != nil {
		t.Errorf("present %v, error %v: -want +got:\n%s", present, err, diff)
	}
	if _, _, err := mustCompile(t, "1").EvaluateList(ctx, nil, vars); err == nil {
		t.Error("a number was taken as a list")
	}
	if got, present, err := mustCompile(t, "null").EvaluateList(ctx, nil, vars); got != nil || present || err != nil {
		t.Errorf("absent: %v, %v, %v", got, present, err)
	}
}

func TestExpressionsAreSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	e := testEnvironment(t)
	x, err := e.Compile("[dyn(self.spec.items[0].weight * 2.0)] + [dyn(identifiers.org.replace('a', 'b'))]", everywhere())
	if err != nil {
		t.Fatal(err)
	}
	failing, err := e.Compile("'a'.replace('', self.spec.namespace + observed.none)", everywhere())
	if err != nil {
		t.Fatal(err)
	}
	vars := testVariables()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				if got, _, err := x.Evaluate(t.Context(), NewBudget(0), vars); err != nil || cmp.Diff([]any{6.0, "bcme"}, got) != "" {
					t.Errorf("got %v, %v", got, err)
				}
				if _, _, err := failing.Evaluate(t.Context(), NewBudget(0), vars); err == nil {
					t.Error("no error")
				}
				if _, err := e.Compile("self.spec.port + 1", everywhere()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// A raw result is what goes over the wire; everywhere else bytes are base64, since JSON has none.
func TestRawResultsAreBytes(t *testing.T) {
	t.Parallel()
	env, err := NewEnvironment(Declarations{})
	if err != nil {
		t.Fatal(err)
	}
	use := Use{Field: "f", Result: RawResult, Variables: []Variable{Observed}}
	for source, want := range map[string]any{
		"b'\\x00\\xff'": "\x00\xff", "optional.of(b'\\xff')": "\xff", "'text'": "text", "optional.none()": nil, "observed.text": "hi",
	} {
		x, err := env.Compile(source, use)
		if err != nil {
			t.Fatalf("%s: %v", source, err)
		}
		got, present, err := x.Evaluate(t.Context(), nil, map[Variable]any{Observed: map[string]any{"text": "hi"}})
		if err != nil || got != want || present != (want != nil) {
			t.Errorf("%s: got %q, %v, %v", source, got, present, err)
		}
	}
	for _, source := range []string{"1", "[b'a']", "{'a': 1}", "true"} {
		if _, err := env.Compile(source, use); err == nil || !strings.Contains(err.Error(), "must give text or bytes") {
			t.Errorf("%s: error is %v", source, err)
		}
	}
	x, err := env.Compile("observed.number", use)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := x.Evaluate(t.Context(), nil, map[Variable]any{Observed: map[string]any{"number": int64(1)}}); err == nil {
		t.Error("a number went through as raw")
	}
}
