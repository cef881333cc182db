package mapping

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/restmapping/operator/api/v1alpha1"
)

// small is a rule that widgets break which are larger than ten.
func small(m *v1alpha1.RestMapping) {
	m.Spec.Rules = []v1alpha1.Rule{{Expression: "self.spec.size < 10", Message: "it is too large"}}
}

func largeWidget(change func(*unstructured.Unstructured)) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Widget", "metadata": map[string]any{"name": "one", "namespace": "team"}, "spec": map[string]any{"size": int64(11)},
	}}
	if change != nil {
		change(object)
	}
	return object
}

func TestRulesOfTheGenerationThatServes(t *testing.T) {
	t.Parallel()
	unserved := func(m *v1alpha1.RestMapping) { m.Status.AcceptedGeneration = 0 }
	cases := map[string]struct {
		mapping    func(*v1alpha1.RestMapping)
		object     func(*unstructured.Unstructured)
		namespaces []string
		want       string
	}{
		"it breaks one":        {nil, nil, nil, "it is too large (RuleViolated, RestMapping widgets)"},
		"it keeps all":         {nil, func(o *unstructured.Unstructured) { o.Object["spec"] = map[string]any{"size": int64(3)} }, nil, ""},
		"nothing was accepted": {unserved, nil, nil, ""},
		"it is going":          {func(m *v1alpha1.RestMapping) { now := metav1.Now(); m.DeletionTimestamp = &now }, nil, nil, ""},
		"of another kind":      {nil, func(o *unstructured.Unstructured) { o.SetKind("Gadget") }, nil, ""},
		"of another version":   {nil, func(o *unstructured.Unstructured) { o.SetAPIVersion("example.com/v2") }, nil, ""},
		"not selected": {func(m *v1alpha1.RestMapping) {
			m.Spec.Target.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"zone": "a"}}
		}, nil, nil, ""},
		"in a namespace of the others": {nil, nil, []string{"blue"}, ""},
		"in one that is served":        {nil, nil, []string{"team"}, "it is too large"},
		"it asks what it refers to": {func(m *v1alpha1.RestMapping) {
			inBox(m)
			m.Spec.Rules[0].Expression = "refs.box.spec.size > 10"
		}, nil, nil, ""},
		"edited and not accepted": {func(m *v1alpha1.RestMapping) {
			m.Status.AcceptedSpec, m.Generation = pack(&m.Spec), 4
			m.Spec.Rules = nil
		}, nil, nil, "it is too large"},
		"a new rule that is not accepted": {func(m *v1alpha1.RestMapping) {
			spec := *m.Spec.DeepCopy()
			spec.Rules = nil
			m.Status.AcceptedSpec, m.Generation = pack(&spec), 4
		}, nil, nil, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMapping(t, small, func(m *v1alpha1.RestMapping) { m.Status.AcceptedGeneration = 3 })
			if tc.mapping != nil {
				tc.mapping(m)
			}
			b := newBench(t, newCRD(t), boxCRD(t), m)
			b.r.Namespaces = tc.namespaces
			broken, warnings, err := b.r.Violations(t.Context(), largeWidget(tc.object))
			if err != nil || len(warnings) > 0 {
				t.Errorf("%v, warnings %v", err, warnings)
			}
			if text := strings.Join(broken, "\n"); (text == "") != (tc.want == "") || !strings.Contains(text, tc.want) {
				t.Errorf("broken are %q, want %q", text, tc.want)
			}
		})
	}
}

func TestARuleThatCannotBeEvaluatedIsAWarning(t *testing.T) {
	t.Parallel()
	b := newBench(t, newCRD(t), newMapping(t, small, func(m *v1alpha1.RestMapping) { m.Status.AcceptedGeneration = 3 }))
	broken, warnings, err := b.r.Violations(t.Context(), largeWidget(func(o *unstructured.Unstructured) { o.Object["spec"] = map[string]any{} }))
	if err != nil || len(broken) > 0 || len(warnings) != 1 || !strings.Contains(warnings[0], "spec.rules[0].expression") {
		t.Errorf("broken %v, warnings %v, %v", broken, warnings, err)
	}
	b.fail = failing("list RestMappingList")
	if _, _, err := b.r.Violations(t.Context(), largeWidget(nil)); err == nil {
		t.Error("an API server that does not answer counts as no rule")
	}
}
