//go:build cluster

package operator_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/restmapping/operator/internal/controlplane"
	"github.com/restmapping/operator/internal/lab"
	"github.com/restmapping/operator/internal/restfake"
)

const serverEndpoint = "endpoint: {kind: RestEndpoint, name: server}"

// TestMappingOfAMissingKind: it says so, and starts by itself when the kind appears.
func TestMappingOfAMissingKind(t *testing.T) {
	l := lab.New(t)
	server := l.NewServer([]restfake.Collection{upsertThings})
	kind := l.NewUndefinedKind()
	kind.Endpoint(server.URL, "  timeout: 2s")
	kind.Mapping(upsertMapping)
	message := kind.MappingCondition("Ready", "False", "CRDNotFound")
	for _, want := range []string{kind.Group, kind.Name, "starts by itself"} {
		if !strings.Contains(message, want) {
			t.Errorf("the message lacks %q: %s", want, message)
		}
	}
	kind.MappingCondition("TargetCompatible", "False", "CRDNotFound")
	kind.Define("")
	kind.MappingCondition("Ready", "True", "Serving")
	kind.Create("one", "{size: 3}")
	kind.Ready("one")
}

// TestUnknownFieldIsRefused: the API server says so; nothing is silently dropped.
func TestUnknownFieldIsRefused(t *testing.T) {
	l := lab.New(t)
	kind := l.NewKind("")
	bodies := map[string]string{
		"spec.paging":                 upsertMapping + "  paging: {type: Link}\n",
		"spec.sync.intervall":         strings.Replace(upsertMapping, "interval:", "intervall:", 1),
		"spec.operations.read.metod":  strings.Replace(upsertMapping, "read: {", "read: {metod: GET, ", 1),
		"spec.fields[0].frm":          strings.Replace(upsertMapping, "from: spec.size", "from: spec.size, frm: x", 1),
		"spec.operations.read.method": strings.Replace(upsertMapping, "read: {", "read: {method: SHOUT, ", 1),
	}
	for field, body := range bodies {
		err := controlplane.ApplyYAML(t.Context(), l.Admin, []byte(kind.MappingYAML(kind.GVR.Resource, "", serverEndpoint, body)))
		if err == nil {
			t.Errorf("%s is accepted", field)
			continue
		}
		if name := field[strings.LastIndex(field, ".")+1:]; !strings.Contains(err.Error(), name) {
			t.Errorf("the error does not name %s: %v", name, err)
		}
	}
}

