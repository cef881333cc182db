package celrules

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// repeat nests a text around a seed.
func repeat(seed, pattern string, times int) string {
	for range times {
		seed = fmt.Sprintf(pattern, seed)
	}
	return seed
}

// hostileVariables are what somebody who may only write a custom resource can bring.
func hostileVariables() map[Variable]any {
	list := make([]any, 20_000)
	for i := range list {
		list[i] = int64(i)
	}
	vars := testVariables()
	texts := make([]any, 300)
	for i := range texts {
		texts[i] = "some text"
	}
	vars[Self] = map[string]any{"spec": map[string]any{"long": strings.Repeat("a", 700_000), "list": list, "texts": texts}}
	return vars
}

func TestHostileExpressionsStop(t *testing.T) {
	t.Parallel()
	const (
		limit   = "stopped at the cost limit of 1000000"
		refused = "was given too much"
		nodes   = "more than 100000 values"
	)
	doubled := repeat("x", "cel.bind(x, [x, x], %s)", 60)
	cases := map[string]struct{ source, contains string }{
		"three maps inside each other": {"self.spec.texts.map(a, self.spec.texts.map(b, self.spec.texts.map(c, a + b + c)))", limit},
		"text doubled again and again": {"cel.bind(x, self.spec.long, " + repeat("x.size()", "cel.bind(x, x + x, %s)", 20) + ")", refused},
		"lists doubled":                {"cel.bind(x, [1], " + repeat("x.size()", "cel.bind(x, x + x, %s)", 60) + ")", refused},
		"a list that holds itself":     {"cel.bind(x, [1], " + doubled + ")", nodes},
		"comparing such lists":         {"cel.bind(x, [1], " + strings.Replace(doubled, "x, x], x)", "x, x], x == x)", 1) + ")", "a comparison " + refused},
		"finding in such lists":        {"cel.bind(x, [1], " + strings.Replace(doubled, "x, x], x)", "x, x], dyn(x) in x)", 1) + ")", "a comparison " + refused},
		"differing of such lists":      {"cel.bind(x, [1], " + strings.Replace(doubled, "x, x], x)", "x, x], x != x)", 1) + ")", "a comparison " + refused},
		"includes in such lists":       {"cel.bind(x, [1], " + strings.Replace(doubled, "x, x], x)", "x, x], x.includes(x))", 1) + ")", limit},
		"flattening such lists":        {"cel.bind(x, [1], " + strings.Replace(doubled, "x, x], x)", "x, x], x.flatten(60))", 1) + ")", refused},
		"JSON of such lists":           {"cel.bind(x, [1], " + strings.Replace(doubled, "x, x], x)", "x, x], toJSON(x))", 1) + ")", nodes},
		"replacing nothing":            {"self.spec.long.replace('', self.spec.long)", refused},
		"replacing a letter":           {"self.spec.long.replace('a', self.spec.long)", refused},
		"replacing a number of times":  {"self.spec.long.replace('a', self.spec.long, 100000)", refused},
		"joining with a long text":     {"self.spec.texts.join(self.spec.long)", refused},
		"joining long texts":           {"self.spec.texts.map(t, self.spec.long).join()", refused},
		"formatting long texts":        {"'%s'.format([self.spec.texts.map(t, self.spec.long)])", refused},
		"searching a long text":        {"self.spec.long.indexOf(self.spec.long.substring(350000) + 'b')", refused},
		"searching from the end":       {"self.spec.long.lastIndexOf('b' + self.spec.long.substring(350000))", refused},
		"a pattern as long as a text":  {"self.spec.long.find(self.spec.long)", limit},
		"sets":                         {"sets.contains(self.spec.list, self.spec.list)", limit},
		"equivalent sets":              {"sets.equivalent(self.spec.list, self.spec.list)", limit},
		"intersecting sets":            {"sets.intersects(self.spec.list, self.spec.list.map(i, i + 100000))", limit},
		"distinct":                     {"self.spec.list.distinct()", limit},
		"a huge range":                 {"lists.range(1000000000)", "lists.range()"},
		"encoding a long text":         {"urlEncode(self.spec.long + self.spec.long + self.spec.long)", refused},
		"a result of many values":      {"lists.range(1000).map(i, self.spec.list)", nodes},
		"a result of much text":        {"[self.spec.long, self.spec.long]", "more than 1048576 bytes"},
		"a deep result":                {"parseJSON('" + strings.Repeat("[", 300) + strings.Repeat("]", 300) + "')", "more than 200 levels"},
		"parsing a long text":          {"parseJSON(self.spec.long + self.spec.long)", refused},
	}
	e, err := NewEnvironment(Declarations{})
	if err != nil {
		t.Fatal(err)
	}
	vars := hostileVariables()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			x, err := e.Compile(c.source, everywhere())
			if err != nil {
				t.Fatal(err)
			}
			// The context only ends a test that hangs: every case must fail for its own reason.
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			_, _, err = x.Evaluate(ctx, NewBudget(0), vars)
			if got := evaluationError(t, err); !strings.Contains(got.Message, c.contains) || got.Missing {
				t.Errorf("got %+v, want it to say %q", got, c.contains)
			}
		})
	}
}

