package celrules

import (
	"context"
	"errors"
	"testing"
	"time"
)

// FuzzCompileAndEvaluate holds that no text makes the compiler panic, that every error has a place, and that what
// compiles ends with a plain value or an EvaluationError.
func FuzzCompileAndEvaluate(f *testing.F) {
	for _, seed := range []string{
		"self.spec.port + 1", "self.spec['my-dash']", "self.spec.?description.orValue('x')", "{'a': [1, 2.0, b'x'], ?'b': item.?x}",
		"self.spec.items.map(i, i.weight * 2.0).sum()", "cel.bind(x, [1], cel.bind(x, x + x, x == x))", "secrets.token + identifiers.org",
		"'%s'.format([self])", "parseJSON(toJSON(self))", "merge(self, observed)", "lastSegment('a/b')", "[[1]].flatten(3)", "1 +", "\x00", "((((((",
		"self.spec.tags.all(self, self in self)", "self[?'spec'].?ratio", "timestamp('2020-01-01T00:00:00Z').getHours('UTC')", "a.b.c(d).e",
		"lists.range(3).transformMapEntry(i, v, {string(i): v})", "`a`.`b`", ".self", "quantity('1').add(1)", "\n\n  self.x\n",
	} {
		f.Add(seed)
	}
	e := testEnvironment(f)
	vars := testVariables()
	f.Fuzz(func(t *testing.T, source string) {
		watchdog := time.AfterFunc(30*time.Second, func() { panic("does not end: " + source) })
		defer watchdog.Stop()
		x, err := e.Compile(source, everywhere())
		if err != nil {
			for _, problem := range compileErrors(t, err) {
				if problem.Line < 1 || problem.Column < 1 || problem.Message == "" {
					t.Errorf("an error without a place or a message: %+v", problem)
				}
			}
			return
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		value, present, err := x.Evaluate(ctx, NewBudget(0), vars)
		if present == (value == nil) || present && kindOf(value) == kindOf(t) {
			t.Errorf("present is %v with %T", present, value)
		}
		var problem *EvaluationError
		if err != nil && !errors.As(err, &problem) {
			t.Errorf("%T is no EvaluationError", err)
		}
	})
}
