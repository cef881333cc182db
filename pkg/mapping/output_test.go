package mapping

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/restmapping/operator/api/v1alpha1"
)

func output(o v1alpha1.Output) specChange {
	return func(s *v1alpha1.RestMappingSpec) {
		if o.Name == "" {
			o.Name = "access"
		}
		if o.Kind == "" {
			o.Kind = v1alpha1.OutputSecret
		}
		s.Outputs = append(s.Outputs, o)
	}
}

func data(key string, value v1alpha1.Expression) map[string]v1alpha1.Expression {
	return map[string]v1alpha1.Expression{key: value}
}

var onCreate = []v1alpha1.FieldEvent{v1alpha1.OnCreate}

func TestCompileRefusesOutputs(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		output      v1alpha1.Output
		field, says string
	}{
		"a secret's value":               {v1alpha1.Output{Data: data("a", "secrets.password")}, "spec.outputs[0].data[a]", "secrets"},
		"the answer of a look":           {v1alpha1.Output{Data: data("a", "response.body.x")}, "spec.outputs[0].data[a]", "response"},
		"what was observed, at a create": {v1alpha1.Output{Data: data("a", "observed.x"), Operations: onCreate}, "spec.outputs[0].data[a]", "observed"},
		"a list":                         {v1alpha1.Output{Data: data("a", "self.spec.tags")}, "spec.outputs[0].data[a]", "list"},
		"no expression":                  {v1alpha1.Output{Data: data("a", "")}, "spec.outputs[0].data[a]", "missing"},
		"a key with a slash":             {v1alpha1.Output{Data: data("a/b", "'x'")}, "spec.outputs[0].data", "valid key"},
		"no data":                        {v1alpha1.Output{}, "spec.outputs[0].data", "at least one"},
		"another kind":                   {v1alpha1.Output{Kind: "Pod", Data: data("a", "'x'")}, "spec.outputs[0].kind", "Secret or ConfigMap"},
		"a bad name":                     {v1alpha1.Output{Name: "A_b", Data: data("a", "'x'")}, "spec.outputs[0].name", "lower-case"},
		"updates":                        {v1alpha1.Output{Data: data("a", "'x'"), Operations: []v1alpha1.FieldEvent{v1alpha1.OnUpdate}}, "spec.outputs[0].operations", "only Create and Rotate"},
		"a name out of the status":       {v1alpha1.Output{NameExpression: "self.status.url", Data: data("a", "'x'")}, "spec.outputs[0].nameExpression", "self.status"},
		"a name from the server":         {v1alpha1.Output{NameExpression: "observed.name", Data: data("a", "'x'")}, "spec.outputs[0].nameExpression", "observed"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantOneError(t, compileErrors(t, widgetTarget(t), output(tc.output)), tc.field, tc.says)
		})
	}
}

func TestCompileRefusesOutputsWhereTheyCannotBe(t *testing.T) {
	t.Parallel()
	fine := v1alpha1.Output{Data: data("a", "'x'")}
	wantOneError(t, compileErrors(t, widgetTarget(t), output(fine), output(fine)), "spec.outputs[1].name", "twice")
	created := output(v1alpha1.Output{Data: data("a", "'x'"), Operations: onCreate})
	observing := func(s *v1alpha1.RestMappingSpec) { s.Operations.Create = nil }
	wantOneError(t, compileErrors(t, widgetTarget(t), created, observing), "spec.outputs[0].operations", "no operations.create")
	cluster := widgetTarget(t)
	cluster.Namespaced = false
	found := compileErrors(t, cluster, output(fine))
	if !strings.Contains(strings.Join(found, "\n"), "spec.outputs: Widget is cluster-scoped") {
		t.Errorf("got %q", found)
	}
}

func TestOutputs(t *testing.T) {
	t.Parallel()
	p := compiled(t,
		output(v1alpha1.Output{Name: "one", Data: map[string]v1alpha1.Expression{
			"port": "observed.port", "host": "observed.host", "whole": "2.0", "gone": "observed.?nothing", "on": "true",
		}}),
		output(v1alpha1.Output{
			Name: "two", Kind: v1alpha1.OutputConfigMap, NameExpression: "self.spec.owner + '-' + self.metadata.name",
			Operations: onCreate, Data: map[string]v1alpha1.Expression{"a": "response.body.token", "b": "response.body.missing"},
		}),
	)
	s := widgetPass(t, p, widgetSelf)
	outputs := p.Outputs()
	one, err := s.ObservedData(t.Context(), outputs[0], object(t, `{port: 80, host: h}`))
	noError(t, err)
	if diff := cmp.Diff(map[string]string{"port": "80", "host": "h", "whole": "2", "on": "true"}, one); diff != "" {
		t.Errorf("observed (-want +got):\n%s", diff)
	}
	if _, err := s.ObservedData(t.Context(), outputs[0], object(t, `{port: [1], host: h}`)); err == nil {
		t.Error("a list was written as a value")
	}
	two, err := s.CreatedData(t.Context(), outputs[1], jsonResponse(t, 201, `{"token":"t"}`))
	wantError(t, err, "spec.outputs[1].data[b]", "missing")
	if diff := cmp.Diff(map[string]string{"a": "t"}, two); diff != "" {
		t.Errorf("created, what could be found (-want +got):\n%s", diff)
	}
	names := []string{}
	for _, o := range outputs {
		name, err := p.OutputObject(t.Context(), o, self(t, widgetSelf))
		noError(t, err)
		names = append(names, string(o.Kind)+" "+name)
	}
	if diff := cmp.Diff([]string{"Secret w1-one", "ConfigMap acme-w1"}, names); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

func TestAnOutputsNameIsChecked(t *testing.T) {
	t.Parallel()
	p := compiled(t, output(v1alpha1.Output{NameExpression: "self.spec.owner", Data: data("a", "'x'")}))
	for _, owner := range []string{"''", "A_b", "a/b"} {
		_, err := p.OutputObject(t.Context(), p.Outputs()[0], self(t, "metadata: {name: w1}\nspec: {owner: "+owner+"}"))
		wantError(t, err, "spec.outputs[0].nameExpression")
	}
}
