package celrules

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCompileErrorsSayWhereAndWhatIsAllowed(t *testing.T) {
	t.Parallel()
	use := Use{Field: "spec.fields[2].value", Variables: []Variable{Self, Identifiers, Endpoint}}
	cases := map[string]struct {
		source    string
		use       Use
		line, col int
		contains  string
	}{
		"an unknown variable": {
			"foo.bar", use, 1, 1, "unknown variable 'foo'; here an expression may use self, identifiers, endpoint",
		},
		"a variable without a value here": {
			"'a' +\n string(observed.id)", use, 2, 9, "the variable 'observed' has no value here; here an expression may use self, identifiers, endpoint",
		},
		"such a variable behind a leading dot": {".observed.id", use, 1, 2, "'observed' has no value here"},
		"no variables at all":                  {"self", Use{Field: "f"}, 1, 1, "here an expression may use no variables"},
		"an unknown field":                     {"self.spec.prot", use, 1, 10, "unknown field 'prot' of self.spec; it has bag, data, description"},
		"an unknown field in an index":         {"self.spec['my-dahs']", use, 1, 10, "unknown field 'my-dahs' of self.spec; it has"},
		"an unknown optional field":            {"self.spec.?prot", use, 1, 10, "unknown field 'prot' of self.spec; it has"},
		"an unknown field on the second line":  {"self.spec.port > 1 &&\n  self.sepc.port < 3", use, 2, 7, "unknown field 'sepc' of self; it has apiVersion, kind, metadata, spec, status"},
		"an unknown field of metadata":         {"self.metadata.nam", use, 1, 14, "unknown field 'nam' of self.metadata; it has annotations, creationTimestamp"},
		"an unknown field of an element":       {"self.spec.items.map(i, i.nam)", use, 1, 25, "unknown field 'nam' of i; it has name, weight"},
		"an unknown field of an indexed one":   {"self.spec.items[0].nam", use, 1, 19, "unknown field 'nam' of the object; it has name, weight"},
		"an unknown field of a second name":    {"self.spec.items.transformList(n, i, i.nam)", use, 1, 38, "unknown field 'nam' of i; it has name, weight"},
		"a name that hides what it runs over":  {"self.spec.tags.all(self, self.x in self) && self.spec.prot", use, 1, 30, "does not support field selection"},
		"a name that hides an unknown range":   {"self.spectags.all(self, self in self)", use, 1, 5, "unknown field 'spectags' of self"},
		"an unknown identifier":                {"identifiers.ogr", use, 1, 12, "unknown field 'ogr' of identifiers; it has my-id, org"},
		"an unknown secret": {
			"secrets.tokn", Use{Field: "f", Secrets: true}, 1, 8, "unknown field 'tokn' of secrets; it has token",
		},
		"an unknown field of the response": {"response.code", everywhere(), 1, 9, "unknown field 'code' of response; it has body, headers, status"},
		"an unknown function":              {"foo(1)", use, 1, 4, "unknown function 'foo'"},
		"an unknown method":                {"self.spec.tags.foo()", use, 1, 19, "unknown function 'foo'"},
		"an unknown function of a library": {"lists.rnage(3)", use, 1, 12, "unknown function 'lists.rnage'"},
		"a field of a string":              {"self.spec.namespace.x", use, 1, 20, "does not support field selection"},
		"an operator of two types":         {"self.spec.port + 'a'", use, 1, 16, "both sides must have the same type"},
		"equality of two types":            {"self.spec.port == 5.0", use, 1, 16, "both sides must have the same type"},
		"a dynamic index of an object":     {"self.spec[self.kind]", use, 1, 10, "write a constant name, or dyn(object)[key]"},
		"a syntax error":                   {"1 +", use, 1, 4, "Syntax error"},
		"a wrong literal":                  {"timestamp('yesterday')", use, 1, 11, "invalid timestamp argument"},
		"a wrong pattern":                  {"self.kind.matches('(')", use, 1, 19, "invalid matches argument"},
		"an empty expression":              {"", use, 1, 1, "Syntax error"},
		"a secret where none may flow": {
			"'x' + secrets.token", use, 1, 7, "a secret may only go into request bodies, headers and queries; here an expression may use self",
		},
		"a secret that is listed but may not flow": {
			"secrets.token", Use{Field: "f", Variables: []Variable{Secrets, Self}}, 1, 1, "secrets may not be used here",
		},
		"a secret inside a macro": {"[1].map(x, secrets.token)", use, 1, 12, "secrets may not be used here"},
		"a secret that is bound":  {"cel.bind(s, secrets, 'a')", use, 1, 13, "secrets may not be used here"},
		"a secret in a test":      {"has(secrets.token) ? 1 : 2", use, 1, 5, "secrets may not be used here"},
		"a secret in a key":       {"{secrets.token: 1}", use, 1, 2, "secrets may not be used here"},
		"a quantity":              {"quantity('1Gi')", use, 1, 9, "must give a value that JSON can hold, but gives the type kubernetes.Quantity"},
		"a map with numbers as keys": {
			"{1: 2}", use, 1, 1, "must give a value that JSON can hold",
		},
	}
	e := testEnvironment(t)
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := e.Compile(c.source, c.use)
			if err == nil {
				t.Fatal("no error")
			}
			got := compileErrors(t, err)[0]
			if got.Line != c.line || got.Column != c.col || got.Source != c.source || got.Field != c.use.Field {
				t.Errorf("got %+v, want line %d, column %d", got, c.line, c.col)
			}
			if !strings.Contains(got.Error(), c.contains) {
				t.Errorf("got %q, want it to say %q", got, c.contains)
			}
		})
	}
}