// Some refused calls are also charged so much that the cost limit is what is reported; the rules are held here.
func TestGuardRules(t *testing.T) {
	t.Parallel()
	text := func(size int) ref.Val { return types.String(strings.Repeat("a", size)) }
	list := func(size int, element ref.Val) ref.Val {
		elements := make([]ref.Val, size)
		for i := range elements {
			elements[i] = element
		}
		return types.NewRefValList(types.DefaultTypeAdapter, elements)
	}
	nested := list(100, list(100, list(100, list(100, types.IntOne))))
	cases := map[string]struct {
		fits guard
		args []ref.Val
		want bool
	}{
		"a product that fits":             {productFits, []ref.Val{list(1000, types.IntOne), list(1000, types.IntOne)}, true},
		"a product that is too large":     {productFits, []ref.Val{list(1001, types.IntOne), list(1000, types.IntOne)}, false},
		"a small product of large values": {productFits, []ref.Val{list(1, nested), list(1, nested)}, false},
		"a list to make distinct":         {distinctFits, []ref.Val{list(1000, types.IntOne)}, true},
		"too long a list":                 {distinctFits, []ref.Val{list(1001, types.IntOne)}, false},
		"a search that fits":              {searchFits, []ref.Val{text(700_000), text(50)}, true},
		"a search of two long texts":      {searchFits, []ref.Val{text(700_000), text(100)}, false},
		"a list to go through":            {weightFits, []ref.Val{list(10_000, text(100))}, true},
		"a list of lists of lists":        {weightFits, []ref.Val{nested}, false},
		"many middling arguments":         {weightFits, []ref.Val{text(maxText / 2), text(maxText / 2)}, false},
		"a replacement that fits":         {replaceFits, []ref.Val{text(1000), text(1), text(4000)}, true},
		"a replacement that grows":        {replaceFits, []ref.Val{text(1000), text(1), text(5000)}, false},
		"a join that fits":                {joinFits, []ref.Val{list(1000, text(1)), text(4000)}, true},
		"a join that grows":               {joinFits, []ref.Val{list(1000, text(1)), text(5000)}, false},
		"a join of long texts":            {joinFits, []ref.Val{list(1000, text(5000))}, false},
	}
	for name, c := range cases {
		if got := c.fits(c.args); got != c.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

func TestOrdinaryUseIsWithinTheGuards(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]any{
		"'a-b-c'.replace('-', '')":                                                                "abc",
		"'a-b-c'.replace('-', '+', 1)":                                                            "a+b-c",
		"['a', 'b'].join() + ['a', 'b'].join('/')":                                                "aba/b",
		"'%s is %d'.format(['a', 1])":                                                             "a is 1",
		"'hello'.indexOf('l') + 'hello'.indexOf('l', 3) + 'hello'.lastIndexOf('l')":               int64(8),
		"[1, 2, 1].indexOf(2) + [1, 2, 1].lastIndexOf(1)":                                         int64(3),
		"[1, 2].includes(2) && [1, 2].isSorted() && !('a' in ['b'])":                              true,
		"[1, 2].sum() + [1, 2].min() + [1, 2].max()":                                              int64(6),
		"[[1], [2, [3]]].flatten(2) + [1, 1].distinct()":                                          []any{int64(1), int64(2), int64(3), int64(1)},
		"sets.contains([1, 2], [1]) && sets.equivalent([1], [1]) && sets.intersects([1], [1, 2])": true,
		"'abc123'.find('[0-9]+') + 'a1b2'.findAll('[0-9]')[1]":                                    "1232",
		"{'a': [1]} == {'a': [1]} && [1] != [2] && 1 in [1] && 'a' in {'a': 1} && 1 != 2":         true,
		"'abc'.matches('^[a-c]+$') && !self.kind.matches(self.kind + 'x')":                        true,
	} {
		got, _, err := mustCompile(t, source).Evaluate(t.Context(), NewBudget(0), testVariables())
		if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s gave %v, %v; want %v", source, got, err, want)
		}
	}
}