// TestMappingsThatDoNotCompile: each error at once, with its field, line and column, and nothing is sent.
func TestMappingsThatDoNotCompile(t *testing.T) {
	l := lab.New(t)
	type place struct {
		field  string
		line   int
		says   string
		column bool
	}
	size := "- {from: spec.size, to: size}"
	cases := map[string]struct {
		old, text string
		want      []place
	}{
		"a syntax error":   {size, `- {value: "self.spec.size +", to: size}`, []place{{"spec.fields[0].value", 1, "", true}}},
		"a type error":     {size, `- {value: "self.spec.size + 'a'", to: size}`, []place{{"spec.fields[0].value", 1, "", true}}},
		"an unknown field": {size, `- {value: "self.spec.colour", to: size}`, []place{{"spec.fields[0].value", 1, "colour", true}}},
		"a path parameter without an identifier": {
			`delete: {path: "/things/{id}"}`, `delete: {path: "/things/{key}"}`,
			[]place{{"spec.operations.delete.path", 0, "key", false}},
		},
		"a status field that the schema lacks": {
			"{to: size, value: observed.size}", "{to: weight, value: observed.size}",
			[]place{{"spec.status[0].to", 0, "weight", false}},
		},
		"a source that the schema lacks":                  {size, "- {from: spec.sise, to: size}", []place{{"spec.fields[0].from", 0, "sise", false}}},
		"a selector with an operator that does not exist": {"", "", []place{{"spec.target.selector", 0, "cannot be used", false}}},
		"several at once": {
			size, "- {value: \"self.spec.size +\", to: size}\n  - {value: \"[1,\\n 2].all(x, y > 1)\", to: tags}\n  - {value: \"self.spec.nope\", to: note}",
			[]place{
				{"spec.fields[0].value", 1, "", true},
				{"spec.fields[1].value", 2, "y", true},
				{"spec.fields[2].value", 1, "nope", true},
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := l.In(t)
			server := l.NewServer([]restfake.Collection{upsertThings})
			kind := l.NewKind("")
			kind.Endpoint(server.URL, "  timeout: 2s")
			kind.Create("one", "{size: 3}")
			target := ""
			if tc.old == "" {
				target = ", selector: {matchExpressions: [{key: a, operator: Perhaps, values: [b]}]}"
			}
			kind.MappingFor(target, serverEndpoint, strings.Replace(upsertMapping, tc.old, tc.text, 1))
			kind.MappingCondition("Ready", "False", "InvalidExpressions")
			message := kind.MappingCondition("Accepted", "False", "InvalidExpressions")
			kind.MappingCondition("Stalled", "True", "InvalidExpressions")
			for _, want := range tc.want {
				checkExpressionError(t, kind, want.field, want.line, want.column, want.says)
				if !strings.Contains(message, want.field) {
					t.Errorf("the condition does not name %s: %s", want.field, message)
				}
			}
			if n := server.Count("", ""); n != 0 {
				t.Errorf("%d requests were sent", n)
			}
			kind.Mapping(upsertMapping)
			if tc.old == "" {
				kind.MappingFor(", selector: {matchExpressions: []}", serverEndpoint, upsertMapping)
			}
			kind.Ready("one")
			if errs := expressionErrors(kind); len(errs) != 0 {
				t.Errorf("errors stay: %v", errs)
			}
			t.Log(message)
		})
	}
}

func expressionErrors(kind *lab.Kind) []any {
	list, _, _ := unstructured.NestedSlice(kind.MappingObject().Object, "status", "expressionErrors")
	return list
}

func checkExpressionError(t *testing.T, kind *lab.Kind, field string, line int, column bool, says string) {
	t.Helper()
	errs := expressionErrors(kind)
	for _, item := range errs {
		e, _ := item.(map[string]any)
		message, _ := e["message"].(string)
		if e["field"] != field || !strings.Contains(message, says) {
			continue
		}
		got, _ := e["line"].(int64)
		col, _ := e["column"].(int64)
		if int(got) == line && (col > 0) == column {
			return
		}
	}
	t.Errorf("no error of %s at line %d with %q: %v", field, line, says, errs)
}

// TestBadEditOfAGoodMapping: the program before goes on serving, and says so.
func TestBadEditOfAGoodMapping(t *testing.T) {
	l := lab.New(t)
	server := l.NewServer([]restfake.Collection{upsertThings})
	kind := l.NewKind("")
	kind.Endpoint(server.URL, "  timeout: 2s")
	kind.Mapping(upsertMapping)
	kind.Create("one", "{size: 3, color: red}")
	kind.Ready("one")
	kind.Mapping(strings.Replace(upsertMapping, "from: spec.size", "value: self.spec.size +", 1))
	message := kind.MappingCondition("Ready", "False", "ServingPrevious")
	if !strings.Contains(message, "spec.fields[0].value") {
		t.Errorf("the message does not say why: %s", message)
	}
	if err := server.Change("/things/one", func(f map[string]any) { f["color"] = "blue" }); err != nil {
		t.Fatal(err)
	}
	l.Eventually("drift is put back by the program before", func() string {
		if got, _ := server.Get("/things/one"); got.Fields["color"] != "red" {
			return fmt.Sprint(got.Fields)
		}
		return ""
	})
	kind.Create("two", "{size: 4}")
	kind.Ready("one", "two")
	kind.Mapping(upsertMapping)
	kind.MappingCondition("Ready", "True", "Serving")
	kind.CheckAll()
}