func TestCompileReportsEverythingAtOnceInOrder(t *testing.T) {
	t.Parallel()
	source := "{'a': self.spec.prot,\n 'b': foo,\n 'c': secrets.token,\n 'd': observed.x,\n 'e': lists.rnage(1)}"
	_, err := testEnvironment(t).Compile(source, Use{Field: "spec.x", Variables: []Variable{Self}})
	if err == nil {
		t.Fatal("no error")
	}
	var lines []int
	for _, problem := range compileErrors(t, err) {
		lines = append(lines, problem.Line)
	}
	if diff := cmp.Diff([]int{1, 2, 3, 4, 5}, lines); diff != "" {
		t.Errorf("lines, -want +got:\n%s\n%v", diff, err)
	}
}

func TestResultTypeIsCheckedWhenItIsKnown(t *testing.T) {
	t.Parallel()
	sources := map[string]string{
		"boolean": "self.spec.enabled", "string": "self.kind", "int": "self.spec.port", "double": "self.spec.ratio", "uint": "1u",
		"list": "self.spec.tags", "map": "self.spec.labels", "struct": "self.spec", "bytes": "b'a'", "timestamp": "timestamp(self.spec.when)",
		"duration": "duration('1h')", "optional string": "self.spec.?namespace", "null": "null", "dyn": "self.spec.percent", "quantity": "quantity('1')",
		"type": "int",
	}
	accepted := map[Result]string{
		AnyResult:    "boolean string int double uint list map struct bytes timestamp duration optional string null dyn",
		BoolResult:   "boolean null dyn",
		StringResult: "string bytes timestamp duration optional string null dyn",
		ScalarResult: "boolean string int double uint bytes timestamp duration optional string null dyn",
		ListResult:   "list null dyn",
		ObjectResult: "map struct null dyn",
	}
	e := testEnvironment(t)
	for result, kinds := range accepted {
		for kind, source := range sources {
			_, err := e.Compile(source, Use{Field: "f", Variables: []Variable{Self}, Result: result})
			if want := strings.Contains(" "+kinds+" ", " "+kind+" "); want != (err == nil) {
				t.Errorf("%v of a %s: %v", result, kind, err)
			}
		}
	}
}

func TestUsesAndUsesPath(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		source   string
		variable Variable
		path     []string
		want     bool
	}{
		"a path":                           {"self.metadata.uid", Self, []string{"metadata", "uid"}, true},
		"something below a path":           {"self.spec.free.any.x", Self, []string{"spec", "free"}, true},
		"the whole does not use a part":    {"self.metadata", Self, []string{"metadata", "uid"}, false},
		"another path":                     {"self.metadata.name", Self, []string{"metadata", "uid"}, false},
		"an optional path":                 {"self.metadata.?uid", Self, []string{"metadata", "uid"}, true},
		"an index":                         {"self['metadata']['uid']", Self, []string{"metadata", "uid"}, true},
		"inside a macro":                   {"[1].map(x, self.metadata.uid)", Self, []string{"metadata", "uid"}, true},
		"a range":                          {"self.spec.tags.all(t, t != '')", Self, []string{"spec", "tags"}, true},
		"inside a map":                     {"{'a': {'b': [self.metadata.uid]}}", Self, []string{"metadata", "uid"}, true},
		"in a presence test":               {"has(self.metadata.uid)", Self, []string{"metadata", "uid"}, true},
		"a receiver":                       {"self.metadata.uid.startsWith('a')", Self, []string{"metadata", "uid"}, true},
		"a variable":                       {"observed == null", Observed, nil, true},
		"another variable":                 {"observed == null", Self, nil, false},
		"a local name is not a variable":   {"[1].all(self, self == 1)", Self, nil, false},
		"a range with the variable's name": {"self.spec.tags.all(self, self == '')", Self, []string{"spec", "tags"}, true},
		"the variable after a local name":  {"[1].all(self, self == 1) && self.spec.enabled", Self, []string{"spec", "enabled"}, true},
		"a leading dot inside a local":     {"[1].all(self, .self.spec.enabled)", Self, []string{"spec", "enabled"}, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := mustCompile(t, c.source)
			if got := x.UsesPath(c.variable, c.path...); got != c.want {
				t.Errorf("%s: got %v", c.source, got)
			}
			if len(c.path) == 0 && x.Uses(c.variable) != c.want {
				t.Errorf("%s: Uses is not UsesPath without a path", c.source)
			}
			if x.Source() != c.source {
				t.Errorf("source is %q", x.Source())
			}
		})
	}
}

