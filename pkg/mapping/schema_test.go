package mapping

import (
	"math"
	"strings"
	"testing"
)

func TestCheckTarget(t *testing.T) {
	t.Parallel()
	condition := func(fields string) string {
		return "type: object\nproperties: {status: {type: object, properties: {observedGeneration: {type: integer}, conditions: {type: array, items: {type: object, properties: {" + fields + "}}}}}}"
	}
	const all = "type: {type: string}, status: {type: string}, reason: {type: string}, message: {type: string}, lastTransitionTime: {type: string}"
	cases := map[string]struct {
		schema    string
		noStatus  bool
		wantLacks []string
	}{
		"all there":             {schema: widgetSchema},
		"no status subresource": {schema: widgetSchema, noStatus: true, wantLacks: []string{"no status subresource"}},
		"no status at all":      {schema: "type: object", wantLacks: []string{"the schema has no status"}},
		"an empty status": {
			schema:    "type: object\nproperties: {status: {type: object}}",
			wantLacks: []string{"status.conditions is not in the schema", "status.observedGeneration is not in the schema"},
		},
		"an open status": {schema: "type: object\nproperties: {status: {type: object, x-kubernetes-preserve-unknown-fields: true}}"},
		"an open object": {schema: "type: object\nx-kubernetes-preserve-unknown-fields: true"},
		"conditions that are not a list": {
			schema:    "type: object\nproperties: {status: {type: object, properties: {observedGeneration: {type: integer}, conditions: {type: object}}}}",
			wantLacks: []string{"not a list of objects"},
		},
		"conditions without some fields": {
			schema:    condition("type: {type: string}, status: {type: string}"),
			wantLacks: []string{"no reason, message, lastTransitionTime, observedGeneration"},
		},
		"conditions without observedGeneration": {
			schema:    condition(all),
			wantLacks: []string{"have no observedGeneration"},
		},
		"conditions with a text generation": {
			schema:    condition(all + ", observedGeneration: {type: string}"),
			wantLacks: []string{"status.conditions[].observedGeneration is not of type integer"},
		},
		"a text generation": {
			schema: strings.Replace(widgetSchema, "observedGeneration: {type: integer}\n      conditions",
				"observedGeneration: {type: string}\n      conditions", 1),
			wantLacks: []string{"status.observedGeneration is not of type integer"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := CheckTarget(TargetSchema{Namespaced: true, Schema: schemaOf(t, tc.schema), StatusSubresource: !tc.noStatus})
			if len(got) != len(tc.wantLacks) {
				t.Fatalf("got %q, want %q", got, tc.wantLacks)
			}
			for i, want := range tc.wantLacks {
				if !strings.Contains(got[i], want) {
					t.Errorf("got %q, want %q", got[i], want)
				}
			}
		})
	}
	if got := CheckTarget(TargetSchema{}); len(got) != 2 {
		t.Errorf("without anything: %q", got)
	}
}

func TestTypeProblem(t *testing.T) {
	t.Parallel()
	schema := schemaOf(t, `
type: object
properties:
  s: {type: string}
  i: {type: integer}
  "n": {type: number}
  b: {type: boolean}
  l: {type: array, items: {type: integer}}
  o: {type: object, properties: {deep: {type: string}}, additionalProperties: {type: integer}}
  any: {x-kubernetes-preserve-unknown-fields: true}
  ios: {x-kubernetes-int-or-string: true}
  nullable: {type: string, nullable: true}
`)
	fits := []string{
		`{"s":"x","i":1,"n":1.5,"b":true}`, `{"i":2.0,"n":2}`, `{"l":[1,2]}`, `{"o":{"deep":"x","other":5}}`, `{"any":[1,"x"]}`,
		`{"ios":1}`, `{"ios":"1"}`, `{"nullable":null}`, `{"unknown":true}`,
	}
	for _, text := range fits {
		if problem := typeProblem(schema, object(t, text)); problem != "" {
			t.Errorf("%s: %s", text, problem)
		}
	}
	wrong := map[string]string{
		`{"s":1}`: "s: the CRD's schema wants the type string, and this is a number", `{"i":"1"}`: "integer", `{"i":1.5}`: "integer",
		`{"n":"x"}`: "number", `{"b":"true"}`: "boolean", `{"l":{}}`: "l: the CRD's schema wants a list", `{"l":[1,"x"]}`: "l: [1]: ",
		`{"o":[]}`: "wants an object", `{"o":{"deep":1}}`: "o: deep: ", `{"o":{"other":"x"}}`: "o: other: ", `{"s":null}`: "null", `{"s":["x"]}`: "a list",
	}
	for text, says := range wrong {
		if problem := typeProblem(schema, object(t, text)); !strings.Contains(problem, says) {
			t.Errorf("%s: got %q, want %q", text, problem, says)
		}
	}
	if problem := typeProblem(nil, uint64(math.MaxUint64)); !strings.Contains(problem, "string(...)") {
		t.Errorf("a number beyond int64: %q", problem)
	}
}

func TestLookUpNamesWhatIsThere(t *testing.T) {
	t.Parallel()
	many := "type: object\nproperties:\n"
	for _, r := range "abcdefghijklmnop" {
		many += "  \"" + string(r) + "\": {type: string}\n"
	}
	place := lookUp(schemaOf(t, many), bodyPath{"zz"})
	if !strings.Contains(place.problem, "the object has no field zz") || !strings.HasSuffix(place.problem, "l, ...") {
		t.Errorf("problem %q", place.problem)
	}
}