// TestTwoMappingsOfOneKind: the older serves; when it goes, the younger takes over, and nothing is made twice.
func TestTwoMappingsOfOneKind(t *testing.T) {
	l := lab.New(t)
	server := l.NewServer([]restfake.Collection{upsertThings})
	kind := l.NewKind("")
	kind.Endpoint(server.URL, "  timeout: 2s")
	kind.Mapping(upsertMapping)
	kind.Create("one", "{size: 3}")
	kind.Ready("one")
	younger := kind.GVR.Resource + "-younger"
	kind.MappingNamed(younger, strings.Replace(upsertMapping, "from: spec.color", "value: \"'green'\"", 1))
	message := l.ObjectCondition(l.Client.Resource(lab.MappingGVR), younger, "Ready", "False", "TargetConflict")
	if !strings.Contains(message, "RestMapping "+kind.GVR.Resource+" is older") {
		t.Errorf("the message does not name the other: %s", message)
	}
	if got, _ := server.Get("/things/one"); got.Fields["color"] != nil {
		t.Errorf("the younger mapping acted: %v", got.Fields)
	}
	kind.Delete("one")
	kind.Gone("one")
	kind.DeleteMapping()
	kind.MappingGone()
	l.ObjectCondition(l.Client.Resource(lab.MappingGVR), younger, "Ready", "True", "Serving")
	kind.Create("two", "{size: 4}")
	kind.Ready("two")
	if got, _ := server.Get("/things/two"); got.Fields["color"] != "green" {
		t.Errorf("the younger mapping does not act: %v", got.Fields)
	}
}

// TestRulesAreCheckedFirst: no request at all for a custom resource that breaks a rule.
func TestRulesAreCheckedFirst(t *testing.T) {
	l := lab.New(t)
	server := l.NewServer([]restfake.Collection{upsertThings})
	kind := l.NewKind("")
	kind.Endpoint(server.URL, "  timeout: 2s")
	kind.Mapping(upsertMapping + `
  rules:
  - {expression: "self.spec.size < 10", message: "size must be below 10", reason: TooLarge}
  - {expression: "self.spec.color != 'pink'", message: "pink is not a color here"}
`)
	kind.Create("one", "{size: 30, color: pink}")
	message := kind.Stalled("one", "TooLarge")
	for _, want := range []string{"size must be below 10", "pink is not a color here"} {
		if !strings.Contains(message, want) {
			t.Errorf("the message lacks %q: %s", want, message)
		}
	}
	if n := server.Count("", ""); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
	kind.Patch("one", `{"spec":{"size":3,"color":"red"}}`)
	kind.Ready("one")
	kind.Patch("one", `{"spec":{"size":30}}`)
	kind.Stalled("one", "TooLarge")
	if got, _ := server.Get("/things/one"); lab.Int(got.Fields["size"]) != 3 {
		t.Errorf("the bad value was sent: %v", got.Fields)
	}
	kind.Delete("one")
	kind.Gone("one")
	if live := server.Live("/things"); len(live) != 0 {
		t.Errorf("left outside: %v", live)
	}
}

// TestKindsThatCannotHoldAStatus: said on the mapping, with the remedy; nothing is sent; and it starts when the CRD is mended.
func TestKindsThatCannotHoldAStatus(t *testing.T) {
	l := lab.New(t)
	cases := map[string]struct {
		definition lab.Definition
		says       string
	}{
		"no status subresource": {lab.Definition{NoSubresource: true}, "subresources: {status: {}}"},
		"no conditions":         {lab.Definition{NoConditions: true}, "status.conditions is not in the schema"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := l.In(t)
			server := l.NewServer([]restfake.Collection{upsertThings})
			kind := l.NewUndefinedKind()
			kind.DefineAs(tc.definition)
			kind.Endpoint(server.URL, "  timeout: 2s")
			kind.Mapping(upsertMapping)
			kind.Create("one", "{size: 3}")
			message := kind.MappingCondition("Ready", "False", "StatusSchemaMissing")
			if !strings.Contains(message, tc.says) {
				t.Errorf("the message lacks %q: %s", tc.says, message)
			}
			if n := server.Count("", ""); n != 0 {
				t.Errorf("%d requests were sent", n)
			}
			kind.Define("")
			kind.Ready("one")
			if live := server.Live("/things"); len(live) != 1 {
				t.Errorf("outside: %v", live)
			}
			t.Log(message)
		})
	}
}
