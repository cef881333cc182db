package celrules

import (
	"testing"

	"github.com/google/cel-go/cel"
)

// The texts that pending.go looks at are held against the real library, without any of our own options: when an update
// changes a word, this test says so.
func TestFailureTextsAreThoseOfTheLibrary(t *testing.T) {
	t.Parallel()
	env, err := cel.NewEnv(cel.OptionalTypes(), cel.Variable("v", cel.DynType))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		source  string
		want    failure
		missing bool
	}{
		"no such key":                 {"v.object.none", failureMissingKey, true},
		"no such key of a literal":    {"{'a': 1}['b']", failureMissingKey, true},
		"no such dynamic key":         {"v.object[v.text]", failureMissingKey, true},
		"index out of range":          {"v.list[3]", failureMissingIndex, true},
		"index of a literal":          {"[1, 2][2]", failureMissingIndex, true},
		"an empty optional":           {"v.?none.value()", failureEmptyOptional, true},
		"no such overload":            {"v.text + v.number", failureOverload, false},
		"no such overload of a call":  {"v.number.startsWith('a')", failureOverload, false},
		"division by zero":            {"v.number / (v.number - v.number)", failureDivision, false},
		"modulus by zero":             {"v.number % (v.number - v.number)", failureDivision, false},
		"a conversion that goes awry": {"int(v.text)", failureOther, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ast, issues := env.Compile(c.source)
			if issues.Err() != nil {
				t.Fatal(issues.Err())
			}
			program, err := env.Program(ast)
			if err != nil {
				t.Fatal(err)
			}
			_, _, err = program.Eval(map[string]any{"v": map[string]any{
				"object": map[string]any{}, "list": []any{int64(1)}, "text": "no such text", "number": int64(1),
			}})
			if err == nil {
				t.Fatal("no error")
			}
			if got := failureOf(err); got != c.want || got.missing() != c.missing {
				t.Errorf("%q is %v (missing %v), want %v (missing %v)", err, got, got.missing(), c.want, c.missing)
			}
		})
	}
}