func TestUntypedSelfTakesEveryField(t *testing.T) {
	t.Parallel()
	e, err := NewEnvironment(Declarations{})
	if err != nil {
		t.Fatal(err)
	}
	x, err := e.Compile("self.spec.whatever.x", everywhere())
	if err != nil {
		t.Fatal(err)
	}
	vars := map[Variable]any{Self: map[string]any{"spec": map[string]any{"whatever": map[string]any{"x": int64(1)}}}}
	if got, _, err := x.Evaluate(t.Context(), nil, vars); err != nil || got != int64(1) {
		t.Errorf("got %v, %v", got, err)
	}
	_, err = e.Compile("identifiers.x", everywhere())
	if err == nil || !strings.Contains(err.Error(), "none is declared") {
		t.Errorf("got %v", err)
	}
}

// A field that has a variable's or a type's name must not hide it, nor be hidden.
func TestFieldsMayHaveAnyName(t *testing.T) {
	t.Parallel()
	e, err := NewEnvironment(Declarations{
		Self: schemaOf(t, `{type: object, properties: {self: {type: object, properties: {spec: {type: string}}}, spec: {type: object,
			properties: {int: {type: string}, self: {type: string}, string: {type: integer}, has: {type: string}, "true": {type: string},
			"a.b": {type: string}, package: {type: string}}}}}`),
		Identifiers: []string{"self", "identifiers", "for"},
	})
	if err != nil {
		t.Fatal(err)
	}
	vars := map[Variable]any{
		Self: map[string]any{"self": map[string]any{"spec": "s"}, "spec": map[string]any{
			"int": "i", "self": "x", "string": int64(3), "has": "h", "true": "t", "a.b": "ab", "package": "p",
		}},
		Identifiers: map[string]string{"self": "1", "identifiers": "2", "for": "3"},
	}
	for source, want := range map[string]any{
		"self.self.spec": "s", "self.spec.int": "i", "self.spec.self": "x", "self.spec.string + 1": int64(4), "self.spec.has": "h",
		"self.spec.`true`": "t", "self.spec['true']": "t", "self.spec['a.b']": "ab", "self.spec.package": "p",
		"identifiers.self + identifiers.identifiers + identifiers['for']": "123", "int('1') + self.spec.string": int64(4),
	} {
		x, err := e.Compile(source, everywhere())
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		if got, _, err := x.Evaluate(t.Context(), nil, vars); err != nil || got != want {
			t.Errorf("%s gave %v, %v; want %v", source, got, err, want)
		}
	}
}

func TestWarningsOfTheCostEstimate(t *testing.T) {
	t.Parallel()
	e, err := NewEnvironment(Declarations{Self: schemaOf(t, `{type: object, properties: {spec: {type: object, properties: {
		free: {type: array, items: {type: string}}, few: {type: array, maxItems: 5, items: {type: string, maxLength: 10}}}}}}`)})
	if err != nil {
		t.Fatal(err)
	}
	for source, want := range map[string]bool{
		"self.spec.free.map(t, t + 'x')":                                                     false,
		"observed.items.exists(i, i.name == self.metadata.name)":                             false,
		"self.spec.free.all(a, self.spec.free.all(b, a == b))":                               true,
		"self.spec.few.all(a, self.spec.few.all(b, self.spec.few.all(c, a == b || b == c)))": false,
	} {
		x, err := e.Compile(source, everywhere())
		if err != nil {
			t.Fatal(err)
		}
		if got := x.Warnings(); (len(got) > 0) != want {
			t.Errorf("%s: warnings %v", source, got)
		}
	}
}
