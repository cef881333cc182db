package mapping

import (
	"slices"
	"strings"
	"testing"

	"github.com/restmapping/operator/api/v1alpha1"
)

// TestVariablesOfEachExpression puts every variable into every expression and checks which are refused. This is the
// table of docs/spec/restmapping.md, and with it the proof that a secret reaches bodies, headers and queries only.
func TestVariablesOfEachExpression(t *testing.T) {
	t.Parallel()
	type change = func(s *v1alpha1.RestMappingSpec, x v1alpha1.Expression)
	parameter := func(x v1alpha1.Expression) []v1alpha1.Parameter {
		return []v1alpha1.Parameter{{Name: "X-Test", Value: x}}
	}
	listing := func(s *v1alpha1.RestMappingSpec, edit func(*v1alpha1.ListOperation)) {
		o := v1alpha1.ListOperation{Match: "item.name == self.metadata.name"}
		o.Path = "/widgets"
		edit(&o)
		s.Operations.List = &o
	}
	request := "self identifiers endpoint secrets"
	cases := map[string]struct {
		put     change
		allowed string
		// wrap turns a text into what the expression must give.
		wrap string
	}{
		"endpoint.nameExpression": {func(s *v1alpha1.RestMappingSpec, x v1alpha1.Expression) {
			s.Endpoint.Name, s.Endpoint.NameExpression = "", x
		}, "self", "string(%)"},
		"identifiers.value": {func(s *v1alpha1.RestMappingSpec, x v1alpha1.Expression) { s.Identifiers[0].Value = x }, "self endpoint", "string(%)"},
		"identifiers.assigned": {func(s *v1alpha1.RestMappingSpec, x v1alpha1.Expression) {
			s.Identifiers = append(s.Identifiers, v1alpha1.Identifier{Name: "more", Assigned: x})
		}, "response", "string(%)"},
		"secrets.refExpression": {func(s *v1alpha1.RestMappingSpec, x v1alpha1.Expression) { s.Secrets[0].RefExpression = x }, "self", "{'name': string(%)}"},
		"fields.value": {func(s *v1alpha1.RestMappingSpec, x v1alpha1.Expression) {
			s.Fields = append(s.Fields, v1alpha1.Field{To: "test", Value: x, WriteOnly: true})
		}, request, "%"},
		"read.query":    {func(s *v1alpha1.RestMappingSpec, x v1alpha1.Expression) { s.Operations.Read.Query = parameter(x) }, request, "%"},
		"read.headers":  {func(s *v1alpha1.RestMappingSpec, x v1alpha1.Expression) { s.Operations.Read.Headers = parameter(x) }, request, "%"},
		"create.query":  {func(s *v1alpha1.RestMappingSpec, x v1alpha1.Expression) { s.Operations.Create.Query = parameter(x) }, request, "%"},
		"update.query":  {func(s *v1alpha1.RestMappingSpec, x v1alpha1.Expression) { s.Operations.Update.Query = parameter(x) }, request + " observed", "%"},
		"update.header": {func(s *v1alpha1.RestMappingSpec, x v1alpha1.Expression) { s.Operations.Update.Headers = parameter(x) }, request + " observed", "%"},
		"delete.header": {func(s *v1alpha1.RestMappingSpec, x v1alpha1.Expression) { s.Operations.Delete.Headers = parameter(x) }, request + " observed", "%"},
		"list.query": {func(s *v1alpha1.RestMappingSpec, x v1alpha1.Expression) {
			listing(s, func(o *v1alpha1.ListOperation) { o.Query = parameter(x) })
		}, request, "%"},
		"read.bodyExpression": {func(s *v1alpha1.RestMappingSpec, x v1alpha1.Expression) {
			s.Operations.Read.Method, s.Operations.Read.BodyExpression = "POST", x
		}, request, "%"},
		"create.bodyExpression": {func(s *v1alpha1.RestMappingSpec, x v1alpha1.Expression) { s.Operations.Create.BodyExpression = x }, request + " desired", "%"},
		"update.bodyExpression": {func(s *v1alpha1.RestMappingSpec, x v1alpha1.Expression) { s.Operations.Update.BodyExpression = x }, request + " desired changed observed", "%"},
		"delete.bodyExpression": {func(s *v1alpha1.RestMappingSpec, x v1alpha1.Expression) { s.Operations.Delete.BodyExpression = x }, request + " observed", "%"},
		"read.select":           {func(s *v1alpha1.RestMappingSpec, x v1alpha1.Expression) { s.Operations.Read.Select = x }, "response self identifiers endpoint", "%"},
		"create.select":         {func(s *v1alpha1.RestMappingSpec, x v1alpha1.Expression) { s.Operations.Create.Select = x }, "response self identifiers endpoint", "%"},
		"update.select":         {func(s *v1alpha1.RestMappingSpec, x v1alpha1.Expression) { s.Operations.Update.Select = x }, "response self identifiers endpoint", "%"},
		"list.items": {func(s *v1alpha1.RestMappingSpec, x v1alpha1.Expression) {
			listing(s, func(o *v1alpha1.ListOperation) { o.Items = x })
		}, "response self identifiers endpoint", "[%]"},
		"list.match": {func(s *v1alpha1.RestMappingSpec, x v1alpha1.Expression) {
			listing(s, func(o *v1alpha1.ListOperation) { o.Match = x })
		}, "item self identifiers endpoint", "% == 'x'"},
		"pagination.cursor": {func(s *v1alpha1.RestMappingSpec, x v1alpha1.Expression) {
			listing(s, func(o *v1alpha1.ListOperation) {
				o.Pagination = &v1alpha1.Pagination{Type: v1alpha1.PaginationCursor, CursorParam: "c", Cursor: x}
			})
		}, "response self identifiers endpoint", "string(%)"},
		"status.value": {func(s *v1alpha1.RestMappingSpec, x v1alpha1.Expression) {
			s.Status = []v1alpha1.StatusField{{To: "url", Value: x}}
		}, "observed self identifiers endpoint", "%"},
		"ready.expression": {func(s *v1alpha1.RestMappingSpec, x v1alpha1.Expression) { s.Ready = &v1alpha1.ReadyRule{Expression: x} }, "observed self identifiers endpoint", "% == 'x'"},
		"rules.expression": {func(s *v1alpha1.RestMappingSpec, x v1alpha1.Expression) {
			s.Rules = []v1alpha1.Rule{{Expression: x, Message: "m"}}
		}, "self", "% == 'x'"},
		"outcomes.when": {func(s *v1alpha1.RestMappingSpec, x v1alpha1.Expression) {
			s.Outcomes = []v1alpha1.OutcomeRule{{When: x, Outcome: v1alpha1.OutcomeAbsent}}
		}, "response self identifiers endpoint", "% == 'x'"},
	}
	sources := map[string]string{
		"self": "self.spec.owner", "identifiers": "identifiers.owner", "endpoint": "endpoint.name", "secrets": "secrets.password",
		"observed": "observed.x", "desired": "desired.x", "changed": "changed.x", "response": "response.body.x", "item": "item.x",
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for variable, source := range sources {
				expression := v1alpha1.Expression(strings.ReplaceAll(tc.wrap, "%", source))
				got := compileErrors(t, widgetTarget(t), func(s *v1alpha1.RestMappingSpec) { tc.put(s, expression) })
				want := slices.Contains(strings.Fields(tc.allowed), variable)
				if refused := len(got) > 0; refused == want {
					t.Errorf("%s: refused %v, allowed %v: %q", expression, refused, want, got)
				}
			}
		})
	}
}
