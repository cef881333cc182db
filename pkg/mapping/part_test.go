package mapping

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/rest"
)

// rulesPart makes an object outside of each element of spec.rules.
const rulesPart = `
name: rules
forEach: self.spec.rules
key: part.name
identifiers:
- {name: slug, value: "key + '-' + identifiers.owner"}
- {name: id, assigned: string(response.body.id)}
operations:
  list:
    path: /owners/{owner}/widgets/{widget}/rules
    items: response.body.rules
    itemKey: "item.?name"
    pagination: {type: Page, pageParam: page}
  create: {path: "/owners/{owner}/widgets/{widget}/rules/{slug}", safety: UniqueKey}
  update: {method: PATCH, path: "/rules/{id}"}
  delete: {path: "/rules/{id}", query: [{name: name, value: key}]}
fields:
- {from: part.name, to: name}
- {to: widget, value: parent.serial}
- {from: spec.description, to: description}
`

func withPart(t *testing.T, changes ...func(p *v1alpha1.Part)) specChange {
	t.Helper()
	part := decode[v1alpha1.Part](t, rulesPart)
	for _, change := range changes {
		change(part)
	}
	return func(s *v1alpha1.RestMappingSpec) { s.Parts = append(s.Parts, *part) }
}

const rulesSelf = `
metadata: {name: w1, namespace: team, uid: 11-22}
spec: {owner: acme, description: first, rules: [{name: a}, {name: b}]}
`

// rulesPass gives a pass for the part, with the elements of the test's custom resource.
func rulesPass(t *testing.T, changes ...func(p *v1alpha1.Part)) (*PartPass, []Element) {
	t.Helper()
	program := compiled(t, withPart(t, changes...))
	pass := widgetPass(t, program, rulesSelf)
	elements, err := pass.Elements(t.Context(), program.Parts()[0])
	noError(t, err)
	return pass.Part(program.Parts()[0], object(t, "{serial: 77}")), elements
}

func TestARequestForAnElementIsMadeOfItAndOfTheWhole(t *testing.T) {
	t.Parallel()
	pass, elements := rulesPass(t)
	chosen, err := pass.Chosen(t.Context(), elements[1].Key)
	noError(t, err)
	if diff := cmp.Diff(map[string]string{"slug": "b-acme"}, chosen); diff != "" {
		t.Error(diff)
	}
	pass.At(elements[1].Key, chosen, &elements[1])
	req, err := pass.CreateRequest(t.Context())
	noError(t, err)
	if req.Path != "/owners/acme/widgets/w1/rules/b-acme" || string(req.Body) != `{"description":"first","name":"b","widget":77}` {
		t.Errorf("request is %s %s %s", req.Method, req.Path, req.Body)
	}
}

func TestADeleteNeedsTheKeyAndNotTheElement(t *testing.T) {
	t.Parallel()
	pass, _ := rulesPass(t)
	pass.At("a", map[string]string{"id": "9", "slug": "a-acme"}, nil)
	req, err := pass.DeleteRequest(t.Context(), nil)
	noError(t, err)
	if diff := cmp.Diff([]rest.Parameter{{Name: "name", Value: "a"}}, req.Query); req.Path != "/rules/9" || diff != "" {
		t.Errorf("request is %s %s %v", req.Method, req.Path, req.Query)
	}
}

func TestItemsHaveTheirKeysAndIdentifiers(t *testing.T) {
	t.Parallel()
	pass, elements := rulesPass(t)
	req, err := pass.ListRequest(t.Context(), Page{})
	noError(t, err)
	if req.Path != "/owners/acme/widgets/w1/rules" {
		t.Errorf("path is %s", req.Path)
	}
	body := `{"rules":[{"id":1,"name":"a","description":"first","widget":77},{"id":2,"name":"b","widget":76},{"id":3},{"id":4,"name":"../x"}]}`
	objects, next, err := pass.ListPage(t.Context(), jsonResponse(t, 200, body), Page{})
	noError(t, err)
	if len(objects) != 4 || next == nil {
		t.Fatalf("got %d objects, next %v", len(objects), next)
	}
	items, err := pass.Items(t.Context(), objects)
	noError(t, err)
	var got []string
	for _, item := range items {
		got = append(got, fmt.Sprint(item.Key, item.Identifiers))
	}
	want := []string{"amap[id:1 slug:a-acme]", "bmap[id:2 slug:b-acme]", "../xmap[id:4 slug:../x-acme]"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	pass.At("b", items[1].Identifiers, &elements[1])
	comparison, err := pass.Compare(t.Context(), items[1].Object)
	noError(t, err)
	if diff := cmp.Diff([]Difference{
		{Path: "widget", Detail: "widget (found 76, wanted 77)"}, {Path: "description", Detail: `description (found nothing, wanted "first")`},
	}, comparison.Differences); diff != "" {
		t.Error(diff)
	}
}

func TestElementsThatCannotBeToldApart(t *testing.T) {
	t.Parallel()
	many := "metadata: {name: w1}\nspec: {owner: acme, rules: [" + strings.TrimSuffix(strings.Repeat("{name: x},", MaxElements+1), ",") + "]}"
	for name, tc := range map[string]struct{ self, says string }{
		"two with one key":   {`{spec: {rules: [{name: a}, {name: b}, {name: a}, {name: a}, {name: b}]}}`, "parts.rules: more than one element has the key a, b"},
		"one without a key":  {`{spec: {rules: [{name: ""}]}}`, "spec.parts[0].key: gives no text"},
		"a key that is long": {`{spec: {rules: [{name: ` + strings.Repeat("x", 254) + `}]}}`, "more than 253 bytes"},
		"too many":           {many, "at most 500"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			program := compiled(t, withPart(t))
			_, err := widgetPass(t, program, tc.self).Elements(t.Context(), program.Parts()[0])
			wantError(t, err, tc.says)
			if twice := (*DuplicateKeyError)(nil); errors.As(err, &twice) != strings.HasPrefix(name, "two") {
				t.Errorf("error is %T", err)
			}
		})
	}
}