func TestEvaluationStopsWithItsContext(t *testing.T) {
	t.Parallel()
	cause := errors.New("the operator stops")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	_, _, err := mustCompile(t, "1").Evaluate(ctx, nil, nil)
	if got := evaluationError(t, err); !errors.Is(got, cause) || !strings.Contains(got.Message, "time for this pass is over") {
		t.Errorf("before it began: %v", err)
	}

	// The context ends while the first variable is read; the comprehension must see it.
	ctx, cancel = context.WithCancelCause(t.Context())
	x := mustCompile(t, "observed && lists.range(1000).all(i, i >= 0)")
	_, _, err = x.Evaluate(ctx, nil, map[Variable]any{Observed: func() any { return true }})
	if err == nil {
		t.Error("a function was taken as a value")
	}
	stopping := &stoppingContext{Context: ctx, cancel: func() { cancel(cause) }, after: 3}
	_, _, err = mustCompile(t, "lists.range(10000).all(i, i >= 0)").Evaluate(stopping, nil, nil)
	if got := evaluationError(t, err); !errors.Is(got, cause) {
		t.Errorf("while it ran: %v", err)
	}
}

// stoppingContext ends itself when it was looked at a number of times.
type stoppingContext struct {
	context.Context //nolint:containedctx // it is a context

	cancel func()
	after  int
}

func (c *stoppingContext) Done() <-chan struct{} {
	if c.after--; c.after == 0 {
		c.cancel()
	}
	return c.Context.Done()
}

func TestBudgetIsSharedByTheEvaluationsOfAPass(t *testing.T) {
	t.Parallel()
	x := mustCompile(t, "lists.range(100).all(i, i >= 0)")
	budget := NewBudget(0)
	if budget.Left() != DefaultBudget {
		t.Fatalf("a new budget has %d", budget.Left())
	}
	if _, _, err := x.Evaluate(t.Context(), budget, nil); err != nil {
		t.Fatal(err)
	}
	cost := DefaultBudget - budget.Left()
	if cost < 100 || cost > 2000 {
		t.Fatalf("an evaluation of 100 steps cost %d", cost)
	}
	small := NewBudget(2*cost + 1)
	for range 2 {
		if _, _, err := x.Evaluate(t.Context(), small, nil); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		_, present, err := x.Evaluate(t.Context(), small, nil)
		if got := evaluationError(t, err); present || !strings.Contains(got.Message, "cost limit of one pass") {
			t.Errorf("got %v, %v", present, err)
		}
	}
	if small.Left() != 0 {
		t.Errorf("a spent budget has %d left", small.Left())
	}
	if _, _, err := x.Evaluate(t.Context(), nil, nil); err != nil {
		t.Errorf("without a budget only the limit of the expression holds: %v", err)
	}
}

func TestStoppedEvaluationIsChargedInFull(t *testing.T) {
	t.Parallel()
	budget := NewBudget(0)
	x := mustCompile(t, "lists.range(2000).all(i, lists.range(2000).all(j, j >= 0))")
	if _, _, err := x.Evaluate(t.Context(), budget, nil); err == nil {
		t.Fatal("no error")
	}
	if got := DefaultBudget - budget.Left(); got != ExpressionLimit {
		t.Errorf("charged %d", got)
	}
}

func TestLongSourceIsRefused(t *testing.T) {
	t.Parallel()
	_, err := testEnvironment(t).Compile(strings.Repeat("1 + ", MaxSourceLength)+"1", everywhere())
	if err == nil {
		t.Fatal("no error")
	}
	if got := compileErrors(t, err); got[0].Line != 1 || got[0].Column != 1 {
		t.Errorf("got %+v", got[0])
	}
}

func TestGuardsKnowEveryFunctionTheyName(t *testing.T) {
	t.Parallel()
	base, err := baseEnvironment()
	if err != nil {
		t.Fatal(err)
	}
	for name, guards := range guardedOverloads() {
		known := map[string]bool{allOverloads: true}
		for _, overload := range base.Functions()[name].OverloadDecls() {
			known[overload.ID()] = true
		}
		for overload := range guards {
			if !known[overload] {
				t.Errorf("%s has no overload %s", name, overload)
			}
		}
	}
}