func TestAListOfPartsThatIsTooLongIsRefused(t *testing.T) {
	t.Parallel()
	pass, _ := rulesPass(t)
	_, err := pass.Items(t.Context(), make([]any, MaxListedItems+1))
	wantError(t, err, "spec.parts[0].operations.list", "more than 5000 objects")
}

func TestWhatAPartCannotBe(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change      func(p *v1alpha1.Part)
		field, says string
	}{
		"an element that is no element": {func(p *v1alpha1.Part) { p.ForEach = "self.spec.owner" }, "spec.parts[0].forEach", "must give a list"},
		"the operator's own status":     {func(p *v1alpha1.Part) { p.ForEach = "self.status.conditions.map(c, {'name': c.type})" }, "spec.parts[0].forEach", "self.status"},
		"a field that elements lack":    {func(p *v1alpha1.Part) { p.Key = "part.nam" }, "spec.parts[0].key", "nam"},
		"a path that elements lack":     {func(p *v1alpha1.Part) { p.Fields[0].From = "part.nam" }, "spec.parts[0].fields[0].from", "nam"},
		"a list of one element": {
			func(p *v1alpha1.Part) { p.Operations.List.Path = "/rules/{slug}" },
			"spec.parts[0].operations.list.path", "belongs to one element",
		},
		"a list that needs an element": {
			func(p *v1alpha1.Part) {
				p.Operations.List.Query = []v1alpha1.Parameter{{Name: "n", Value: "part.name"}}
			},
			"spec.parts[0].operations.list.query[0].value", "'part' has no value here",
		},
		"a delete that needs an element": {
			func(p *v1alpha1.Part) { p.Operations.Delete.Query[0].Value = "part.name" },
			"spec.parts[0].operations.delete.query[0].value", "'part' has no value here",
		},
		"an identifier from an element": {
			func(p *v1alpha1.Part) { p.Identifiers[0].Value = "part.name" },
			"spec.parts[0].identifiers[0].value", "'part' has no value here",
		},
		"an identifier from one that is assigned": {
			func(p *v1alpha1.Part) { p.Identifiers[0].Value = "identifiers.id" },
			"spec.parts[0].identifiers[0].value", "identifiers.id is the part's own",
		},
		"an identifier of the mapping": {
			func(p *v1alpha1.Part) {
				p.Identifiers = append(p.Identifiers, v1alpha1.Identifier{Name: "widget", Value: "key"})
			},
			"spec.parts[0].identifiers[2].name", `the mapping has an identifier "widget"`,
		},
		"no word about the key": {func(p *v1alpha1.Part) { p.Operations.Create.Safety = "" }, "spec.parts[0].operations.create.safety", "say Upsert"},
		"a marker":              {func(p *v1alpha1.Part) { p.Operations.Create.Safety = v1alpha1.SafetyMarker }, "spec.parts[0].operations.create.safety", "needs no marker"},
		"no key at all":         {func(p *v1alpha1.Part) { p.Operations.Create.Safety = v1alpha1.SafetyNone }, "spec.parts[0].operations.create.safety", "somebody else's"},
		"an upsert without an id": {
			func(p *v1alpha1.Part) { p.Operations.Create.Safety = v1alpha1.SafetyUpsert },
			"spec.parts[0].operations.create.safety", "the server assigns id",
		},
		"a select of a create": {func(p *v1alpha1.Part) { p.Operations.Create.Select = "response.body" }, "spec.parts[0].operations.create.select", "by their list"},
		"a value never read": {
			func(p *v1alpha1.Part) {
				p.Fields = append(p.Fields, v1alpha1.Field{To: "x", Value: "secrets.password", WriteOnly: true})
			},
			"spec.parts[0].fields[3].writeOnly", "a mapping of its own",
		},
		"a delete of all without a delete": {
			func(p *v1alpha1.Part) { p.Prune, p.Operations.Delete = v1alpha1.PruneAll, nil },
			"spec.parts[0].prune", "no operations.delete",
		},
		"a delete first without a delete": {
			func(p *v1alpha1.Part) { p.Deletion, p.Operations.Delete = v1alpha1.PartsFirst, nil },
			"spec.parts[0].deletion", "no operations.delete",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantOneError(t, compileErrors(t, widgetTarget(t), withPart(t, tc.change)), tc.field, tc.says)
		})
	}
}

func TestTwoPartsWithOneNameAreRefused(t *testing.T) {
	t.Parallel()
	wantOneError(t, compileErrors(t, widgetTarget(t), withPart(t), withPart(t)), "spec.parts[1].name", "declared twice")
}

// What the mapping declares about answers holds for its parts.
func TestOutcomesHoldForParts(t *testing.T) {
	t.Parallel()
	program := compiled(t, withPart(t), func(s *v1alpha1.RestMappingSpec) {
		s.Outcomes = []v1alpha1.OutcomeRule{{Operations: []string{"Create"}, When: "response.status == 422", Outcome: v1alpha1.OutcomeConflict}}
	})
	pass := widgetPass(t, program, rulesSelf).Part(program.Parts()[0], nil)
	outcome, _, matched, err := pass.Outcome(t.Context(), rest.Create, jsonResponse(t, 422, `{}`))
	noError(t, err)
	if !matched || outcome != v1alpha1.OutcomeConflict {
		t.Errorf("outcome is %q", outcome)
	}
}
